"""The range of each flux near the optimum is that which cobra finds, be it a maximum or a minimum."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

GROWTH = "Biomass_Ecoli_core"
TOLERANCE = 1e-4
"""Of a flux in mmol/gDW/h: at the optimum within the solver's tolerance the ends differ by more than that tolerance."""


def minimizing(model: Any, objective: str, **bounds: tuple[float, float]) -> Any:
    """Let a model make as little as it can of something, and return it."""
    model.objective = objective
    model.objective_direction = "min"
    for name, given in bounds.items():
        model.reactions.get_by_id(name).bounds = given
    return model


def assert_that_ranges_are_those_of_cobra(
    lab: Lab, tool: Flux, model_id: str, model: Any, *, fraction: float = 1.0, names: list[str] | None = None
) -> None:
    """Compare the ranges with cobra's own."""
    from cobra.flux_analysis import (  # noqa: PLC0415 - COBRApy takes more than a second, for these tests alone
        flux_variability_analysis,
    )

    params = {"model_id": model_id, "fraction": fraction, **({"reactions": names} if names is not None else {})}
    answer = lab.call(tool, "run_fva", params)
    frame = flux_variability_analysis(model, names, fraction_of_optimum=fraction, processes=1)
    expected = {row.Index: (row.minimum, row.maximum) for row in frame.itertuples()}
    found = {item["reaction_id"]: (item["minimum"], item["maximum"]) for item in answer["results"]}
    assert found.keys() == expected.keys()
    wrong = {
        name: (found[name], of_cobra)
        for name, of_cobra in expected.items()
        if found[name] != pytest.approx(of_cobra, abs=TOLERANCE)
    }
    assert wrong == {}, "(found, of cobra)"
    assert answer["objective_value"] == pytest.approx(model.slim_optimize(), abs=1e-6)


@pytest.mark.parametrize("fraction", [1.0, 0.9, 0.0])
def test_the_ranges_of_a_model_that_maximizes_are_those_of_cobra(lab: Lab, tool: Flux, fraction: float) -> None:
    assert_that_ranges_are_those_of_cobra(lab, tool, lab.loaded(tool), textbook(), fraction=fraction)


@pytest.mark.parametrize(
    ("objective", "bounds", "fraction"),
    [
        ("EX_co2_e", {GROWTH: (0.5, 1000.0)}, 1.0),
        ("EX_co2_e", {"EX_co2_e": (-7.0, 1000.0)}, 1.0),
        ("EX_co2_e", {"EX_co2_e": (-7.0, 1000.0)}, 0.9),
        ("EX_glc__D_e", {}, 1.0),
    ],
    ids=["above zero", "below zero", "a part of it", "uptake"],
)
def test_the_ranges_of_a_model_that_minimizes_are_those_of_cobra(
    lab: Lab, rooted: Flux, objective: str, bounds: dict[str, tuple[float, float]], fraction: float
) -> None:
    model = minimizing(textbook(), objective, **bounds)
    assert_that_ranges_are_those_of_cobra(lab, rooted, lab.read(rooted, model), model, fraction=fraction)


def test_a_part_of_a_minimum_above_zero_allows_more_and_not_less(lab: Lab, rooted: Flux) -> None:
    model_id = lab.read(rooted, minimizing(textbook(), "EX_co2_e", **{GROWTH: (0.5, 1000.0)}))
    params = {"model_id": model_id, "fraction": 0.9, "reactions": ["EX_co2_e"]}
    answer = lab.call(rooted, "run_fva", params)
    least = answer["objective_value"]
    (item,) = answer["results"]
    assert least > 0
    assert (item["minimum"], item["maximum"]) == pytest.approx((least, 1.1 * least), abs=TOLERANCE)


def test_a_flux_without_a_limit_has_none_in_the_answer_and_the_others_have_theirs(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), bounds={"FRD7": [0, None], "SUCDi": [0, None]})
    answer = lab.call(tool, "run_fva", {"model_id": model_id, "reactions": ["FRD7", "PGK", "SUCDi"]})
    by_id = {item["reaction_id"]: item for item in answer["results"]}
    assert (by_id["FRD7"]["minimum"], by_id["FRD7"]["maximum"], by_id["SUCDi"]["maximum"]) == (0.0, None, None)
    assert by_id["PGK"]["maximum"] == pytest.approx(by_id["PGK"]["minimum"], abs=TOLERANCE)


def test_a_bound_that_is_large_but_finite_is_a_limit(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), bounds={"FRD7": [0, 999_999], "SUCDi": [0, None]})
    answer = lab.call(tool, "run_fva", {"model_id": model_id, "reactions": ["FRD7"]})
    assert answer["results"] == [{"reaction_id": "FRD7", "minimum": 0.0, "maximum": pytest.approx(999_999)}]


def test_a_model_that_minimizes_is_minimized_unless_the_caller_says_otherwise(lab: Lab, rooted: Flux) -> None:
    model_id = lab.read(rooted, minimizing(textbook(), "EX_co2_e", **{GROWTH: (0.5, 1000.0)}))
    least, most, grown = (
        lab.call(rooted, "run_fba", {"model_id": model_id, **given})
        for given in ({}, {"maximize": True}, {"objective": GROWTH})
    )
    assert 0 < least["objective_value"] < most["objective_value"]
    assert lab.call(rooted, "run_fba", {"model_id": model_id, "maximize": False})["objective_value"] == pytest.approx(
        least["objective_value"], abs=1e-6
    )
    assert grown["growth_rate"] == pytest.approx(0.8739, abs=1e-3)
    assert "at least" in least["interpretation"]
    assert "at most" in most["interpretation"]


def test_an_own_minimum_of_zero_is_a_result(lab: Lab, rooted: Flux) -> None:
    model_id = lab.read(rooted, minimizing(textbook(), "EX_etoh_e"))
    answer = lab.call(rooted, "run_fba", {"model_id": model_id})
    assert (answer["success"], answer.get("objective_value")) == (True, 0.0)


def test_an_objective_that_replaces_one_that_was_minimized_is_maximized(lab: Lab, rooted: Flux) -> None:
    model_id = lab.modified(rooted, lab.read(rooted, minimizing(textbook(), "EX_co2_e")), objective=GROWTH)
    assert lab.call(rooted, "run_fba", {"model_id": model_id})["growth_rate"] == pytest.approx(0.8739, abs=1e-3)


def test_the_next_steps_of_an_optimum_are_about_that_optimum(lab: Lab, rooted: Flux) -> None:
    model_id = lab.read(rooted, minimizing(textbook(), "EX_co2_e", **{GROWTH: (0.5, 1000.0)}))
    followed = lab.call(rooted, "run_fba", {"model_id": model_id})["next_steps"]
    assert [step["tool"] for step in followed] == ["run_fva", "delete_genes"]
    for other in ({"maximize": True}, {"objective": GROWTH}):
        assert lab.call(rooted, "run_fba", {"model_id": model_id, **other})["next_steps"] == []

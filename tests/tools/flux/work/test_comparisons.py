"""A table of growth over media, and production envelopes, have the figures of COBRApy."""

from __future__ import annotations

import math
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.doors import Conditions, Medium, Recipe, begin, comparisons_module
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import AEROBIC, Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

TOLERANCE = 1e-6
"""Of a figure, or of 1 if that is less; GLPK on both sides, with the bounds of the model as published."""


def of_cobra(model: Any, names: list[str], points: int) -> list[dict[str, Any]]:
    from cobra.flux_analysis import production_envelope  # noqa: PLC0415 - COBRApy takes more than a second

    rows: list[dict[str, Any]] = production_envelope(model, names, points=points).to_dict("records")
    return rows


def test_growth_is_that_of_run_fba_on_each_medium_and_0_has_its_reason(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    starving = lab.fed(tool, [item for item in AEROBIC if item != "cpd00009"])
    media = ["minimal_aerobic", "minimal_anaerobic", starving, lab.fed(tool), "minimal_aerobic"]
    table = lab.call(tool, "growth_on_media", {"model_id": model_id, "media_ids": media})
    assert [item["media_id"] for item in table["results"]] == media[:4], "in order, each once"
    for item in table["results"]:
        alone = lab.call(tool, "run_fba", {"model_id": model_id, "media_id": item["media_id"]})
        assert item["growth"] == pytest.approx(alone.get("growth_rate", 0.0), abs=TOLERANCE)
        assert item.get("reason", "") == (
            alone["message"].split(" After the next step")[0] if "message" in alone else ""
        )
    assert table["num_growing"] == 3
    assert table["objective"] == "Biomass_Ecoli_core"
    assert "Phosphate" in table["results"][2]["reason"]
    assert set(table["results"][0]["unused_compounds"]) > {"cpd00048"}


def test_growth_without_limit_is_a_row_too(lab: Lab, tool: Flux) -> None:
    open_all = {item.id: [None, None] for item in textbook().reactions}
    changed = lab.modified(tool, lab.loaded(tool), bounds=open_all, objective="ATPM")
    table = lab.call(tool, "growth_on_media", {"model_id": changed, "media_ids": ["minimal_aerobic"]})
    (row,) = table["results"]
    assert row["growth"] is None
    assert "no limit" in row["reason"]
    assert table["num_growing"] == 0


def test_every_unknown_medium_is_named(lab: Lab, tool: Flux) -> None:
    params = {"model_id": lab.loaded(tool), "media_ids": ["minimal_aerobic", "media_1", "media_2"]}
    refused = lab.call(tool, "growth_on_media", params)
    assert refused["error_code"] == "MEDIA_NOT_FOUND"
    assert [item["path"] for item in refused["violations"]] == ["media_ids.1", "media_ids.2"]


@pytest.mark.parametrize(
    ("names", "points", "objective"),
    [(["EX_ac_e"], 7, None), (["EX_glc__D_e", "EX_o2_e"], 5, "EX_ac_e"), (["Biomass_Ecoli_core"], 6, "EX_etoh_e")],
)
def test_an_envelope_is_that_of_cobra(
    lab: Lab, tool: Flux, names: list[str], points: int, objective: str | None
) -> None:
    params: dict[str, Any] = {"model_id": lab.loaded(tool), "reactions": names, "points": points}
    answer = lab.call(tool, "production_envelope", params | ({"objective": objective} if objective else {}))
    model = textbook()
    model.objective = objective or model.objective
    expected = of_cobra(model, names, points)
    assert answer["carbon_sources"] == ["EX_glc__D_e"]
    assert len(answer["results"]) == len(expected) == points ** len(names)
    for mine, theirs in zip(answer["results"], expected, strict=True):
        assert mine["fluxes"] == pytest.approx({name: theirs[name] for name in names}, abs=TOLERANCE)
        for own, name in (("minimum", "flux_minimum"), ("maximum", "flux_maximum")):
            value = None if math.isnan(theirs[name]) else pytest.approx(theirs[name], abs=TOLERANCE)
            assert mine[own] == value, (mine, theirs)
        for name in ("carbon_yield_maximum", "mass_yield_maximum"):
            known = theirs[name] if objective else math.nan  # COBRApy's yield of biomass is above 1
            assert mine.get(name, math.nan) == pytest.approx(known, abs=TOLERANCE, nan_ok=True)


def test_an_envelope_on_a_medium_without_oxygen(lab: Lab, tool: Flux) -> None:
    params = {"model_id": lab.loaded(tool), "reactions": ["EX_etoh_e"], "media_id": "minimal_anaerobic", "points": 4}
    answer = lab.call(tool, "production_envelope", params)
    model = textbook()
    for name in ("EX_o2_e", "EX_co2_e"):
        model.reactions.get_by_id(name).lower_bound = 0
    maxima = [item["flux_maximum"] for item in of_cobra(model, ["EX_etoh_e"], 4)]
    assert [item["maximum"] for item in answer["results"]] == pytest.approx(maxima, abs=TOLERANCE)
    assert answer["media_id"] == "minimal_anaerobic"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"reactions": ["EX_ac_e", "EX_acc_e"]}, "reactions.1"),
        ({"reactions": ["EX_ac_e", "EX_o2_e"], "points": 40}, "points"),
        ({"reactions": []}, "reactions"),
    ],
)
def test_an_envelope_that_cannot_be_is_refused(lab: Lab, tool: Flux, given: dict[str, Any], path: str) -> None:
    refused = lab.call(tool, "production_envelope", {"model_id": lab.loaded(tool), **given})
    assert refused["error_code"] == "INVALID_PARAM"
    assert [item["path"] for item in refused["violations"]] == [path]


def test_an_envelope_of_a_model_that_cannot_live_says_why(lab: Lab, tool: Flux) -> None:
    dead = lab.modified(tool, lab.loaded(tool), bounds={"ATPM": [1000, 1000]})
    refused = lab.call(tool, "production_envelope", {"model_id": dead, "reactions": ["EX_ac_e"]})
    assert refused["error_code"] == "FBA_INFEASIBLE"


def test_an_envelope_over_a_flux_without_a_limit_names_what_has_to_be_bounded(lab: Lab, tool: Flux) -> None:
    loop = {"PGK": [None, None], "PGM": [None, None], "FRD7": [None, None], "SUCDi": [None, None]}
    changed = lab.modified(tool, lab.loaded(tool), bounds=loop)
    refused = lab.call(tool, "production_envelope", {"model_id": changed, "reactions": ["SUCDi"]})
    assert refused["error_code"] == "FBA_UNBOUNDED", refused
    assert set(refused["details"]["unlimited_reactions"]) == {"FRD7", "SUCDi"}


def test_media_without_growth_are_all_rows_though_not_all_can_be_explained_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparisons_module, "_EXPLAINED", 0.02)
    recipe = Recipe.shipped("textbook")
    dead = Conditions(model_id="m", media_id="empty", medium=Medium({}))
    begin(None, 30.0)
    try:
        rows = comparisons_module.growth_on_media(recipe, [dead] * 300)["result"]["results"]
    finally:
        begin(None, None)
    assert [row["growth"] for row in rows] == [0.0] * 300
    assert "lacks" in rows[0]["reason"]
    assert rows[-1]["reason"].endswith("says why.")

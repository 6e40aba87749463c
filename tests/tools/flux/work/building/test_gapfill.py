"""gapfill_model: what it adds, what it refuses, and how a caller who follows its errors gets there in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import AEROBIC, Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


def fill(lab: Lab, tool: Flux, model_id: str, media_id: str, **more: Any) -> dict[str, Any]:
    return lab.call(tool, "gapfill_model", {"model_id": model_id, "media_id": media_id, **more})


def follow(lab: Lab, tool: Flux, error: dict[str, Any]) -> dict[str, Any]:
    """Make the call that an error recommends."""
    step = error["next_step"]
    return lab.call(tool, step["tool"], step["arguments"])


def test_gaps_are_filled_from_the_models_that_are_always_there(lab: Lab, tool: Flux, gappy: str) -> None:
    media = lab.fed(tool)
    filled = fill(lab, tool, gappy, media, target_growth=0.5)
    assert filled["success"], filled
    assert filled["model_id"].endswith(".gf")
    assert (filled["parent"], filled["media_id"], filled["universe"]) == (gappy, media, "shipped")
    assert 1 <= filled["num_reactions_added"] == len(filled["reactions_added"]) <= 5
    assert all(item["equation"] for item in filled["reactions_added"])
    assert filled["num_reactions"] == 93 + filled["num_reactions_added"]
    grown = lab.call(tool, "run_fba", {"model_id": filled["model_id"], "media_id": media})
    assert grown["growth_rate"] == pytest.approx(filled["growth_rate"], abs=1e-5)
    assert grown["growth_rate"] >= 0.5
    assert lab.call(tool, "list_models")["models"][-1]["model_id"] == filled["model_id"]


def test_one_added_reaction_is_counted_in_the_singular(lab: Lab, tool: Flux) -> None:
    filled = fill(lab, tool, lab.modified(tool, lab.loaded(tool), remove_reactions=["ENO"]), lab.fed(tool))
    assert filled["num_reactions_added"] == 1
    assert "1 more reaction the model" in filled["interpretation"]


def test_a_model_that_grows_gets_nothing_new(lab: Lab, tool: Flux) -> None:
    filled = fill(lab, tool, lab.loaded(tool), lab.fed(tool))
    assert (filled["num_reactions_added"], filled["reactions_added"], filled["num_reactions"]) == (0, [], 95)
    assert any("without any new reaction" in text for text in filled["metadata"]["warnings"])


def test_compounds_without_an_exchange_are_named_as_run_fba_names_them(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    filled = fill(lab, tool, model_id, "minimal_aerobic")
    grown = lab.call(tool, "run_fba", {"model_id": model_id, "media_id": "minimal_aerobic"})
    (expected,) = (text for text in grown["metadata"]["warnings"] if "has no exchange" in text)
    assert expected in filled["metadata"]["warnings"]


def test_model_and_medium_are_looked_up_in_this_order(lab: Lab, tool: Flux) -> None:
    assert fill(lab, tool, "model_x", "media_x")["error_code"] == "MODEL_NOT_FOUND"
    assert fill(lab, tool, lab.loaded(tool), "media_x")["error_code"] == "MEDIA_NOT_FOUND"


@pytest.mark.parametrize("target", [-1, 0, -0.0, 10.1, 1e300])
def test_a_target_that_is_no_growth_rate_is_refused(lab: Lab, tool: Flux, target: float) -> None:
    error = fill(lab, tool, "model_x", "media_x", target_growth=target)
    assert (error["error_code"], error["error_type"]) == ("INVALID_TARGET_GROWTH", "validation_error")


@pytest.mark.parametrize("limit", [0, 1_001, 2.5])
def test_a_complexity_that_is_none_is_an_invalid_parameter(lab: Lab, tool: Flux, limit: float) -> None:
    assert fill(lab, tool, "model_x", "media_x", max_complexity=limit)["error_code"] == "INVALID_PARAM"


def test_too_many_reactions_are_refused_with_the_number_that_is_enough(lab: Lab, tool: Flux, gappy: str) -> None:
    error = fill(lab, tool, gappy, lab.fed(tool), target_growth=0.5, max_complexity=1)
    assert (error["error_code"], error["error_type"]) == ("MAX_COMPLEXITY_EXCEEDED", "infeasibility_error")
    assert error["details"]["max_complexity"] == 1
    filled = follow(lab, tool, error)
    assert filled["num_reactions_added"] == error["details"]["reactions_needed"]


def assert_that_a_missing_nutrient_is_named_and_then_it_grows(lab: Lab, tool: Flux, gappy: str, lacking: str) -> None:
    media = lab.fed(tool, [compound for compound in AEROBIC if compound != lacking])
    error = fill(lab, tool, gappy, media, target_growth=0.3)
    assert (error["error_code"], error["error_type"], error["effect"]) == (
        "GAPFILL_INFEASIBLE",
        "infeasibility_error",
        "none",
    )
    details = error["details"]
    assert lacking in [item["compound_id"] for item in details["missing_nutrients"]]
    assert details["blocked_precursors"]
    assert {item["missing"] for item in details["blocked_precursors"]} == {"nutrients"}
    assert (details["media_compounds"], details["growth_at_most"]) == (5, 0.0)
    assert details["template_reactions_available"] > 3_000
    better = follow(lab, tool, error)["media_id"]
    assert fill(lab, tool, gappy, better, target_growth=0.3)["growth_rate"] >= 0.3


def test_a_nutrient_that_is_missing_is_named_and_then_it_grows(lab: Lab, tool: Flux, gappy: str) -> None:
    """Nitrogen; the others in `tests/slow/genomes`."""
    assert_that_a_missing_nutrient_is_named_and_then_it_grows(lab, tool, gappy, "cpd00013")


def test_a_forced_flux_that_cannot_be_met_is_named_and_no_nutrient_that_the_medium_has(lab: Lab, tool: Flux) -> None:
    forced = lab.modified(tool, lab.loaded(tool), bounds={"ATPM": [2000, 3000]})
    error = fill(lab, tool, forced, "minimal_aerobic")
    assert error["error_code"] == "GAPFILL_INFEASIBLE"
    assert "cannot be met: ATPM within [2000.0, 3000.0]" in error["message"]
    assert "lacks" not in error["message"]
    assert fill(lab, tool, follow(lab, tool, error)["model_id"], "minimal_aerobic")["success"]


def test_a_target_that_is_too_high_is_not_lowered_by_a_step_but_by_the_caller(lab: Lab, tool: Flux, gappy: str) -> None:
    media = lab.fed(tool)
    error = fill(lab, tool, gappy, media, target_growth=9.0)
    assert error["error_code"] == "GAPFILL_INFEASIBLE"
    most = error["details"]["growth_at_most"]
    assert 0.8 < most < 2
    assert "next_step" not in error
    (lower,) = [text for text in error["suggestions"] if "target_growth" in text]
    reachable = float(lower.split("target_growth ")[1].split()[0])
    assert 0.98 * most < reachable < most
    assert "in place of 9" in lower
    assert fill(lab, tool, gappy, media, target_growth=reachable)["growth_rate"] >= reachable - 1e-6


def test_a_target_that_the_caller_did_not_set_is_lowered_by_a_step_that_says_so(
    lab: Lab, tool: Flux, gappy: str
) -> None:
    media = lab.fed(tool, cpd00013=[-0.01, 1000.0])  # ammonium for a growth of 0.002
    error = fill(lab, tool, gappy, media)
    reachable = error["next_step"]["arguments"]["target_growth"]
    assert 0.001 < reachable < 0.002
    assert any(f"target_growth {reachable:g} in place of 0.01" in text for text in error["suggestions"])
    assert follow(lab, tool, error)["growth_rate"] >= reachable - 1e-6


def test_a_nutrient_that_is_too_scarce_is_named_as_the_medium_does_with_the_bounds_that_suffice(
    lab: Lab, tool: Flux, gappy: str
) -> None:
    given = {"compounds": ["glc__D", "o2", "nh4", "pi", "h2o", "h"], "custom_bounds": {"glc__D": [-1.0, 1000.0]}}
    media_id = lab.call(tool, "build_media", given)["media_id"]
    error = fill(lab, tool, gappy, media_id, target_growth=0.5)
    assert [item["compound_id"] for item in error["details"]["missing_nutrients"]] == ["glc__D"]
    (more,) = [text for text in error["suggestions"] if "custom_bounds" in text]
    given["custom_bounds"] = json.loads(more.split("custom_bounds ")[1])
    media_id = lab.call(tool, "build_media", given)["media_id"]
    assert fill(lab, tool, gappy, media_id, target_growth=0.499)["success"]


def test_the_least_target_still_asks_for_growth(lab: Lab, tool: Flux, gappy: str) -> None:
    filled = fill(lab, tool, gappy, lab.fed(tool), target_growth=1e-9)
    assert filled["num_reactions_added"] == 2
    assert filled["growth_rate"] > 1e-5


def test_gaps_of_a_model_that_minimizes_are_filled_for_its_biomass(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.remove_reactions(["ENO"])
    model.objective = "EX_etoh_e"
    model.objective_direction = "min"
    filled = fill(lab, rooted, lab.read(rooted, model), "minimal_aerobic", target_growth=0.5)
    assert [item["id"] for item in filled["reactions_added"]] == ["ENO"]
    assert any("Biomass_Ecoli_core, not" in text for text in filled["metadata"]["warnings"])
    (step,) = filled["next_steps"]
    grown = lab.call(rooted, step["tool"], step["arguments"])
    assert grown["objective"] == "Biomass_Ecoli_core"
    assert grown["growth_rate"] == pytest.approx(filled["growth_after"], abs=1e-7)
    own = lab.call(rooted, "run_fba", {"model_id": filled["model_id"], "media_id": "minimal_aerobic"})
    assert (own["objective"], own["objective_value"]) == ("EX_etoh_e", 0.0)


def test_a_model_without_biomass_has_nothing_to_fill_for(lab: Lab, tool: Flux) -> None:
    model = lab.modified(tool, lab.loaded(tool), remove_reactions=["Biomass_Ecoli_core"])
    assert fill(lab, tool, model, lab.fed(tool))["error_code"] == "OBJECTIVE_NOT_FOUND"


def test_progress_is_reported(lab: Lab, tool: Flux, gappy: str) -> None:
    reported: list[tuple[float, float | None, str | None]] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        reported.append((done, total, message))

    params = {"model_id": gappy, "media_id": lab.fed(tool), "target_growth": 0.5}
    assert lab.call(tool, "gapfill_model", params, report_progress=report)["success"]
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)
    assert reported[-1][1] == 5


def test_a_universe_with_other_ids_than_the_model_is_named_as_the_cause(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.remove_reactions(["ENO"])
    for metabolite in model.metabolites:
        metabolite.id = f"own_{metabolite.id}"
    error = fill(lab, rooted, lab.read(rooted, model), "minimal_aerobic")
    assert error["error_code"] == "GAPFILL_INFEASIBLE"
    assert "has 0 of the 72 metabolites" in error["message"]
    assert "blocked_precursors" not in error["details"]

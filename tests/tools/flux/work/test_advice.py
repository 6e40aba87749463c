"""What a failure advises fits what the modeller has done: a missing step is named, and conditions are kept."""

from __future__ import annotations

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


def test_a_removed_reaction_that_growth_needs_is_named_and_not_a_nutrient_that_replaces_it(
    lab: Lab, tool: Flux
) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), remove_reactions=["ENO"])
    error = lab.call(tool, "run_fba", {"model_id": model_id, "media_id": "minimal_aerobic"})
    assert error["error_code"] == "FBA_INFEASIBLE"
    assert error["details"]["changes"] == [{"change": "remove_reactions", "id": "ENO"}]
    step = error["next_step"]
    (restored,) = step["arguments"]["add_reactions"]
    assert (step["tool"], restored["id"], restored["gene_rule"]) == ("modify_model", "ENO", "b2779")


def test_a_lethal_knock_out_is_named(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), knock_out_genes=["b2779"])
    error = lab.call(tool, "run_fba", {"model_id": model_id})
    assert error["error_code"] == "FBA_INFEASIBLE"
    assert error["details"]["changes"] == [{"change": "knock_out_genes", "id": "b2779", "reactions": ["ENO"]}]
    assert "the knock-out of b2779 is lethal" in error["message"]
    arguments = {"model_id": model_id, "bounds": {"ENO": [-1000.0, 1000.0]}}
    assert error["next_step"] == {"tool": "modify_model", "arguments": arguments}


def test_the_next_step_keeps_an_anaerobic_medium_anaerobic(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), remove_reactions=["PFL", "ENO"])
    error = lab.call(tool, "run_fba", {"model_id": model_id, "media_id": "minimal_anaerobic"})
    assert error["error_code"] == "FBA_INFEASIBLE"
    assert not {"cpd00007", "o2"} & set(error.get("next_step", {}).get("arguments", {}).get("compounds", []))


def test_a_model_that_was_filled_on_one_medium_is_filled_on_another_as_well(lab: Lab, tool: Flux) -> None:
    gappy = lab.modified(tool, lab.loaded(tool), remove_reactions=["ENO", "TPI"])
    filled = lab.call(tool, "gapfill_model", {"model_id": gappy, "media_id": "minimal_aerobic"})
    if filled["num_reactions_added"] != 1:
        pytest.fail("with oxygen, growth needs one of the two reactions")
    error = lab.call(tool, "run_fba", {"model_id": filled["model_id"], "media_id": "minimal_anaerobic"})
    assert error["error_code"] == "FBA_INFEASIBLE"
    arguments = {"model_id": filled["model_id"], "media_id": "minimal_anaerobic"}
    assert error.get("next_step") == {"tool": "gapfill_model", "arguments": arguments}


def test_an_unknown_compound_of_a_medium_does_not_lead_to_a_search_for_another(lab: Lab, tool: Flux) -> None:
    error = lab.call(tool, "build_media", {"compounds": ["cpd99999", "cpd00007"]})
    assert error["error_code"] == "INVALID_COMPOUND_IDS"
    assert error.get("next_step", {}).get("arguments") != {"query": "glucose"}


def test_a_misspelt_name_is_searched_for_as_it_is_meant(lab: Lab, tool: Flux) -> None:
    error = lab.call(tool, "get_compound_name", {"compound_id": "glucse"})
    assert error["error_code"] == "INVALID_ID_FORMAT"
    assert error["next_step"]["arguments"]["query"].casefold() in {"glucse", "glucose", "d-glucose"}


@pytest.mark.parametrize("bounds", [{"glc__D": [-1000, -900]}, {"ac": [500, 1000]}], ids=["uptake", "secretion"])
def test_a_flux_that_a_medium_forces_is_relaxed_in_the_medium(
    lab: Lab, tool: Flux, bounds: dict[str, list[float]]
) -> None:
    model_id = lab.loaded(tool)
    media_id = lab.fed(tool, ["glc__D", "o2", "h2o", "pi", "nh4", "h", "ac"], **bounds)
    error = lab.call(tool, "run_fba", {"model_id": model_id, "media_id": media_id})
    assert (error["error_code"], error["next_step"]["tool"]) == ("FBA_INFEASIBLE", "build_media")
    relaxed = lab.call(tool, "build_media", error["next_step"]["arguments"])
    assert lab.call(tool, "run_fba", {"model_id": model_id, "media_id": relaxed["media_id"]})["growth_rate"] > 0


def test_a_demand_of_a_file_is_relaxed_so_far_that_the_model_grows(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.reactions.ATPM.bounds = (200, 1000)
    error = lab.call(rooted, "run_fba", {"model_id": lab.read(rooted, model)})
    assert (error["error_code"], error["next_step"]["tool"]) == ("FBA_INFEASIBLE", "modify_model")
    relaxed = lab.call(rooted, "modify_model", error["next_step"]["arguments"])
    assert lab.call(rooted, "run_fba", {"model_id": relaxed["model_id"]})["growth_rate"] > 0

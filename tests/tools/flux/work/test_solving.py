"""What the solver says reaches the caller as it is: an optimum, or a typed error that names the cause."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, operation
from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux import tasks
from tests.tools.flux.lab import AEROBIC, Lab, kill, workers_of
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


def solved(lab: Lab, tool: Flux, model_id: str, **given: Any) -> dict[str, Any]:
    return lab.call(tool, "run_fba", {"model_id": model_id, **given})


def test_a_published_model_grows_as_published(lab: Lab, tool: Flux) -> None:
    answer = solved(lab, tool, lab.loaded(tool))
    assert answer["growth_rate"] == pytest.approx(0.8739, abs=1e-3)
    assert answer["status"] == "optimal"


def test_an_answer_names_uptakes_and_secretions_by_compound(lab: Lab, tool: Flux) -> None:
    answer = solved(lab, tool, lab.loaded(tool))
    taken = {item["compound_id"]: item["flux"] for item in answer["uptakes"]}
    assert taken["cpd00027"] == pytest.approx(-10)
    assert taken.keys() == {"cpd00027", "cpd00007", "cpd00013", "cpd00009"}
    assert {item["compound_id"] for item in answer["secretions"]} == {"cpd00001", "cpd00011", "cpd00067"}
    assert all(item["flux"] > 0 for item in answer["secretions"])


def test_the_largest_fluxes_are_reported_and_the_others_counted(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    whole, part = solved(lab, tool, model_id), solved(lab, tool, model_id, limit=20)
    assert (len(whole["fluxes"]), whole["fluxes_omitted"]) == (whole["num_active_reactions"], 0)
    assert (len(part["fluxes"]), part["fluxes_omitted"]) == (20, whole["num_active_reactions"] - 20)
    assert list(part["fluxes"]) == list(whole["fluxes"])[:20]


def test_fluxes_below_the_threshold_are_left_out(lab: Lab, tool: Flux) -> None:
    answer = solved(lab, tool, lab.loaded(tool), flux_threshold=20.0)
    assert answer["fluxes"]
    assert all(abs(flux) > 20 for flux in answer["fluxes"].values())


def test_a_medium_decides_what_comes_in(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    with_little = solved(lab, tool, model_id, media_id=lab.fed(tool, cpd00007=[-5, 1000]))
    with_more = solved(lab, tool, model_id, media_id=lab.fed(tool))
    assert 0.1 < with_little["growth_rate"] < with_more["growth_rate"] < 0.8739
    assert solved(lab, tool, model_id)["growth_rate"] == pytest.approx(0.8739, abs=1e-3)


def test_compounds_that_the_model_cannot_take_are_named_in_a_warning(lab: Lab, tool: Flux) -> None:
    answer = solved(lab, tool, lab.loaded(tool), media_id=lab.fed(tool, [*AEROBIC, "cpd00034"]))
    assert any("cpd00034" in warning for warning in answer["metadata"]["warnings"])


@pytest.mark.parametrize("missing", ["cpd00027", "cpd00013", "cpd00009"])
def test_an_incomplete_medium_is_infeasible_and_the_next_step_repairs_it(lab: Lab, tool: Flux, missing: str) -> None:
    model_id = lab.loaded(tool)
    poor = lab.fed(tool, [item for item in AEROBIC if item != missing])
    error = solved(lab, tool, model_id, media_id=poor)
    assert error["error_code"] == "FBA_INFEASIBLE"
    assert error["details"]["solver_status"] in {"infeasible", "optimal"}
    assert [item["compound_id"] for item in error["details"]["missing_uptakes"]] == [missing]
    step = error["next_step"]
    assert step["tool"] == "build_media"
    mended = lab.call(tool, step["tool"], step["arguments"])["media_id"]
    assert solved(lab, tool, model_id, media_id=mended)["growth_rate"] > 0.1


def test_compounds_that_are_of_no_use_are_named_when_nothing_grows(lab: Lab, tool: Flux) -> None:
    error = solved(lab, tool, lab.loaded(tool), media_id=lab.fed(tool, ["cpd00001", "cpd00034"]))
    assert error["details"]["unusable_compounds"] == ["cpd00034"]


def test_everything_that_is_missing_is_named_at_once(lab: Lab, tool: Flux) -> None:
    error = solved(lab, tool, lab.loaded(tool), media_id=lab.fed(tool, ["cpd00001"]))
    assert {item["compound_id"] for item in error["details"]["missing_uptakes"]} == {"cpd00027", "cpd00013", "cpd00009"}


def test_the_error_of_a_model_with_closed_uptakes_names_those_to_open(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), bounds={"EX_glc__D_e": [0, 1000]})
    error = solved(lab, tool, model_id)
    assert (error["error_code"], error["next_step"]["tool"]) == ("FBA_INFEASIBLE", "modify_model")
    opened = lab.call(tool, "modify_model", error["next_step"]["arguments"])
    assert solved(lab, tool, opened["model_id"])["growth_rate"] > 0.1


def test_demands_that_cannot_be_met_are_named_with_what_is_possible(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), bounds={"ATPM": [500, 1000]})
    error = solved(lab, tool, model_id)
    assert (error["error_code"], error["details"]["solver_status"]) == ("FBA_INFEASIBLE", "infeasible")
    (contradiction,) = error["details"]["contradictions"]
    assert contradiction["reaction_id"] == "ATPM"
    assert 150 < contradiction["possible"] < 175, "175 would leave nothing for growth"
    relaxed = lab.call(tool, "modify_model", error["next_step"]["arguments"])
    assert lab.call(tool, "run_fba", {"model_id": relaxed["model_id"], "objective": "ATPM"})["success"]


def test_growth_of_zero_is_no_result_but_an_error_that_names_what_was_removed(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), remove_reactions=["CS"], bounds={"ATPM": [0, 1000]})
    error = solved(lab, tool, model_id, media_id=lab.fed(tool))
    assert (error["error_code"], error["details"]["solver_status"]) == ("FBA_INFEASIBLE", "optimal")
    assert error["details"]["changes"] == [{"change": "remove_reactions", "id": "CS"}]


def test_what_no_uptake_can_bring_is_named_as_a_precursor(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.remove_reactions(["G6PDH2r", "RPI", "RPE"])
    error = solved(lab, rooted, lab.read(rooted, model))
    assert error["error_code"] == "FBA_INFEASIBLE"
    assert "r5p_c" in [item["metabolite_id"] for item in error["details"]["blocked_precursors"]]


def test_an_objective_without_a_limit_names_the_reactions_without_one(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), bounds={"FRD7": [0, None], "SUCDi": [0, None]})
    error = solved(lab, tool, model_id, objective="FRD7")
    assert error["error_code"] == "FBA_UNBOUNDED"
    assert set(error["details"]["unlimited_reactions"]) == {"FRD7", "SUCDi"}
    bounded = lab.call(tool, "modify_model", error["next_step"]["arguments"])
    assert solved(lab, tool, bounded["model_id"], objective="FRD7")["objective_value"] <= 1000


def test_an_unknown_objective_lists_candidates_and_guesses_none(lab: Lab, tool: Flux) -> None:
    error = solved(lab, tool, lab.loaded(tool), objective="PKG")
    assert (error["error_code"], error["details"]["similar_ids"]) == ("OBJECTIVE_NOT_FOUND", ["PGK"])
    assert "next_step" not in error


def test_growth_by_another_name_leads_to_the_models_own_objective(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    error = solved(lab, tool, model_id, objective="Biomass_wild_type")
    assert error["details"]["similar_ids"] == ["Biomass_Ecoli_core"]
    assert error["next_step"] == {"tool": "run_fba", "arguments": {"model_id": model_id}}


def test_a_minimum_of_zero_is_a_result(lab: Lab, tool: Flux) -> None:
    answer = solved(lab, tool, lab.loaded(tool), maximize=False)
    assert (answer["objective_value"], answer["growth_rate"]) == (0.0, 0.0)


def test_the_models_growth_is_explained_with_what_limits_it(lab: Lab, tool: Flux) -> None:
    answer = solved(lab, tool, lab.loaded(tool))
    assert [item["compound_id"] for item in answer["limiting"]] == ["cpd00027"]
    assert "D-Glucose" in answer["interpretation"]


def limiting(lab: Lab, tool: Flux, model: Any) -> list[str]:
    answer = solved(lab, tool, lab.read(tool, model))
    return [item["exchange"] for item in answer["limiting"]]


def test_an_uptake_that_is_forced_and_does_harm_limits_nothing(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.reactions.get_by_id("EX_co2_e").bounds = (-5.0, -5.0)
    assert limiting(lab, rooted, model) == ["EX_glc__D_e"]


def test_a_minimum_is_limited_by_uptakes_that_would_make_it_smaller(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.reactions.get_by_id("Biomass_Ecoli_core").bounds = (0.5, 1000)
    model.reactions.get_by_id("EX_o2_e").lower_bound = -15
    model.objective = "EX_ac_e"
    model.objective_direction = "min"
    least = model.slim_optimize()
    for name in limiting(lab, rooted, model):
        with model:
            model.reactions.get_by_id(name).lower_bound *= 2
            assert model.slim_optimize() < least - 1e-6
    model.objective = "EX_co2_e"
    assert limiting(lab, rooted, model) == ["EX_glc__D_e"]


def test_two_uptakes_that_only_help_together_do_not_limit_growth(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    glucose = model.reactions.get_by_id("EX_glc__D_e")
    oxygen = model.reactions.get_by_id("EX_o2_e")
    with model:
        model.optimize()
        used = oxygen.flux
    oxygen.lower_bound = used  # exactly what ten of glucose need, so more of it alone is of no use
    found = limiting(lab, rooted, model)
    assert "EX_o2_e" not in found
    with model:
        glucose.lower_bound *= 2
        assert ("EX_glc__D_e" in found) is (model.slim_optimize() > 0.8739215 + 1e-6)


def test_the_growth_rate_is_the_flux_of_biomass_whatever_its_weight_in_the_objective(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.objective = {model.reactions.get_by_id("Biomass_Ecoli_core"): 2.0}
    answer = solved(lab, rooted, lab.read(rooted, model))
    assert answer["growth_rate"] == pytest.approx(0.8739215)
    assert answer["objective_value"] == pytest.approx(1.747843)


def test_growth_of_zero_is_named_where_a_knock_out_is_lethal(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), knock_out_genes=["eno"])
    assert solved(lab, tool, model_id)["message"].startswith("The growth is 0")


@pytest.mark.parametrize(("reversed_", "is_leaking"), [("ATPS4r", False), ("ATPM", True)])
def test_energy_from_nothing_is_reported_where_gaps_are_filled(
    lab: Lab, tool: Flux, reversed_: str, *, is_leaking: bool
) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), bounds={reversed_: [-1000, 1000]})
    filled = lab.call(tool, "gapfill_model", {"model_id": model_id, "media_id": lab.fed(tool)})
    assert any("ATP" in warning for warning in filled["metadata"]["warnings"]) is is_leaking


def test_a_model_without_an_objective_is_not_at_an_optimum_of_zero(lab: Lab, tool: Flux) -> None:
    model_id = lab.modified(tool, lab.loaded(tool), remove_reactions=["Biomass_Ecoli_core"])
    error = solved(lab, tool, model_id)
    assert (error["error_code"], error["details"]["objective"]) == ("OBJECTIVE_NOT_FOUND", "")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"flux_threshold": -1.0}, "INVALID_FLUX_THRESHOLD"),
        ({"flux_threshold": -1.0, "model_id": "model_x"}, "INVALID_FLUX_THRESHOLD"),
        ({"model_id": "model_x", "media_id": "media_x"}, "MODEL_NOT_FOUND"),
        ({"model_id": ""}, "MODEL_NOT_FOUND"),
        ({"media_id": "media_x", "objective": "x"}, "MEDIA_NOT_FOUND"),
        ({"objective": "x"}, "OBJECTIVE_NOT_FOUND"),
    ],
)
def test_the_first_fault_in_the_order_of_the_seed_decides(
    lab: Lab, tool: Flux, given: dict[str, Any], code: str
) -> None:
    assert solved(lab, tool, **{"model_id": lab.loaded(tool), **given})["error_code"] == code


def test_a_solution_that_no_organism_shows_comes_with_warnings(lab: Lab, tool: Flux) -> None:
    rich = lab.fed(tool, cpd00027=[-200, 1000], cpd00007=[-1000, 1000], cpd00013=[-1000, 1000], cpd00009=[-1000, 1000])
    warnings = " ".join(solved(lab, tool, lab.loaded(tool), media_id=rich)["metadata"]["warnings"])
    assert "above 5" in warnings
    assert "at least 100" in warnings
    slow = lab.fed(tool, cpd00027=[-1, 1000])
    answer = solved(lab, tool, lab.modified(tool, lab.loaded(tool), bounds={"ATPM": [0, 0]}), media_id=slow)
    assert any("usual are" in warning for warning in answer["metadata"]["warnings"])


class Hurried(BaseTool):
    """Runs tasks that have less time than the solver keeps in reserve, or just enough to begin."""

    def __init__(self, lab: Lab) -> None:
        super().__init__()
        self.workers = lab.workers

    @operation(read_only=True, timeout=60)
    async def run(self, call: CallContext, task: str, given: list[float]) -> Any:
        return await self.workers.run(call, getattr(tasks, task), *given)


def test_no_time_left_is_the_solver_s_failure_and_not_a_growth_of_zero(lab: Lab) -> None:
    error = asyncio.run(Hurried(lab).run(task="fba_of_textbook", given=[0.45])).error
    assert (error.code, error.exception.exception_type) == ("COBRAPY_SOLVER_ERROR", "TimeLimit")


def test_a_problem_that_takes_the_solver_too_long_is_given_up(lab: Lab) -> None:
    error = asyncio.run(Hurried(lab).run(task="hard_problem", given=[1.6])).error
    assert (error.code, error.exception.exception_type) == ("COBRAPY_SOLVER_ERROR", "TimeLimit")


def test_numbers_that_the_solver_cannot_hold_are_no_result(lab: Lab) -> None:
    error = asyncio.run(Hurried(lab).run(task="wild_numbers", given=[1e155])).error
    assert (error.code, error.exception.exception_type) == ("COBRAPY_SOLVER_ERROR", "NumericalTrouble")


def test_numbers_that_make_the_solver_abort_its_process_end_only_that_call(lab: Lab) -> None:
    error = asyncio.run(Hurried(lab).run(task="wild_numbers", given=[1e200])).error
    assert (error.code, error.exception.exception_type) == ("COBRAPY_SOLVER_ERROR", "WorkerDied")
    assert "SIGABRT" in error.exception.exception_message
    tool = lab.tool()
    assert lab.call(tool, "run_fba", {"model_id": lab.loaded(tool)})["success"]


def test_a_carbon_source_that_is_added_gets_a_usual_uptake_whatever_the_salts_have(lab: Lab, tool: Flux) -> None:
    salts = {"compounds": ["o2", "nh4", "pi", "h2o", "h"], "default_uptake": 1000.0}
    media_id = lab.call(tool, "build_media", salts)["media_id"]
    step = solved(lab, tool, lab.loaded(tool), media_id=media_id)["next_step"]
    assert step["arguments"]["custom_bounds"] == {"cpd00027": [-10.0, 1000.0]}
    richer = lab.call(tool, step["tool"], step["arguments"])["media_id"]
    assert solved(lab, tool, lab.loaded(tool), media_id=richer)["growth_rate"] == pytest.approx(0.8739, abs=1e-3)


@pytest.mark.parametrize("named", ["glc__D", "cpd00027"])
def test_a_wrong_sign_is_corrected_by_the_next_step_under_whatever_id_the_medium_has(
    lab: Lab, tool: Flux, named: str
) -> None:
    others = ["o2", "nh4", "pi", "h2o", "h"]
    made = lab.call(tool, "build_media", {"compounds": [named, *others], "custom_bounds": {named: [10, 1000]}})
    assert any("positive lower bound" in warning for warning in made["metadata"]["warnings"])
    refused = solved(lab, tool, lab.loaded(tool), media_id=made["media_id"])
    assert refused["error_code"] == "FBA_INFEASIBLE"
    step = refused["next_step"]
    assert len(step["arguments"]["compounds"]) == 1 + len(others)
    richer = lab.call(tool, step["tool"], step["arguments"])["media_id"]
    assert solved(lab, tool, lab.loaded(tool), media_id=richer)["growth_rate"] > 0.5


def storm(lab: Lab, tool: Flux, *, clients: int, turns: int, kills: int) -> int:
    """Let clients ask while workers are killed, hold every answer to what it has to be, and return how many came."""
    model_id, media_id = lab.loaded(tool), lab.fed(tool)
    expected = solved(lab, tool, model_id, media_id=media_id)["growth_rate"]

    async def client(number: int) -> list[dict[str, Any]]:
        answers = []
        for turn in range(turns):
            given = {"model_id": model_id, **({"media_id": media_id} if (number + turn) % 2 else {})}
            answers.append(await lab.called(tool, "run_fba", given))
        return answers

    async def killer() -> None:
        for _ in range(kills):
            for process_id in workers_of(tool.workers)[:1]:
                with suppress(ProcessLookupError):  # it was replaced just now
                    kill(process_id)
            await asyncio.sleep(0.01)

    async def gathered() -> list[dict[str, Any]]:
        *lists, _ = await asyncio.gather(*(client(number) for number in range(clients)), killer())
        return [answer for answers in lists for answer in answers]  # type: ignore[union-attr]

    answers = asyncio.run(gathered())
    for answer in answers:
        if answer["success"]:
            wanted = expected if "media_id" in answer else 0.8739
            assert answer["growth_rate"] == pytest.approx(wanted, abs=1e-3)
        else:
            assert answer["error_code"] == "COBRAPY_SOLVER_ERROR"
    assert solved(lab, tool, model_id)["success"]
    return len(answers)


def test_when_workers_are_killed_every_call_is_answered_and_none_is_wrong(lab: Lab, tool: Flux) -> None:
    assert storm(lab, tool, clients=8, turns=5, kills=3) == 40

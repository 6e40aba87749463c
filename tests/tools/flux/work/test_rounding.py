"""Optima are rounded to seven decimals, the tolerance of the solver, and what is below that is 0."""

from __future__ import annotations

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


@pytest.mark.parametrize("operation", ["run_fba", "run_fva", "delete_genes"])
def test_optima_have_seven_decimals(lab: Lab, tool: Flux, operation: str) -> None:
    chosen = {"reactions": ["PGK"]} if operation == "run_fva" else {}
    answer = lab.call(tool, operation, {"model_id": lab.loaded(tool), **chosen})
    values = [answer[name] for name in ("objective_value", "growth_rate", "growth_without_deletion") if name in answer]
    values += [item["growth"] for item in answer.get("results", ()) if "growth" in item]
    if not any(value == pytest.approx(0.8739215, abs=1e-6) for value in values):
        pytest.fail("no optimum in the answer")
    assert [value for value in values if value != round(value, 7)] == []


def test_the_growth_after_gap_filling_is_that_of_run_fba(lab: Lab, tool: Flux, gappy: str) -> None:
    media_id = lab.fed(tool)
    filled = lab.call(tool, "gapfill_model", {"model_id": gappy, "media_id": media_id, "target_growth": 0.5})
    if not filled["success"]:
        raise RuntimeError
    grown = lab.call(tool, "run_fba", {"model_id": filled["model_id"], "media_id": media_id})["growth_rate"]
    assert filled["growth_after"] == pytest.approx(grown, abs=1.01e-7)


def test_growth_above_the_tolerance_of_the_solver_is_growth(lab: Lab, rooted: Flux) -> None:
    model = textbook()
    model.reactions.get_by_id("ATPM").bounds = (0, 1000)
    model.reactions.get_by_id("EX_glc__D_e").lower_bound = -5e-6
    answer = lab.call(rooted, "run_fba", {"model_id": lab.read(rooted, model)})
    assert (
        answer.get("growth_rate") == pytest.approx(model.slim_optimize(), abs=1e-7) == pytest.approx(4.6e-7, abs=1e-8)
    )

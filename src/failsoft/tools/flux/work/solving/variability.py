"""Flux variability analysis, as a task: the range of each flux near the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cobra

from failsoft.framework.errors import InvalidParameter
from failsoft.tools.flux.models.recipes import Recipe
from failsoft.tools.flux.question import Question
from failsoft.tools.flux.work.solving.fba import optimum
from failsoft.tools.flux.work.solving.models import model_of
from failsoft.tools.flux.work.solving.modifying import unknown_ids
from failsoft.tools.flux.work.solving.solver import TROUBLE, ZERO, failure, solve
from failsoft.tools.flux.workers.progress import progress

__all__ = ["run_fva"]

_REPORTED_EACH = 50


def run_fva(recipe: Recipe, question: Question, fraction: float, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the range of each flux while the objective keeps a fraction of its optimum: a task.

    Args:
        recipe: The model.
        question: On which medium.
        fraction: Of the optimum, from 0 to 1.
        names: Which reactions; all of the model if left out.

    Raises:
        INVALID_PARAM: Reactions that the model does not have.
        FBA_INFEASIBLE, FBA_UNBOUNDED: There is no optimum to be near to.
        COBRAPY_SOLVER_ERROR: The solver found no range.
    """
    model = model_of(recipe)
    violations = unknown_ids("reactions", names or (), model.reactions, "reaction")
    if violations:
        raise InvalidParameter.from_violations(violations)
    wanted = list(dict.fromkeys(names)) if names is not None else [item.id for item in model.reactions]
    with model:
        best = optimum(model, question)
        kept = model.problem.Constraint(model.objective.expression, lb=fraction * best.value, name="failsoft_kept")
        model.add_cons_vars([kept])
        lowest = _extremes(model, wanted, "min", 0)
        highest = _extremes(model, wanted, "max", len(wanted))
    ranges = list(zip(wanted, lowest, highest, strict=True))
    fixed = sum(low is not None and high is not None and high - low <= ZERO for _, low, high in ranges)
    results = [{"reaction_id": name, "minimum": low, "maximum": high} for name, low, high in ranges]
    return {
        "result": {
            "objective": best.objective,
            "objective_value": best.value,
            "fraction": fraction,
            "results": results,
            "num_fixed": fixed,
        },
        "warnings": best.warnings,
    }


def _extremes(model: cobra.Model, names: Sequence[str], direction: str, done: int) -> list[float | None]:
    """Return the smallest or largest flux of each reaction; None where it has no limit."""
    model.objective = model.problem.Objective(0, direction=direction)
    found: list[float | None] = []
    for index, name in enumerate(names):
        if index % _REPORTED_EACH == 0:
            progress(done + index, 2 * len(names), "Solving for each reaction")
        reaction = model.reactions.get_by_id(name)
        variables = reaction.forward_variable, reaction.reverse_variable
        model.objective.set_linear_coefficients(dict(zip(variables, (1.0, -1.0), strict=True)))
        verdict = solve(model)
        if verdict == "infeasible":
            raise failure(TROUBLE, f"no flux of {name} keeps the objective within tolerance")
        value = float(model.solver.objective.value) if verdict == "optimal" else None
        found.append(value if value is None or abs(value) > ZERO / 1_000 else 0.0)
        model.objective.set_linear_coefficients(dict.fromkeys(variables, 0.0))
    return found

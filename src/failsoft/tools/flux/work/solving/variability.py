"""Flux variability analysis, as a task: the range of each flux near the optimum."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Final, Literal

import cobra
from cobra.exceptions import OptimizationError
from cobra.flux_analysis import flux_variability_analysis

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.text import enumerated
from failsoft.tools.flux.models.recipes import Recipe
from failsoft.tools.flux.question import Question
from failsoft.tools.flux.work.solving.fba import optimum
from failsoft.tools.flux.work.solving.models import model_of
from failsoft.tools.flux.work.solving.modifying import unknown_ids
from failsoft.tools.flux.work.solving.solver import TROUBLE, ZERO, failure, limit_time
from failsoft.tools.flux.workers.progress import progress

_REPORTED_EACH = 50
_NAMED_AT_MOST = 5
_HUGE: Final = 1e7
"""Replaces infinite bounds, where a flux has no limit."""
_NEARLY: Final = 0.1
"""The part of it from which on a flux has none: in a loop one may be a multiple of another."""


def run_fva(recipe: Recipe, question: Question, fraction: float, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the range of each flux while the objective keeps a fraction of its optimum: a task.

    That leaves the objective between its optimum and a value that is worse by the rest of the optimum's size: with 0.9
    between 10 and 9 for a maximum, between 10 and 11 for a minimum, for which cobra's own factor would leave nothing.

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
    ranges: list[tuple[str, float | None, float | None]] = []
    with model:
        best = optimum(model, question)
        share = fraction if best.is_minimum is (best.value <= 0) else 2 - fraction
        for start in range(0, len(wanted), _REPORTED_EACH):
            progress(start, len(wanted), "Solving for each reaction")
            some = wanted[start : start + _REPORTED_EACH]
            ranges += [(name, *ends) for name, ends in zip(some, _ranges(model, some, share), strict=True)]
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


def _ranges(model: cobra.Model, names: Sequence[str], share: float) -> list[tuple[float | None, float | None]]:
    """Return the lowest and the highest flux of each reaction; None where it has no limit."""
    ranges = _of_cobra(model, names, share)
    if ranges is not None:
        return [*ranges]
    with model:
        for reaction in model.reactions:
            low, high = reaction.bounds
            if math.isinf(low) or math.isinf(high):
                reaction.bounds = (-_HUGE if math.isinf(low) else low), (_HUGE if math.isinf(high) else high)
        ranges = _of_cobra(model, names, share, presolve=True)
    if ranges is None:
        raise failure(TROUBLE, f"no ranges of {enumerated(names, _NAMED_AT_MOST)} within tolerance")
    return [(_unless_huge(low), _unless_huge(high)) for low, high in ranges]


def _of_cobra(
    model: cobra.Model, names: Sequence[str], share: float, *, presolve: bool | Literal["auto"] = "auto"
) -> list[tuple[float, float]] | None:
    """Return what cobra finds; None if a flux has no limit, or if the solver is in trouble, of which cobra warns."""
    limit_time(model)
    model.solver.configuration.presolve = presolve
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            frame = flux_variability_analysis(model, list(names), fraction_of_optimum=share, processes=1)
    except (OptimizationError, UserWarning):
        return None
    found = [(_rounded(row.minimum), _rounded(row.maximum)) for row in frame.itertuples()]
    return None if any(math.isnan(end) for ends in found for end in ends) else found


def _rounded(value: float) -> float:
    return 0.0 if abs(value) <= ZERO / 1_000 else float(value)


def _unless_huge(value: float) -> float | None:
    return None if abs(value) >= _HUGE * _NEARLY else value

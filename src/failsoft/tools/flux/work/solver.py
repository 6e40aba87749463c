"""What the solver says of a linear problem, told apart by its status and never by its text.

cobra's own ways in lie politely: `optimize` and `slim_optimize` answer 0 or NaN for a problem without a solution, and
for one that ran out of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import cobra
from optlang import interface

from failsoft.framework.text import bounded
from failsoft.tools.flux.solving_errors import CobrapySolverError
from failsoft.tools.flux.work.progress import remaining_s

__all__ = ["ZERO", "Verdict", "fluxes_of", "solve"]

Verdict: TypeAlias = Literal["optimal", "infeasible", "unbounded"]

ZERO: Final = 1e-6
"""Below it a flux is the solver's rounding: its tolerance is 1e-7 for each of thousands of constraints."""
_MARGIN_S = 0.5
"""Seconds that are left of the call's time when the solver gives up, to tell the caller so."""
_ALWAYS: Final = True
_TIME: Final = "TimeLimit"
_TROUBLE: Final = "NumericalTrouble"
_VERDICTS: Final[Mapping[str, Verdict]] = {
    interface.OPTIMAL: "optimal",
    interface.INFEASIBLE: "infeasible",
    interface.UNBOUNDED: "unbounded",
}


def solve(model: cobra.Model, *, twice: bool = False) -> Verdict:
    """Optimize a model as it stands, and return which of three ends it came to.

    What is neither is tried once more with the other way of presolving: most numerical trouble comes from the basis
    that an earlier problem left behind.

    Args:
        model: With its bounds and objective.
        twice: Whether "no solution" is only believed if the other way of presolving says so too.

    Raises:
        COBRAPY_SOLVER_ERROR: Numerical trouble twice, or no time left.
    """
    configuration = model.solver.configuration
    status = _optimize(model, "auto")
    if status not in _VERDICTS or (twice and status != interface.OPTIMAL):
        again = _optimize(model, _ALWAYS)
        status = again if again in _VERDICTS else status
    verdict = _VERDICTS.get(status)
    if verdict is None:
        raise _failure(_TROUBLE, f"the solver's status is '{status}' with and without presolving")
    if verdict == "optimal" and not math.isfinite(model.solver.objective.value):
        raise _failure(_TROUBLE, "the optimum is no finite number")
    configuration.presolve = "auto"
    return verdict


def fluxes_of(model: cobra.Model) -> dict[str, float]:
    """Return the flux of every reaction in the solution that was found last."""
    primal = model.solver.primal_values
    fluxes = {}
    for reaction in model.reactions:
        flux = primal[reaction.id] - primal[reaction.reverse_id]
        fluxes[reaction.id] = flux if abs(flux) > ZERO / 1_000 else 0.0
    return fluxes


def _optimize(model: cobra.Model, presolve: object) -> str:
    configuration = model.solver.configuration
    left = remaining_s()
    if left is not None and left <= _MARGIN_S:
        raise _failure(_TIME, "no time left")
    # Whole seconds are all that this takes; the call's own deadline stands behind it.
    configuration.timeout = None if left is None else max(1, int(left - _MARGIN_S))
    configuration.presolve = presolve
    try:
        status: str = model.solver.optimize()
    except Exception as error:
        raise _failure(type(error).__name__, str(error)) from error
    if status == interface.TIME_LIMIT:
        raise _failure(_TIME, f"no result within {configuration.timeout} s")
    return status


def _failure(kind: str, text: str) -> CobrapySolverError:
    return CobrapySolverError(operation="model.optimize", exception_type=kind, exception_message=bounded(text))

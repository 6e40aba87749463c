"""Solve linear problems, and classify the result by the solver's status, never by its text.

cobra's `optimize` and `slim_optimize` return 0 or NaN both for a problem without a solution and for one that ran out
of time, so they are not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import cobra
from optlang import interface

from failsoft.framework.text import bounded
from failsoft.tools.flux.errors.solving import CobrapySolverError
from failsoft.tools.flux.workers.progress import remaining_s

Verdict: TypeAlias = Literal["optimal", "infeasible", "unbounded"]

ZERO: Final = 1e-6
"""Fluxes below it are rounding: the solver's tolerance is 1e-7 for each of thousands of constraints."""
_MARGIN_S = 0.5
"""Seconds reserved of the call's time limit to report a time-out of the solver."""
_ALWAYS: Final = True
_TIME: Final = "TimeLimit"
TROUBLE: Final = "NumericalTrouble"
_VERDICTS: Final[Mapping[str, Verdict]] = {
    interface.OPTIMAL: "optimal",
    interface.INFEASIBLE: "infeasible",
    interface.UNBOUNDED: "unbounded",
}


def solve(model: cobra.Model, *, twice: bool = False) -> Verdict:
    """Optimize a model, and return the outcome.

    Any other status is retried once with presolving: most numerical trouble comes from the basis of an earlier problem.

    Args:
        model: With its bounds and objective.
        twice: Whether "no solution" is confirmed by a second solve with presolving.

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
        raise failure(TROUBLE, f"the solver's status is '{status}' with and without presolving")
    if verdict == "optimal" and not math.isfinite(model.solver.objective.value):
        raise failure(TROUBLE, "the optimum is not a finite number")
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


def limit_time(model: cobra.Model) -> None:
    """Let the next solves of a model take no longer than the call may.

    Raises:
        COBRAPY_SOLVER_ERROR: No time is left.
    """
    left = remaining_s()
    if left is not None and left <= _MARGIN_S:
        raise failure(_TIME, "no time left")
    # The solver takes whole seconds only; the call's deadline still applies.
    model.solver.configuration.timeout = None if left is None else max(1, int(left - _MARGIN_S))


def _optimize(model: cobra.Model, presolve: object) -> str:
    configuration = model.solver.configuration
    limit_time(model)
    configuration.presolve = presolve
    try:
        status: str = model.solver.optimize()
    except Exception as error:
        raise failure(type(error).__name__, str(error)) from error
    if status == interface.TIME_LIMIT:
        raise failure(_TIME, f"no result within {configuration.timeout} s")
    return status


def failure(kind: str, text: str) -> CobrapySolverError:
    """Return the error for a solver that gave no answer."""
    return CobrapySolverError(operation="model.optimize", exception_type=kind, exception_message=bounded(text))

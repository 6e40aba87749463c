"""Linear problems on GLPK: what the end of a solve means, its thresholds, and problems of plain fluxes.

cobra's `optimize` and `slim_optimize` return 0 or NaN both for a problem without a solution and for one that ran out
of time, so `solve` is used everywhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, Self, TypeAlias

import cobra
from cobra.util.solver import linear_reaction_coefficients
from optlang import glpk_interface, interface
from optlang.symbolics import Zero

from failsoft.framework.text import bounded
from failsoft.jobs.processes.worker import call_deadline
from failsoft.tools.flux.failures import CobrapySolverError

Verdict: TypeAlias = Literal["optimal", "infeasible", "unbounded"]

ZERO: Final = 1e-7
"""The tolerance of the solver: an optimum, or a growth, that is smaller is 0."""
_TRACE: Final = 1e-4
"""An optimum below it may be far from optimal: the solver's tolerance is for reduced costs, too."""
_MAGNIFIED: Final = 1e3
FLUX_NOISE: Final = 1e-6
"""Fluxes up to it may be rounding: the tolerance holds for each of thousands of constraints."""
TROUBLE: Final = "NumericalTrouble"
_DECIMALS: Final = 7
_MARGIN_S = 0.5
"""Seconds reserved of the call's time limit to report a time-out of the solver."""
_VERDICTS: Final[Mapping[str, Verdict]] = {
    interface.OPTIMAL: "optimal",
    interface.INFEASIBLE: "infeasible",
    interface.UNBOUNDED: "unbounded",
}


class Solvable(Protocol):
    """A model of cobra, or a `LinearProblem`."""

    @property
    def solver(self) -> Any:
        """Its problem, as an optlang model."""


def rounded(value: float) -> float:
    """Return an optimum or a flux at the precision of the solver: seven decimals, and 0.0 below its tolerance."""
    return 0.0 if abs(value) < ZERO else round(float(value), _DECIMALS)


def solve(problem: Solvable, *, deadline: float = math.inf) -> Verdict:
    """Optimize, and return what the end means; optlang confirms every end but an optimum by presolving.

    Args:
        problem: With its bounds and objective.
        deadline: When to stop trying, as `time.monotonic()`; the call's own deadline holds in any case.

    Raises:
        COBRAPY_SOLVER_ERROR: Numerical trouble with and without presolving, or no time left.
    """
    limit_time(problem, deadline=deadline)
    try:
        status = problem.solver.optimize()
    except Exception as error:
        raise failure(type(error).__name__, str(error)) from error
    verdict = _VERDICTS.get(status)
    if verdict is None:
        raise gave_up(status)
    if verdict == "optimal" and not math.isfinite(problem.solver.objective.value):
        raise failure(TROUBLE, "the optimum is not a finite number")
    return verdict


def limit_time(problem: Solvable, *, deadline: float = math.inf) -> None:
    """Let the next solves take no longer than the call may, a second solve with presolving included.

    Raises:
        COBRAPY_SOLVER_ERROR: No time is left.
    """
    left = min(deadline, call_deadline() - _MARGIN_S) - time.monotonic()
    if left <= 0:
        raise gave_up(interface.TIME_LIMIT)
    # The solver takes whole seconds only.
    problem.solver.configuration.timeout = None if math.isinf(left) else max(1, int(left / 2))


def solve_for_traces(model: cobra.Model) -> None:
    """Solve a model with an optimum near 0 once more: with a larger objective, and from there with its own.

    Where biomass has 2e-6 of a cofactor, more growth changes the flux that makes it by less than the solver notices.
    """
    objective = model.solver.objective
    if abs(objective.value) >= _TRACE:
        return
    own = {
        variable: sign * weight
        for item, weight in linear_reaction_coefficients(model).items()
        for variable, sign in ((item.forward_variable, 1.0), (item.reverse_variable, -1.0))
    }
    try:
        objective.set_linear_coefficients({variable: _MAGNIFIED * weight for variable, weight in own.items()})
        solve(model)
    finally:
        objective.set_linear_coefficients(own)
    solve(model)


def fluxes_of(model: cobra.Model) -> dict[str, float]:
    """Return the flux of every reaction in the solution that was found last."""
    primal = model.solver.primal_values
    return {item.id: rounded(primal[item.id] - primal[item.reverse_id]) for item in model.reactions}


def gave_up(status: str) -> CobrapySolverError:
    """Return the error for a solver that ended with a status that is no result."""
    if status == interface.TIME_LIMIT:
        return failure("TimeLimit", "no result in the time that the call has")
    return failure(TROUBLE, f"the solver's status is '{status}' with and without presolving")


def failure(kind: str, text: str) -> CobrapySolverError:
    """Return the error for a solver that gave no answer."""
    return CobrapySolverError(operation="model.optimize", exception_type=kind, exception_message=bounded(text))


@dataclass(frozen=True, slots=True)
class Column:
    """One flux: its coefficients by metabolite, and its bounds, which may be infinite."""

    name: str
    coefficients: Mapping[str, float]
    low: float
    high: float


class LinearProblem:
    """Fluxes at steady state: production and consumption of every metabolite are equal.

    It is built in a twentieth of the time that a model of cobra takes, and has no reactions or metabolites.

    Args:
        columns: The fluxes, each under a name of its own.
        deadline: When to stop trying, as `time.monotonic()`.

    Raises:
        COBRAPY_SOLVER_ERROR: From every solve that ends without a result.
    """

    def __init__(self, columns: Iterable[Column], *, deadline: float = math.inf) -> None:
        self.solver = glpk_interface.Model()
        self._deadline = deadline
        self._fluxes: dict[str, Any] = {}
        self._objective: dict[Any, float] = {}
        balances: dict[str, dict[Any, float]] = {}
        for number, column in enumerate(columns):
            # Names of optlang's variables cannot have spaces, nor more than 255 characters.
            flux = glpk_interface.Variable(f"v{number}", lb=_finite(column.low), ub=_finite(column.high))
            self._fluxes[column.name] = flux
            for metabolite, coefficient in column.coefficients.items():
                balances.setdefault(metabolite, {})[flux] = coefficient
        self.solver.add(self._fluxes.values())
        self._constrain("balance", balances.values(), lb=0.0, ub=0.0)
        self.solver.objective = glpk_interface.Objective(Zero, sloppy=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        del self.solver, self._fluxes, self._objective

    def bound(self, name: str, low: float, high: float) -> None:
        """Set the bounds of a flux."""
        self._fluxes[name].set_bounds(_finite(low), _finite(high))

    def maximum(self, objective: Mapping[str, float]) -> tuple[Verdict, float]:
        """Return the verdict, and the largest value of the objective where it is `optimal`, else NaN."""
        return self._optimum(objective, "max")

    def minimum(self, objective: Mapping[str, float]) -> tuple[Verdict, float]:
        """Return the verdict, and the smallest value of the objective where it is `optimal`, else NaN."""
        return self._optimum(objective, "min")

    def flux(self, name: str) -> float:
        """Return a flux of the last optimum."""
        return float(self._fluxes[name].primal)

    def fewest(self, switches: Sequence[tuple[str, float]], *, limit_s: float) -> list[str] | None:
        """Return few of the named fluxes that have to be other than zero, the fewest that are found in time.

        Each flux must be at least 0. The problem cannot be used afterwards, since a switch is added for each flux.

        Args:
            switches: Names with the largest flux that each may have.
            limit_s: Seconds after which the search ends, rounded down; at least one.

        Returns:
            Their names, or None if the time was too short to find any.
        """
        on = {name: glpk_interface.Variable(f"on{number}", type="binary") for number, (name, _) in enumerate(switches)}
        self.solver.add(on.values())
        caps = [{self._fluxes[name]: 1.0, on[name]: -largest} for name, largest in switches]
        self._constrain("cap", caps, ub=0.0)
        self._aim(dict.fromkeys(on.values(), 1.0), "min")
        configuration = self.solver.configuration
        # Always presolving, since optlang would otherwise use the time once more to presolve.
        configuration.presolve, configuration.timeout = True, max(1, int(limit_s))
        if self.solver.optimize() not in {interface.OPTIMAL, interface.FEASIBLE, interface.TIME_LIMIT}:
            return None
        # After a time-out the values are those of the best set so far, or 0.
        return [name for name, switch in on.items() if switch.primal > 0.5] or None  # noqa: PLR2004 - 0 or 1

    def _constrain(self, kind: str, rows: Iterable[Mapping[Any, float]], **bounds: float) -> None:
        given = list(rows)
        constraints = [
            glpk_interface.Constraint(Zero, name=f"{kind}{number}", sloppy=True, **bounds)
            for number in range(len(given))
        ]
        self.solver.add(constraints, sloppy=True)
        self.solver.update()
        for constraint, row in zip(constraints, given, strict=True):
            constraint.set_linear_coefficients(row)

    def _aim(self, objective: dict[Any, float], direction: str) -> None:
        self.solver.objective.set_linear_coefficients({**dict.fromkeys(self._objective, 0.0), **objective})
        self.solver.objective.direction = direction
        self._objective = objective

    def _optimum(self, objective: Mapping[str, float], direction: str) -> tuple[Verdict, float]:
        self._aim({self._fluxes[name]: weight for name, weight in objective.items()}, direction)
        verdict = solve(self, deadline=self._deadline)
        return verdict, float(self.solver.objective.value) if verdict == "optimal" else math.nan


def _finite(bound: float) -> float | None:
    return None if math.isinf(bound) else float(bound)

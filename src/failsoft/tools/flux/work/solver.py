"""Solve linear problems, and classify the result by the solver's status, never by its text.

cobra's `optimize` and `slim_optimize` return 0 or NaN both for a problem without a solution and for one that ran out
of time, so they are not used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias

import cobra
import swiglpk as glpk
from optlang import interface

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import bounded
from failsoft.tools.flux.failures import CobrapySolverError
from failsoft.tools.flux.workers.worker import remaining_s

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


Outcome: TypeAlias = Literal["optimal", "infeasible", "unbounded"]
_OUTCOMES: dict[int, Outcome] = {
    glpk.GLP_OPT: "optimal",
    glpk.GLP_NOFEAS: "infeasible",
    glpk.GLP_INFEAS: "infeasible",
    glpk.GLP_UNBND: "unbounded",
}
_TIME_LIMITS = frozenset({glpk.GLP_ETMLIM, glpk.GLP_EITLIM})


class SolverGaveUpError(PicklableError):
    """GLPK stopped without a result: out of time (code 0), or in numerical trouble."""

    def __init__(self, code: int) -> None:
        super().__init__(f"GLPK code {code}")
        self.is_time = code == 0


@dataclass(frozen=True, slots=True)
class Column:
    """One flux: its coefficients by metabolite, and its bounds, which may be infinite."""

    name: str
    coefficients: Mapping[str, float]
    low: float
    high: float


class LinearProblem:
    """Fluxes at steady state: production and consumption of every metabolite are equal.

    Args:
        columns: The fluxes, each under a name of its own.
        deadline: When to stop trying, as `time.monotonic()`.

    Raises:
        SolverGaveUpError: From every solve that ends without a result.
    """

    def __init__(self, columns: Iterable[Column], *, deadline: float = math.inf) -> None:
        given = list(columns)
        self._number = {column.name: number for number, column in enumerate(given, start=1)}
        self._deadline = deadline
        self._solved = False
        glpk.glp_term_out(glpk.GLP_OFF)
        self._problem = glpk.glp_create_prob()
        rows = {name: row for row, name in enumerate(dict.fromkeys(_names(given)), start=1)}
        if rows:
            glpk.glp_add_rows(self._problem, len(rows))
        glpk.glp_add_cols(self._problem, len(given))
        for row in rows.values():
            glpk.glp_set_row_bnds(self._problem, row, glpk.GLP_FX, 0.0, 0.0)
        for column in given:
            self.bound(column.name, column.low, column.high)
        self._fill(given, rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        glpk.glp_delete_prob(self._problem)

    def bound(self, name: str, low: float, high: float) -> None:
        """Set the bounds of a flux."""
        if low == high:
            kind = glpk.GLP_FX
        elif math.isinf(low):
            kind = glpk.GLP_FR if math.isinf(high) else glpk.GLP_UP
        else:
            kind = glpk.GLP_LO if math.isinf(high) else glpk.GLP_DB
        glpk.glp_set_col_bnds(self._problem, self._number[name], kind, _finite(low), _finite(high))

    def maximum(self, objective: Mapping[str, float]) -> tuple[Outcome, float]:
        """Return the outcome, and the largest value of the objective where it is `optimal`."""
        return self._optimum(objective, glpk.GLP_MAX)

    def minimum(self, objective: Mapping[str, float]) -> tuple[Outcome, float]:
        """Return the outcome, and the smallest value of the objective where it is `optimal`."""
        return self._optimum(objective, glpk.GLP_MIN)

    def flux(self, name: str) -> float:
        """Return a flux of the last optimum."""
        return float(glpk.glp_get_col_prim(self._problem, self._number[name]))

    def fewest(self, switches: Sequence[tuple[str, float]], *, limit_s: float) -> list[str] | None:
        """Return the fewest of the named fluxes that have to be other than zero; None if that is not known in time.

        Each flux must be at least 0. The problem cannot be used afterwards, since a switch is added for each flux.

        Args:
            switches: Names with the largest flux that each may have.
            limit_s: Seconds after which the search ends.
        """
        first_row = glpk.glp_add_rows(self._problem, len(switches))
        first_column = glpk.glp_add_cols(self._problem, len(switches))
        for number in range(1, glpk.glp_get_num_cols(self._problem) + 1):
            glpk.glp_set_obj_coef(self._problem, number, 0.0)
        for offset, (name, largest) in enumerate(switches):
            row, column = first_row + offset, first_column + offset
            glpk.glp_set_col_kind(self._problem, column, glpk.GLP_BV)
            glpk.glp_set_obj_coef(self._problem, column, 1.0)
            glpk.glp_set_row_bnds(self._problem, row, glpk.GLP_UP, 0.0, 0.0)
            places, values = glpk.intArray(3), glpk.doubleArray(3)
            places[1], values[1] = self._number[name], 1.0
            places[2], values[2] = column, -largest
            glpk.glp_set_mat_row(self._problem, row, 2, places, values)
        glpk.glp_set_obj_dir(self._problem, glpk.GLP_MIN)
        options = glpk.glp_iocp()
        glpk.glp_init_iocp(options)
        options.presolve, options.msg_lev = glpk.GLP_ON, glpk.GLP_MSG_OFF
        options.tm_lim = self._milliseconds(limit_s)
        glpk.glp_intopt(self._problem, options)
        if glpk.glp_mip_status(self._problem) not in {glpk.GLP_OPT, glpk.GLP_FEAS}:
            return None
        on = [glpk.glp_mip_col_val(self._problem, first_column + offset) for offset in range(len(switches))]
        return [name for (name, _), value in zip(switches, on, strict=True) if value > 0.5]  # noqa: PLR2004 - 0 or 1

    def _optimum(self, objective: Mapping[str, float], direction: int) -> tuple[Outcome, float]:
        for number in range(glpk.glp_get_num_cols(self._problem) + 1):
            glpk.glp_set_obj_coef(self._problem, number, 0.0)
        for name, weight in objective.items():
            glpk.glp_set_obj_coef(self._problem, self._number[name], weight)
        glpk.glp_set_obj_dir(self._problem, direction)
        outcome = self._solve()
        return outcome, float(glpk.glp_get_obj_val(self._problem)) if outcome == "optimal" else math.nan

    def _solve(self) -> Outcome:
        if time.monotonic() >= self._deadline:
            raise SolverGaveUpError(0)
        options = glpk.glp_smcp()
        glpk.glp_init_smcp(options)
        options.msg_lev = glpk.GLP_MSG_OFF
        options.tm_lim = self._milliseconds(math.inf)
        if not self._solved:
            glpk.glp_adv_basis(self._problem, 0)
        code = glpk.glp_simplex(self._problem, options)
        if code not in {0, *_TIME_LIMITS}:
            # The basis of the last solve may be unsuitable: retry once with a new one.
            glpk.glp_adv_basis(self._problem, 0)
            code = glpk.glp_simplex(self._problem, options)
        if code in _TIME_LIMITS:
            raise SolverGaveUpError(0)
        self._solved = True
        outcome = _OUTCOMES.get(glpk.glp_get_status(self._problem)) if code == 0 else None
        if outcome is None:
            raise SolverGaveUpError(code or -1)
        return outcome

    def _milliseconds(self, limit_s: float) -> int:
        left = min(limit_s, self._deadline - time.monotonic())
        return 2**31 - 1 if math.isinf(left) else max(1, int(left * 1000))

    def _fill(self, columns: Sequence[Column], rows: Mapping[str, int]) -> None:
        triples = [
            (rows[name], number, coefficient)
            for number, column in enumerate(columns, start=1)
            for name, coefficient in column.coefficients.items()
            if coefficient
        ]
        size = len(triples)
        at_row, at_column, values = glpk.intArray(size + 1), glpk.intArray(size + 1), glpk.doubleArray(size + 1)
        for index, (row, number, coefficient) in enumerate(triples, start=1):
            at_row[index], at_column[index], values[index] = row, number, float(coefficient)
        glpk.glp_load_matrix(self._problem, size, at_row, at_column, values)


def _names(columns: Iterable[Column]) -> Iterable[str]:
    return (name for column in columns for name in column.coefficients)


def _finite(bound: float) -> float:
    return 0.0 if math.isinf(bound) else float(bound)

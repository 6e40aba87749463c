"""Gapfilling: select few reactions of a universe that let a model grow on a medium."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from failsoft.tools.flux.work.network import NetworkReaction
from failsoft.tools.flux.work.solver import Column, LinearProblem

GROWS_AT = 1e-6
"""Growth below it is due to the solver's tolerances and counts as 0."""
_AIM_AT_LEAST = 0.1
"""Growth to aim at where less would do: at tiny fluxes, reactions for trace compounds vanish in the tolerances."""
_CARRIES = 1e-8
_MILP_AT_MOST = 1_000
"""Candidates up to which the fewest reactions are searched for; above it that takes seconds to hours."""
_MILP_LIMIT_S = 5.0
_ROUNDS = 3
"""Solves that each make the reactions of the last one cheaper, which leaves fewer of them."""
_FLUX_AT_MOST = 1_000.0


@dataclass(frozen=True, slots=True)
class Filled:
    """The reactions to add, and the growth with them. None, if the model grows without."""

    reactions: tuple[str, ...]
    growth: float


@dataclass(frozen=True, slots=True)
class Unfillable:
    """The target cannot be reached; the largest growth with all candidates."""

    growth_at_most: float


@dataclass(frozen=True, slots=True)
class GapfillProblem:
    """A model on a medium, and what may be added to it.

    Args:
        model: The reactions that are there, exchanges as the medium has them.
        candidates: The reactions that may be added.
        objective: The reaction of the model that makes biomass.
        target: Growth to reach, per hour.
        deadline: When to stop, as `time.monotonic()`.
    """

    model: Mapping[str, NetworkReaction]
    candidates: Mapping[str, NetworkReaction]
    objective: str
    target: float
    deadline: float = math.inf

    def columns(self, *, split: bool = False) -> Iterable[Column]:
        """Yield the fluxes; with `split`, each direction of a candidate is a flux of its own, at least 0."""
        for name, item in self.model.items():
            yield Column(name, item.coefficients, item.low, item.high)
        for name, item in self.candidates.items():
            if not split:
                yield Column(name, item.coefficients, item.low, item.high)
                continue
            if item.high > 0:
                yield Column(forward(name), item.coefficients, max(item.low, 0.0), item.high)
            if item.low < 0:
                reverse = {metabolite: -number for metabolite, number in item.coefficients.items()}
                yield Column(backward(name), reverse, max(-item.high, 0.0), -item.low)


def forward(name: str) -> str:
    """Return the name of a candidate's flux in its own direction."""
    return f"{name}\n+"


def backward(name: str) -> str:
    """Return the name of a candidate's flux against its direction."""
    return f"{name}\n-"


def fill(problem: GapfillProblem, report: Callable[[int, int, str], None] = lambda *_: None) -> Filled | Unfillable:
    """Return the reactions to add, few but not provably the fewest, or why there are none.

    Above some hundred candidates the fewest cannot be found in reasonable time, so the least total flux through
    candidates is; superfluous ones are then removed one by one.

    Args:
        problem: What to fill.
        report: Called with steps done, steps in all, and a description of the next.

    Raises:
        COBRAPY_SOLVER_ERROR: There is no result in time.
    """
    report(0, 4, "Solving with all reactions of the universe")
    with LinearProblem(problem.columns(), deadline=problem.deadline) as everything:
        most = _growth(everything, problem)
        if most < problem.target - GROWS_AT:
            return Unfillable(max(0.0, most))
        with_nothing = _growth_with(everything, problem, ())
        if with_nothing >= problem.target - GROWS_AT:
            return Filled((), with_nothing)
        report(1, 4, "Searching for few reactions")
        found = _least_flux(problem, aim=min(most, max(problem.target, min(_AIM_AT_LEAST, most / 2))))
        if _growth_with(everything, problem, found) < problem.target - GROWS_AT:
            found = list(problem.candidates)  # below the tolerance: prune all, slow but correct
        report(2, 4, "Removing superfluous reactions")
        found = _pruned(everything, problem, found)
        if len(found) > 1 and len(problem.candidates) <= _MILP_AT_MOST:
            found = _fewer(everything, problem, found)
        report(3, 4, "Solving with the reactions that are left")
        return Filled(tuple(found), _growth_with(everything, problem, found))


def _growth(linear: LinearProblem, problem: GapfillProblem) -> float:
    outcome, growth = linear.maximum({problem.objective: 1.0})
    return growth if outcome == "optimal" else math.inf if outcome == "unbounded" else -math.inf


def _growth_with(linear: LinearProblem, problem: GapfillProblem, names: Iterable[str]) -> float:
    """Return the growth with some of the candidates; the others are blocked from then on."""
    open_now = set(names)
    for name, item in problem.candidates.items():
        low, high = (item.low, item.high) if name in open_now else (0.0, 0.0)
        linear.bound(name, low, high)
    return _growth(linear, problem)


def _least_flux(problem: GapfillProblem, *, aim: float) -> list[str]:
    """Return the candidates that carry flux when all of them together carry the least."""
    columns = list(problem.columns(split=True))
    costs = {column.name: 1.0 for column in columns if column.name[-2:] in {"\n+", "\n-"}}
    used: list[str] = []
    with LinearProblem(columns, deadline=problem.deadline) as linear:
        biomass = problem.model[problem.objective]
        linear.bound(problem.objective, aim, biomass.high)
        for _ in range(_ROUNDS):
            outcome, _cost = linear.minimum(costs)
            if outcome != "optimal":
                break
            fluxes = {name: linear.flux(name) for name in costs}
            used = list(dict.fromkeys(name[:-2] for name, flux in fluxes.items() if flux > _CARRIES))
            costs = {name: 1.0 / (flux + 1e-3) for name, flux in fluxes.items()}
    return used


def _pruned(linear: LinearProblem, problem: GapfillProblem, names: Sequence[str]) -> list[str]:
    """Return the reactions that are left when every superfluous one is removed."""
    kept = list(names)
    _growth_with(linear, problem, kept)
    for name in names:
        item = problem.candidates[name]
        linear.bound(name, 0.0, 0.0)
        if _growth(linear, problem) >= problem.target - GROWS_AT:
            kept.remove(name)
        else:
            linear.bound(name, item.low, item.high)
    return kept


def _fewer(linear: LinearProblem, problem: GapfillProblem, found: list[str]) -> list[str]:
    """Return the fewest reactions if they are found in time and reach the target, else those found before."""
    columns = list(problem.columns(split=True))
    switches = [
        (column.name, min(column.high, _FLUX_AT_MOST)) for column in columns if column.name[-2:] in {"\n+", "\n-"}
    ]
    limit_s = min(_MILP_LIMIT_S, (problem.deadline - time.monotonic()) / 2)
    with LinearProblem(columns, deadline=problem.deadline) as search:
        search.bound(problem.objective, problem.target, problem.model[problem.objective].high)
        answer = search.fewest(switches, limit_s=limit_s) if limit_s > 0 else None
    if answer is None:
        return found
    names = list(dict.fromkeys(name[:-2] for name in answer))
    if len(names) < len(found) and _growth_with(linear, problem, names) >= problem.target - GROWS_AT:
        return names
    return found

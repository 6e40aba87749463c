"""Flux balance and flux variability analysis, as tasks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import cobra
from cobra.exceptions import OptimizationError
from cobra.flux_analysis import flux_variability_analysis

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.failures import ObjectiveNotFound
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.diagnosis import infeasible, unbounded
from failsoft.tools.flux.work.exchanges import pose, surroundings_of
from failsoft.tools.flux.work.facts import biomass_reactions, objective_of, oddities
from failsoft.tools.flux.work.making import model_of, similar, unknown_ids
from failsoft.tools.flux.work.network import is_biomass
from failsoft.tools.flux.work.solver import FLUX_NOISE, TROUBLE, ZERO, failure, fluxes_of, limit_time, solve
from failsoft.tools.flux.workers.worker import progress

_EXCHANGES_AT_MOST = 100
_NAMED_AT_MOST = 5
_LISTED_AT_MOST = 20
_FLUX_LIMIT = 1_000.0
_GROWTH_USUAL = (0.1, 2.0)
_GROWTH_AT_MOST = 5.0
_HOURS_FROM = 3.0


@dataclass(frozen=True, slots=True)
class Optimum:
    """What the objective reaches on a medium.

    Args:
        names: The reactions that are optimized.
        value: Their flux, weighted as the model says.
        is_minimum: Whether it is the smallest possible, else the largest.
        is_own: Whether the model itself has this objective and direction.
        warnings: Sentences on the medium and the model.
    """

    names: tuple[str, ...]
    value: float
    is_minimum: bool
    is_own: bool
    warnings: list[str]

    @property
    def objective(self) -> str:
        """The objective, as answers show it."""
        return " + ".join(self.names)


def run_fba(recipe: Recipe, question: Conditions) -> dict[str, Any]:
    """Return the optimum and the fluxes of a model on a medium: a task.

    Args:
        recipe: The model.
        question: On which medium, for which objective.

    Returns:
        `result`, as the operation answers, `is_own` as for `Optimum`, and `warnings`.

    Raises:
        OBJECTIVE_NOT_FOUND: There is nothing to optimize.
        FBA_INFEASIBLE: Nothing meets the bounds, or nothing flows through the objective; with the causes.
        FBA_UNBOUNDED: Nothing bounds the objective.
        COBRAPY_SOLVER_ERROR: The solver gave no answer.
    """
    model = model_of(recipe)
    with model:
        best = optimum(model, recipe, question)
        limiting = _limiting(model)
        total = _least_total_flux(model, best) if question.pfba else None
        fluxes = fluxes_of(model)
        result = _result(model, best, fluxes, question)
    if total is not None:
        result["total_flux"] = total
    result["limiting"] = limiting
    result["interpretation"] = _interpretation(best, limiting)
    return {"result": result, "is_own": best.is_own, "warnings": [*best.warnings, *_implausible(model, best, fluxes)]}


def optimum(model: cobra.Model, recipe: Recipe, question: Conditions) -> Optimum:
    """Apply medium and objective, and return the optimum; call inside `with model:`.

    Raises:
        OBJECTIVE_NOT_FOUND, FBA_INFEASIBLE, FBA_UNBOUNDED, COBRAPY_SOLVER_ERROR: As for `run_fba`.
    """
    names = _objective(model, question)
    own_direction = model.objective_direction
    applied = pose(model, question)
    is_minimum = model.objective_direction == "min"
    is_own = names == objective_of(model) and model.objective_direction == own_direction
    verdict = solve(model)
    if verdict == "unbounded":
        raise unbounded(model, question, names)
    value = float(model.solver.objective.value) if verdict == "optimal" else 0.0
    if abs(value) <= ZERO:
        if verdict != "optimal" or not is_minimum:
            raise infeasible(model, recipe, question, names, verdict, unusable=applied.unused)
        value = 0.0
    return Optimum(names, value, is_minimum, is_own, [*_unused(applied.unused), *applied.warnings, *oddities(model)])


def _limiting(model: cobra.Model) -> list[dict[str, Any]]:
    """Return the uptakes at their bound that would raise the optimum if they were wider."""
    found = []
    for exchange in surroundings_of(model).exchanges:
        reaction = model.reactions.get_by_id(exchange.reaction_id)
        variable = reaction.forward_variable if exchange.is_reversed else reaction.reverse_variable
        is_at_bound = (
            variable.ub is not None and variable.primal > FLUX_NOISE and variable.ub - variable.primal <= FLUX_NOISE
        )
        if is_at_bound and abs(variable.dual) > ZERO:
            found.append((abs(variable.dual), exchange.described(uptake=float(variable.primal))))
    return [facts for _, facts in sorted(found, key=lambda item: -item[0])[:_NAMED_AT_MOST]]


def _least_total_flux(model: cobra.Model, best: Optimum) -> float:
    """Minimize the sum of all fluxes at the optimum, and return it (parsimonious FBA)."""
    expression = model.objective.expression
    model.add_cons_vars([model.problem.Constraint(expression, lb=best.value, ub=best.value, name="failsoft_optimum")])
    model.objective = model.problem.Objective(0, direction="min")
    model.objective.set_linear_coefficients(
        {variable: 1.0 for item in model.reactions for variable in (item.forward_variable, item.reverse_variable)}
    )
    if solve(model) != "optimal":
        raise failure(TROUBLE, "no fluxes keep the optimum within tolerance")
    return float(model.solver.objective.value)


def _interpretation(best: Optimum, limiting: list[dict[str, Any]]) -> str:
    """Return what the optimum means, in one or two sentences."""
    if not any(map(is_biomass, best.names)):
        reached = f"{best.objective} reaches at {'least' if best.is_minimum else 'most'} {best.value:.4g} mmol/gDW/h."
    elif best.value > ZERO:
        doubling = math.log(2) / best.value
        time = f"{doubling * 60:.0f} minutes" if doubling < _HOURS_FROM else f"{doubling:.1f} hours"
        reached = f"The model grows at {best.value:.4g} per hour: it doubles every {time}."
    else:
        reached = "The growth is 0."
    if not limiting:
        return reached
    named = ", ".join(f"{item['name']} ({item['uptake']:.4g} mmol/gDW/h)" for item in limiting)
    return f"{reached} Limiting are the uptakes of {named}."


def _objective(model: cobra.Model, question: Conditions) -> tuple[str, ...]:
    own = objective_of(model)
    if question.objective is None:
        if own:
            return own
        known = biomass_reactions(model)
        raise ObjectiveNotFound(
            message=f'The model "{question.model_id}" has no objective of its own; name the reaction to optimize.',
            model_id=question.model_id,
            objective="",
            similar_ids=known[:_NAMED_AT_MOST],
            suggestions=[f"Biomass reactions of the model: {', '.join(known[:_NAMED_AT_MOST])}"] if known else [],
            next_step=question.again(objective=known[0]) if len(known) == 1 else None,
        )
    if question.objective not in model.reactions:
        closest = similar(question.objective, model.reactions)
        asks_for_growth = is_biomass(question.objective)  # sources of models name their biomass reactions differently
        if asks_for_growth:
            growth = [*filter(is_biomass, closest), *biomass_reactions(model)]
            closest = list(dict.fromkeys([*growth, *closest]))[:_NAMED_AT_MOST]
        raise ObjectiveNotFound(
            model_id=question.model_id,
            objective=question.objective,
            similar_ids=closest,
            suggestions=[f"Reactions with similar ids: {', '.join(closest)}"] if closest else [],
            next_step=question.again(objective=None) if asks_for_growth and any(map(is_biomass, own)) else None,
        )
    return (question.objective,)


def _result(model: cobra.Model, best: Optimum, fluxes: Mapping[str, float], question: Conditions) -> dict[str, Any]:
    uptakes: list[dict[str, Any]] = []
    secretions: list[dict[str, Any]] = []
    for exchange in surroundings_of(model).exchanges:
        flux = fluxes[exchange.reaction_id]
        inward = flux > 0 if exchange.is_reversed else flux < 0
        if abs(flux) > max(question.threshold, FLUX_NOISE):
            (uptakes if inward else secretions).append(exchange.described(flux=flux))
    active = [(name, flux) for name, flux in fluxes.items() if abs(flux) > question.threshold]
    active.sort(key=lambda item: (-round(abs(item[1]), 6), item[0]))  # equal ones differ in the last digits
    shown = active[: question.limit]
    result = {
        "objective": best.objective,
        "objective_value": best.value,
        "status": "optimal",
        "fluxes": dict(shown),
        "num_active_reactions": len(active),
        "fluxes_omitted": len(active) - len(shown),
        "uptakes": sorted(uptakes, key=_size)[:_EXCHANGES_AT_MOST],
        "secretions": sorted(secretions, key=_size)[:_EXCHANGES_AT_MOST],
    }
    if any(map(is_biomass, best.names)):
        result["growth_rate"] = best.value
    return result


def _size(exchange: Mapping[str, Any]) -> float:
    return -abs(float(exchange["flux"]))


def _unused(compounds: Sequence[str]) -> list[str]:
    if not compounds:
        return []
    named = enumerated(compounds, _LISTED_AT_MOST)
    return [f"The model has no exchange for these compounds of the medium, so it cannot use them: {named}."]


def _implausible(model: cobra.Model, best: Optimum, fluxes: Mapping[str, float]) -> list[str]:
    """Return warnings about an implausible solution (seed 002, flux plausibility)."""
    found = []
    if any(map(is_biomass, best.names)):
        low, high = _GROWTH_USUAL
        if best.value > _GROWTH_AT_MOST:
            found.append(f"The biomass flux is {best.value:.4g} per hour; above 5 no organism is known.")
        elif not low <= best.value <= high:
            found.append(f"The growth rate is {best.value:.4g} per hour; usual are 0.1 to 2.")
    large = [name for name, flux in fluxes.items() if abs(flux) > _FLUX_LIMIT + FLUX_NOISE]
    if large:
        found.append(f"{len(large)} fluxes are above 1,000 mmol/gDW/h, such as {', '.join(large[:_NAMED_AT_MOST])}.")
    reversed_ = [
        exchange.reaction_id
        for exchange in surroundings_of(model).exchanges
        if exchange.is_reversed and abs(fluxes[exchange.reaction_id]) > FLUX_NOISE
    ]
    if reversed_:
        named = ", ".join(reversed_[:_NAMED_AT_MOST])
        found.append(f"A positive flux means uptake, against the convention, in these exchanges: {named}.")
    return found


_REPORTED_EACH = 50
_HUGE: Final = 1e7
"""Replaces infinite bounds, where a flux has no limit."""
_NEARLY: Final = 0.1
"""The part of it from which on a flux has none: in a loop one may be a multiple of another."""


def run_fva(recipe: Recipe, question: Conditions, fraction: float, names: Sequence[str] | None) -> dict[str, Any]:
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
        best = optimum(model, recipe, question)
        share = fraction if best.is_minimum is (best.value <= 0) else 2 - fraction
        for start in range(0, len(wanted), _REPORTED_EACH):
            progress(start, len(wanted), "Solving for each reaction")
            some = wanted[start : start + _REPORTED_EACH]
            ranges += [(name, *ends) for name, ends in zip(some, _ranges(model, some, share), strict=True)]
    fixed = sum(low is not None and high is not None and high - low <= FLUX_NOISE for _, low, high in ranges)
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
    return 0.0 if abs(value) <= ZERO / 100 else float(value)


def _unless_huge(value: float) -> float | None:
    return None if abs(value) >= _HUGE * _NEARLY else value

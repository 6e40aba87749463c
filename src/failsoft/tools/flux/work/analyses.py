"""Analyses of a model by cobra, as tasks: flux balance, flux variability, and single deletions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

import cobra
from cobra.exceptions import OptimizationError
from cobra.flux_analysis import flux_variability_analysis, pfba, single_gene_deletion, single_reaction_deletion
from optlang import interface

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.text import enumerated
from failsoft.jobs.processes.worker import progress
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.diagnosis import infeasible, unbounded
from failsoft.tools.flux.work.exchanges import apply_conditions, exchanges_of
from failsoft.tools.flux.work.facts import model_warnings, objective_for, objective_of
from failsoft.tools.flux.work.making import gene_ids, gene_names, model_of, unknown_ids
from failsoft.tools.flux.work.network import is_biomass
from failsoft.tools.flux.work.solver import FLUX_NOISE, fluxes_of, gave_up, limit_time, rounded, solve, solve_for_traces

Kind = Literal["genes", "reactions"]
_EXCHANGES_AT_MOST = 100
_NAMED_AT_MOST = 5
_TRIED_AT_MOST = 20
_REPORTED_EACH = 50
_FLUX_LIMIT = 1_000.0
_GROWTH_USUAL = (0.1, 2.0)
_GROWTH_AT_MOST = 5.0
_HOURS_FROM = 3.0
_HUGE: Final = 1e7
"""Replaces infinite bounds; from a tenth on, a flux has no limit: in a loop one may be a multiple of another."""
_DELETIONS: Final[Mapping[Kind, Callable[..., Any]]] = {
    "genes": single_gene_deletion,
    "reactions": single_reaction_deletion,
}


@dataclass(frozen=True, slots=True)
class Optimum:
    """What the objective reaches on a medium.

    Args:
        names: The reactions that are optimized.
        value: The sum of their fluxes, weighted as the model says.
        growth: The flux of those that make biomass, per hour; None if none does.
        is_minimum: Whether the value is the smallest possible, else the largest.
        is_own: Whether the model itself has this objective and direction.
        warnings: Sentences on the medium and the model.
    """

    names: tuple[str, ...]
    value: float
    growth: float | None
    is_minimum: bool
    is_own: bool
    warnings: list[str]

    @property
    def objective(self) -> str:
        """The objective, as answers show it."""
        return " + ".join(self.names)


def run_fba(recipe: Recipe, conditions: Conditions) -> dict[str, Any]:
    """Return the optimum and the fluxes of a model on a medium: a task.

    Args:
        recipe: The model.
        conditions: On which medium, for which objective.

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
        best = optimum(model, recipe, conditions)
        fluxes = fluxes_of(model)
        limiting = list(islice(_limiting(model, best), _NAMED_AT_MOST))
        total = {}
        if conditions.pfba:
            fluxes, total["total_flux"] = parsimonious(model)
    active = [(name, flux) for name, flux in fluxes.items() if abs(flux) > conditions.threshold]
    active.sort(key=lambda item: (-round(abs(item[1]), 6), item[0]))  # equal ones differ in the last digits
    result = {
        "objective": best.objective,
        "objective_value": best.value,
        **({} if best.growth is None else {"growth_rate": best.growth}),
        "status": "optimal",
        "fluxes": dict(active[: conditions.limit]),
        "num_active_reactions": len(active),
        "fluxes_omitted": max(0, len(active) - conditions.limit),
        **_exchanged(model, fluxes, conditions.threshold),
        **total,
        "limiting": limiting,
        "interpretation": _interpretation(best, limiting),
    }
    return {"result": result, "is_own": best.is_own, "warnings": [*best.warnings, *_implausible(model, best, fluxes)]}


def run_fva(recipe: Recipe, conditions: Conditions, fraction: float, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the range of each flux while the objective keeps a fraction of its optimum: a task.

    That leaves the objective between its optimum and a value that is worse by the rest of the optimum's size: with 0.9
    between 10 and 9 for a maximum, between 10 and 11 for a minimum, for which cobra's own factor would leave nothing.

    Args:
        recipe: The model.
        conditions: On which medium.
        fraction: Of the optimum, from 0 to 1.
        names: Which reactions; all of the model if left out.

    Raises:
        INVALID_PARAM: Reactions that the model does not have.
        FBA_INFEASIBLE, FBA_UNBOUNDED: There is no optimum to be near to.
        COBRAPY_SOLVER_ERROR: The solver found no range.
    """
    model = model_of(recipe)
    wanted = _wanted(model, "reactions", names)
    results: list[dict[str, Any]] = []
    with model:
        best = optimum(model, recipe, conditions)
        share = fraction if best.is_minimum is (best.value <= 0) else 2 - fraction
        for reaction in model.reactions:
            low, high = reaction.bounds
            if math.isinf(low) or math.isinf(high):
                reaction.bounds = max(low, -_HUGE), min(high, _HUGE)
        for some in _reported(wanted, "Solving for each reaction"):
            ranges = _ranges(model, some, share)
            results += [{"reaction_id": name, "minimum": low, "maximum": high} for name, low, high in ranges]
    fixed = [item for item in results if None not in item.values() and item["maximum"] - item["minimum"] <= FLUX_NOISE]
    result = {"objective": best.objective, "objective_value": best.value, "fraction": fraction, "results": results}
    return {"result": {**result, "num_fixed": len(fixed)}, "warnings": best.warnings}


def delete(recipe: Recipe, conditions: Conditions, kind: Kind, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the growth without each gene or reaction, one at a time: a task.

    A deletion of which no reaction has a flux at the optimum leaves that optimum as it is, so it is not solved.

    Args:
        recipe: The model.
        conditions: On which medium.
        kind: What is deleted.
        names: Which; all of the model if left out. Genes may be given by name.

    Raises:
        INVALID_PARAM: Genes or reactions that the model does not have.
        FBA_INFEASIBLE: The model does not grow without any deletion.
        COBRAPY_SOLVER_ERROR: The solver gave no answer for a deletion.
    """
    model = model_of(recipe)
    wanted = _wanted(model, kind, names)
    with model:
        best = optimum(model, recipe, conditions)
        growth: dict[str, float | None] = dict.fromkeys(wanted, best.value)
        for some in _reported(_changing(model, kind, wanted), f"Deleting {kind}"):
            growth |= _growth_without(model, kind, some)
    results = [_deletion(model, best, kind, name, value) for name, value in growth.items()]
    counted = {"growth_without_deletion": best.value, "num_lethal": sum("is_lethal" in item for item in results)}
    return {"result": {"objective": best.objective, **counted, "results": results}, "warnings": best.warnings}


def optimum(model: cobra.Model, recipe: Recipe, conditions: Conditions) -> Optimum:
    """Apply medium and objective, and return the optimum; call inside `with model:`.

    Raises:
        OBJECTIVE_NOT_FOUND, FBA_INFEASIBLE, FBA_UNBOUNDED, COBRAPY_SOLVER_ERROR: As for `run_fba`.
    """
    names = objective_for(model, conditions)
    own_direction = model.objective_direction
    applied = apply_conditions(model, conditions)
    is_minimum = model.objective_direction == "min"
    is_own = names == objective_of(model) and model.objective_direction == own_direction
    verdict = solve(model)
    if verdict == "unbounded":
        raise unbounded(model, conditions, names)
    if verdict == "optimal":
        solve_for_traces(model)
    value = rounded(model.solver.objective.value) if verdict == "optimal" else 0.0
    if verdict != "optimal" or not (value or is_minimum):
        raise infeasible(model, recipe, conditions, names, verdict, unusable=applied.unused)
    biomass = [model.reactions.get_by_id(name) for name in names if is_biomass(name)]
    growth = rounded(sum(item.forward_variable.primal - item.reverse_variable.primal for item in biomass))
    said = [*applied.warnings, *model_warnings(model)]
    return Optimum(names, value, growth if biomass else None, is_minimum, is_own, said)


def _limiting(model: cobra.Model, best: Optimum) -> Iterator[dict[str, Any]]:
    """Yield the uptakes that hold the optimum down: at their bound, and with more of them it is better.

    A reduced cost in the right direction is necessary for that, but not sufficient, so each is tried at twice the rate.
    """
    better = -1.0 if best.is_minimum else 1.0
    found = []
    for exchange in exchanges_of(model).exchanges:
        reaction = model.reactions.get_by_id(exchange.reaction_id)
        variable = reaction.forward_variable if exchange.is_reversed else reaction.reverse_variable
        is_at_bound = variable.ub is not None and FLUX_NOISE < variable.primal >= variable.ub - FLUX_NOISE
        if is_at_bound and better * variable.dual > FLUX_NOISE:
            found.append((abs(variable.dual), variable.primal, reaction, exchange))
    for _, uptake, reaction, exchange in sorted(found, key=lambda item: -item[0])[:_TRIED_AT_MOST]:
        low, high = reaction.bounds
        with model:
            reaction.bounds = (low, 2 * high) if exchange.is_reversed else (2 * low, high)
            verdict = solve(model)
            is_true = verdict == "unbounded" or better * (model.solver.objective.value - best.value) > FLUX_NOISE
        if is_true:
            yield exchange.described(uptake=rounded(uptake))


def parsimonious(model: cobra.Model) -> tuple[dict[str, float], float]:
    """Return the fluxes with the smallest sum at the optimum, and that sum."""
    limit_time(model)
    try:
        solution = pfba(model)
    except OptimizationError:
        raise gave_up(model.solver.status) from None
    return {name: rounded(flux) for name, flux in solution.fluxes.items()}, rounded(solution.objective_value)


def _exchanged(model: cobra.Model, fluxes: Mapping[str, float], threshold: float) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"uptakes": [], "secretions": []}
    for exchange in exchanges_of(model).exchanges:
        flux = fluxes[exchange.reaction_id]
        if abs(flux) > max(threshold, FLUX_NOISE):
            kind = "uptakes" if (flux > 0) is exchange.is_reversed else "secretions"
            found[kind].append(exchange.described(flux=flux))
    for items in found.values():
        items.sort(key=lambda item: -abs(item["flux"]))
        del items[_EXCHANGES_AT_MOST:]
    return found


def _interpretation(best: Optimum, limiting: list[dict[str, Any]]) -> str:
    """Return what the optimum means, in one or two sentences."""
    least = "least" if best.is_minimum else "most"
    if best.growth is None:
        reached = f"{best.objective} reaches at {least} {best.value:.4g} mmol/gDW/h."
    elif best.growth:
        doubling = math.log(2) / best.growth
        time = f"{doubling * 60:.0f} minutes" if doubling < _HOURS_FROM else f"{doubling:.1f} hours"
        rate = "at least at" if best.is_minimum else "at"
        reached = f"The model grows {rate} {best.growth:.4g} per hour: it doubles every {time}."
    else:
        reached = "The growth is 0."
    named = ", ".join(f"{item['name']} ({item['uptake']:.4g} mmol/gDW/h)" for item in limiting)
    return f"{reached} Limiting are the uptakes of {named}." if named else reached


def _implausible(model: cobra.Model, best: Optimum, fluxes: Mapping[str, float]) -> list[str]:
    """Return warnings about an implausible solution (seed 002, flux plausibility)."""
    found = []
    if best.growth is not None:
        if best.growth > _GROWTH_AT_MOST:
            found.append(f"The biomass flux is {best.growth:.4g} per hour; above 5 no organism is known.")
        elif not _GROWTH_USUAL[0] <= best.growth <= _GROWTH_USUAL[1]:
            found.append(f"The growth rate is {best.growth:.4g} per hour; usual are 0.1 to 2.")
    large = [name for name, flux in fluxes.items() if abs(flux) > _FLUX_LIMIT + FLUX_NOISE]
    if large:
        found.append(f"{len(large)} fluxes are above 1,000 mmol/gDW/h, such as {', '.join(large[:_NAMED_AT_MOST])}.")
    turned = [item.reaction_id for item in exchanges_of(model).exchanges if item.is_reversed]
    turned = [name for name in turned if fluxes[name]]
    if turned:
        named = enumerated(turned, _NAMED_AT_MOST)
        found.append(f"A positive flux means uptake, against the convention, in these exchanges: {named}.")
    return found


def _wanted(model: cobra.Model, kind: Kind, names: Sequence[str] | None) -> list[str]:
    """Return the ids that are asked for, all of the model if none are named, each once."""
    known = model.genes if kind == "genes" else model.reactions
    if names is None:
        return [item.id for item in known]
    ids = gene_ids(model, names) if kind == "genes" else list(names)
    violations = unknown_ids(kind, ids, known, kind.removesuffix("s"))
    if violations:
        raise InvalidParameter.from_violations(violations)
    return list(dict.fromkeys(ids))


def _reported(names: Sequence[str], doing: str) -> Iterator[Sequence[str]]:
    """Yield the names, some at a time, and report the progress."""
    for start in range(0, len(names), _REPORTED_EACH):
        progress(start, len(names), doing)
        yield names[start : start + _REPORTED_EACH]


def _ranges(model: cobra.Model, names: Sequence[str], share: float) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the lowest and the highest flux of each reaction; None where it has no limit."""
    limit_time(model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # which is all that cobra does about a range it did not find
            frame = flux_variability_analysis(model, list(names), fraction_of_optimum=share, processes=1)
    except (OptimizationError, UserWarning):
        raise gave_up(model.solver.status) from None
    for name, *ends in frame.itertuples():
        low, high = (None if abs(end) >= _HUGE / 10 else rounded(end) for end in ends)
        yield name, low, high


def _changing(model: cobra.Model, kind: Kind, names: Sequence[str]) -> list[str]:
    """Return the deletions that may stop a reaction with a flux in the solution that was found last."""
    primal = model.solver.primal_values
    active = {item.id for item in model.reactions if primal[item.id] != primal[item.reverse_id]}
    if kind == "reactions":
        return [name for name in names if name in active]
    return [name for name in names if any(item.id in active for item in model.genes.get_by_id(name).reactions)]


def _growth_without(model: cobra.Model, kind: Kind, names: Sequence[str]) -> dict[str, float | None]:
    """Return the growth without each, None where no fluxes meet the bounds."""
    limit_time(model)
    found: dict[str, float | None] = {}
    for ids, growth, status in _DELETIONS[kind](model, names, processes=1).itertuples(index=False):
        if status not in {interface.OPTIMAL, interface.INFEASIBLE}:
            raise gave_up(status)
        (name,) = ids
        found[name] = rounded(growth) if status == interface.OPTIMAL else None
    return found


def _deletion(model: cobra.Model, best: Optimum, kind: Kind, name: str, growth: float | None) -> dict[str, Any]:
    entity = (model.genes if kind == "genes" else model.reactions).get_by_id(name)
    called = next(iter(gene_names(entity) if kind == "genes" else [entity.name]), "")
    is_lethal = growth is None or not (growth or best.is_minimum)
    return {
        "id": name,
        **({"name": called} if called and called != name else {}),
        "growth": growth or 0.0,
        **({"is_lethal": True} if is_lethal else {}),
    }

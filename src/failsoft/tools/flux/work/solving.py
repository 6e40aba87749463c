"""Flux balance analysis, as a task: the model grows on the medium, or it is said why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cobra

from failsoft.tools.flux.question import Question
from failsoft.tools.flux.recipes import Recipe
from failsoft.tools.flux.solving_errors import ObjectiveNotFound
from failsoft.tools.flux.work.diagnosis import infeasible, unbounded
from failsoft.tools.flux.work.exchanges import apply_medium, surroundings_of
from failsoft.tools.flux.work.facts import biomass_reactions, is_biomass, objective_of, oddities
from failsoft.tools.flux.work.models import model_of
from failsoft.tools.flux.work.modifying import similar
from failsoft.tools.flux.work.solver import ZERO, fluxes_of, solve

__all__ = ["run_fba"]

_EXCHANGES_AT_MOST = 100
_NAMED_AT_MOST = 5
_FLUX_LIMIT = 1_000.0
_GROWTH_USUAL = (0.1, 2.0)
_GROWTH_AT_MOST = 5.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """A solution: the optimum, the fluxes, and which of them are exchanges."""

    value: float
    fluxes: Mapping[str, float]


def run_fba(recipe: Recipe, question: Question) -> dict[str, Any]:
    """Return the optimum and the fluxes of a model on a medium: a task.

    Args:
        recipe: The model.
        question: On which medium, for which objective.

    Returns:
        `result`, as the operation answers, and `warnings`.

    Raises:
        OBJECTIVE_NOT_FOUND: There is nothing to optimize.
        FBA_INFEASIBLE: Nothing meets the bounds, or nothing flows through the objective; with the causes.
        FBA_UNBOUNDED: Nothing bounds the objective.
        COBRAPY_SOLVER_ERROR: The solver gave no answer.
    """
    model = model_of(recipe)
    names = _objective(model, question)
    unknown: list[str] = []
    with model:
        if question.objective is not None:
            model.objective = question.objective
        if question.compounds is not None:
            unknown = apply_medium(model, question.compounds)
        verdict = solve(model, twice=True)
        if verdict == "unbounded":
            raise unbounded(model, question, names)
        value = model.solver.objective.value if verdict == "optimal" else 0.0
        if abs(value) <= ZERO:
            raise infeasible(model, question, names, verdict, unusable=unknown)
        answer = _Answer(value, fluxes_of(model))
        warnings = [*_unknown_compounds(unknown), *_implausible(model, names, answer), *oddities(model)]
        return {"result": _result(model, names, answer, question), "warnings": warnings}


def _objective(model: cobra.Model, question: Question) -> tuple[str, ...]:
    own = objective_of(model)
    if question.objective is None:
        if own:
            return own
        known = biomass_reactions(model)
        raise ObjectiveNotFound(
            message=f"The model '{question.model_id}' has no objective of its own: name the reaction to optimize.",
            model_id=question.model_id,
            objective="",
            similar_ids=known[:_NAMED_AT_MOST],
            next_step=question.again(objective=known[0]) if known else None,
        )
    if question.objective not in model.reactions:
        closest = similar(question.objective, model.reactions)
        if is_biomass(question.objective):  # every source of models has its own name for growth
            growth = [*filter(is_biomass, closest), *biomass_reactions(model)]
            closest = list(dict.fromkeys([*growth, *closest]))[:_NAMED_AT_MOST]
        raise ObjectiveNotFound(
            model_id=question.model_id,
            objective=question.objective,
            similar_ids=closest,
            suggestions=[f"Did you mean '{closest[0]}'?"] if closest else [],
            next_step=question.again(objective=closest[0]) if closest else None,
        )
    return (question.objective,)


def _result(model: cobra.Model, names: tuple[str, ...], answer: _Answer, question: Question) -> dict[str, Any]:
    uptakes: list[dict[str, Any]] = []
    secretions: list[dict[str, Any]] = []
    for exchange in surroundings_of(model).exchanges:
        flux = answer.fluxes[exchange.reaction_id]
        inward = flux > 0 if exchange.is_reversed else flux < 0
        if abs(flux) > max(question.threshold, ZERO):
            (uptakes if inward else secretions).append(exchange.described(flux=flux))
    active = [(name, flux) for name, flux in answer.fluxes.items() if abs(flux) > question.threshold]
    active.sort(key=lambda item: (-round(abs(item[1]), 6), item[0]))  # equal ones differ in the last digits
    shown = active[: question.limit]
    result = {
        "objective": " + ".join(names),
        "objective_value": answer.value,
        "status": "optimal",
        "fluxes": dict(shown),
        "num_active_reactions": len(active),
        "fluxes_omitted": len(active) - len(shown),
        "uptakes": sorted(uptakes, key=_size)[:_EXCHANGES_AT_MOST],
        "secretions": sorted(secretions, key=_size)[:_EXCHANGES_AT_MOST],
    }
    if any(map(is_biomass, names)):
        result["growth_rate"] = answer.value
    return result


def _size(exchange: Mapping[str, Any]) -> float:
    return -abs(float(exchange["flux"]))


def _unknown_compounds(unknown: list[str]) -> list[str]:
    if not unknown:
        return []
    named = ", ".join(unknown[:20]) + (f" and {len(unknown) - 20} more" if len(unknown) > 20 else "")  # noqa: PLR2004 - as many as are read
    return [f"The model has no exchange for these compounds of the medium, so it cannot use them: {named}."]


def _implausible(model: cobra.Model, names: tuple[str, ...], answer: _Answer) -> list[str]:
    """Return sentences on a solution that no organism would show (seed 002, flux plausibility)."""
    found = []
    if any(map(is_biomass, names)):
        low, high = _GROWTH_USUAL
        if answer.value > _GROWTH_AT_MOST:
            found.append(f"The biomass flux is {answer.value:.4g} per hour; above 5 no organism is known.")
        elif not low <= answer.value <= high:
            found.append(f"The growth rate is {answer.value:.4g} per hour; usual are 0.1 to 2.")
    large = [name for name, flux in answer.fluxes.items() if abs(flux) > _FLUX_LIMIT + ZERO]
    if large:
        found.append(f"{len(large)} fluxes are above 1,000 mmol/gDW/h, such as {', '.join(large[:_NAMED_AT_MOST])}.")
    reversed_ = [
        exchange.reaction_id
        for exchange in surroundings_of(model).exchanges
        if exchange.is_reversed and abs(answer.fluxes[exchange.reaction_id]) > ZERO
    ]
    if reversed_:
        named = ", ".join(reversed_[:_NAMED_AT_MOST])
        found.append(f"A positive flux means uptake, against all custom, in these exchanges: {named}.")
    return found

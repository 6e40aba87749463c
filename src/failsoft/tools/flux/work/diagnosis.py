"""Why an objective does not flow: changes of the modeller, uptakes, contradictions, gaps; and why it has no limit."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import cobra
from cobra.util.solver import linear_reaction_coefficients

from failsoft.framework.errors import NextStep
from failsoft.framework.text import enumerated
from failsoft.jobs.processes.worker import call_deadline
from failsoft.tools.flux.conditions import OPEN, ORGANIC_UPTAKE, Conditions, bounds_from_json, bounds_to_json, extended
from failsoft.tools.flux.failures import CobrapySolverError, FbaInfeasible, FbaUnbounded
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.changes import History, Undone, is_filling
from failsoft.tools.flux.work.exchanges import apply_conditions, exchanges_of
from failsoft.tools.flux.work.network import is_biomass, network_of
from failsoft.tools.flux.work.shortage import USUAL, Shortage, shortage_of
from failsoft.tools.flux.work.solver import FLUX_NOISE, ZERO, Verdict, fluxes_of, solve

_HUGE: Final = 1e5
"""Replaces infinite bounds, to find the fluxes that reach it."""
_LISTED_AT_MOST = 20
_NAMED_AT_MOST = 5
_TIME_KEPT_S = 2.0
_SEARCHED_S = 10.0
"""Seconds after which the search for causes ends; the result itself is certain."""
_REPLACED_FROM = 0.5
"""The part of the objective's carbon from which on nutrients replace a source that the model should be able to use."""
_KEPT: Final = 0.1
"""The part of the objective, as it is without forced fluxes, that their relaxation leaves room for."""
_OXYGEN: Final = "cpd00007"


@dataclass(frozen=True, slots=True)
class _Causes:
    """Why an objective does not flow; the first that is there counts.

    Args:
        undone: The changes without which it would; if they force a flux, with `contradictions`.
        shut: The reactions to optimize, if all are blocked by their own bounds.
        gaps: Parts that the model cannot make; gap filling is the remedy.
        nutrients: Uptakes with which it would.
        contradictions: Forced fluxes that cannot be met.
    """

    undone: Undone | None = None
    shut: Sequence[str] = ()
    gaps: Sequence[Mapping[str, Any]] = ()
    nutrients: Sequence[Mapping[str, Any]] = ()
    contradictions: Sequence[Mapping[str, Any]] = ()


def infeasible(
    model: cobra.Model,
    recipe: Recipe,
    conditions: Conditions,
    names: tuple[str, ...],
    verdict: Verdict,
    *,
    unusable: Sequence[str],
) -> FbaInfeasible:
    """Return the error for an objective without flux, with the causes; call inside `with model:`.

    Args:
        model: With the medium and the objective applied.
        recipe: What the model is made of.
        conditions: Medium and objective.
        names: The reactions that are optimized.
        verdict: How the solver ended.
        unusable: Compounds of the medium that the model has no exchange for.
    """
    history = History(recipe, conditions)
    undone = None
    with suppress(CobrapySolverError):
        undone = history.culprits(_deadline())
    if undone is not None:
        causes = _Causes(undone, contradictions=_contradictions(model) if undone.is_forced else ())
    elif history.changes:  # they are not the only cause: what else is missing shows without them
        with history.without(history.changes) as before:
            apply_conditions(before, conditions)
            causes = _causes(before, conditions, names, solve(before), is_draft=_is_draft(recipe))
    else:
        causes = _causes(model, conditions, names, verdict, is_draft=_is_draft(recipe))
    why, advice, step = _answer(model, conditions, names, causes)
    where = f"on '{conditions.media_id}'" if conditions.media_id is not None else "with its own bounds"
    subject = "The growth is 0: nothing" if any(map(is_biomass, names)) else "Nothing"
    return FbaInfeasible(
        message=f"{subject} flows through '{' + '.join(names)}' in the model '{conditions.model_id}' {where}{why}.",
        model_id=conditions.model_id,
        media_id=conditions.media_id,
        objective=" + ".join(names),
        solver_status=verdict,
        num_reactions=len(model.reactions),
        num_metabolites=len(model.metabolites),
        num_exchange_reactions=len(exchanges_of(model).exchanges),
        changes=list(undone.changes) if undone is not None else None,
        missing_uptakes=[dict(item) for item in causes.nutrients] or None,
        contradictions=[dict(item) for item in causes.contradictions] or None,
        blocked_precursors=[dict(item) for item in causes.gaps] or None,
        unusable_compounds=list(unusable[:_LISTED_AT_MOST]) or None,
        suggestions=[advice],
        next_step=step,
    )


def forced(model: cobra.Model, conditions: Conditions, objective: str) -> tuple[str, str, NextStep | None] | None:
    """Return cause, advice and step as `infeasible` does, if forced fluxes cannot be met; use inside `with model:`."""
    found = _contradictions(model)
    return _answer(model, conditions, (objective,), _Causes(contradictions=found)) if found else None


def unbounded(model: cobra.Model, conditions: Conditions, names: tuple[str, ...]) -> FbaUnbounded:
    """Return the error for an objective without a limit, naming the reactions without one; use inside `with model:`."""
    endless = [reaction for reaction in model.reactions if any(map(math.isinf, reaction.bounds))]
    for reaction in endless:
        low, high = reaction.bounds
        reaction.bounds = max(low, -_HUGE), min(high, _HUGE)
    found: list[str] = []
    if solve(model) == "optimal":
        fluxes = fluxes_of(model)
        found = [reaction.id for reaction in endless if abs(fluxes[reaction.id]) > _HUGE / 2]
    found = (found or [reaction.id for reaction in endless])[:_LISTED_AT_MOST]
    bounds = {name: [0.0 if model.reactions.get_by_id(name).lower_bound >= 0 else -OPEN, OPEN] for name in found}
    return FbaUnbounded(
        model_id=conditions.model_id,
        media_id=conditions.media_id,
        objective=" + ".join(names),
        unlimited_reactions=found,
        next_step=NextStep("modify_model", {"model_id": conditions.model_id, "bounds": bounds}),
    )


def _causes(
    model: cobra.Model, conditions: Conditions, names: tuple[str, ...], verdict: Verdict, *, is_draft: bool
) -> _Causes:
    """Find the causes, in order: blocked objectives, gaps or missing uptakes, and forced fluxes that cannot be met."""
    shut = [name for name in names if model.reactions.get_by_id(name).bounds == (0, 0)]
    if verdict == "optimal" and len(shut) == len(names):
        return _Causes(shut=shut)  # neither nutrients nor other reactions open those
    found = _shortage(model, conditions)
    lacks_reactions = any(item["missing"] == "reactions" for item in found.precursors)
    unusual = {item.get("compound_id", "") for item in found.nutrients} - (
        USUAL.keys() - {_OXYGEN} if is_draft else USUAL.keys()
    )
    is_substitute = bool(unusual) and (is_draft or found.carbon_ratio > _REPLACED_FROM)
    if any(map(is_biomass, names)) and (lacks_reactions or is_substitute):
        return _Causes(gaps=found.precursors)
    if found.nutrients:
        return _Causes(nutrients=found.nutrients)
    contradictions = _contradictions(model)
    return _Causes(contradictions=contradictions, gaps=() if contradictions else found.precursors)


def _is_draft(recipe: Recipe) -> bool:
    """Return whether a model was built or gap filled here: then it lacks reactions sooner than a medium nutrients."""
    return "template" in recipe.base or any(map(is_filling, recipe.steps))


def _shortage(model: cobra.Model, conditions: Conditions) -> Shortage:
    """Return what a model lacks, but for what the medium excludes: `[0, 1000]` is a condition, and no oversight."""
    network, index = network_of(model), exchanges_of(model)
    names = network.reactions.keys() - index.excluded_by(conditions.medium)
    offered = {item.reaction_id: item for item in index.exchanges if item.reaction_id in names}
    bounds = {name: item.oriented(*model.reactions.get_by_id(name).bounds) for name, item in offered.items()}
    with suppress(CobrapySolverError):
        return shortage_of(
            network.metabolites,
            network.reactions,
            {item.id: float(weight) for item, weight in linear_reaction_coefficients(model).items()},
            {next(iter(network.reactions[name].coefficients)): name for name in offered},
            {name: item.compound for name, item in offered.items()},
            free=[name for name, (low, _) in bounds.items() if low < -ZERO],
            deadline=_deadline(),
        )
    return Shortage()


def _contradictions(model: cobra.Model) -> list[Mapping[str, Any]]:
    """Return the forced fluxes whose bounds cannot all be met, and fluxes that could: by the least relaxation.

    If there is an objective to maximize that flows without the bounds that force fluxes, a part of that is kept.
    """
    forced = [reaction for reaction in model.reactions if reaction.lower_bound > 0 or reaction.upper_bound < 0]
    wanted = {reaction.id: reaction.bounds for reaction in forced}
    with model:
        prices: dict[Any, float] = {}
        for reaction in forced:
            low, high = wanted[reaction.id]
            reaction.bounds = min(low, 0.0), max(high, 0.0)
            lack = model.problem.Variable(f"failsoft_lack_{reaction.id}", lb=0)
            short = reaction.flux_expression + lack if low > 0 else reaction.flux_expression - lack
            bounds = {"lb": low} if low > 0 else {"ub": high}
            model.add_cons_vars([lack, model.problem.Constraint(short, name=f"failsoft_met_{reaction.id}", **bounds)])
            prices[lack] = 1.0
        if not forced or solve(model) != "optimal":
            return []
        if model.objective_direction == "max" and (best := model.objective.value) > ZERO:
            kept = model.problem.Constraint(model.objective.expression, name="failsoft_kept", lb=_KEPT * best)
            model.add_cons_vars([kept])
        model.objective = model.problem.Objective(0, direction="min")
        model.objective.set_linear_coefficients(prices)
        if solve(model) != "optimal":
            return []
        fluxes = fluxes_of(model)
        found: list[Mapping[str, Any]] = [
            {
                "reaction_id": name,
                "name": model.reactions.get_by_id(name).name,
                "bounds": bounds_to_json(low, high),
                "possible": round(fluxes[name], 6),
            }
            for name, (low, high) in wanted.items()
            if fluxes[name] < low - FLUX_NOISE or fluxes[name] > high + FLUX_NOISE
        ]
        return found[:_LISTED_AT_MOST]


def _deadline() -> float:
    return min(time.monotonic() + _SEARCHED_S, call_deadline() - _TIME_KEPT_S)


def _answer(
    model: cobra.Model, conditions: Conditions, names: tuple[str, ...], causes: _Causes
) -> tuple[str, str, NextStep | None]:
    """Return the cause as the end of a sentence, what to do about it, and the call that does it."""
    model_id = {"model_id": conditions.model_id}
    is_growth = any(map(is_biomass, names))
    is_fillable = is_growth and conditions.medium is not None
    filling = NextStep("gapfill_model", {**model_id, "media_id": conditions.media_id}) if is_fillable else None
    restored = causes.undone.restored if causes.undone is not None else None
    if causes.undone is not None and not causes.contradictions:
        changes = causes.undone.changes
        is_lethal = is_growth and len(changes) == 1 and changes[0]["change"] != "bounds"
        why = f": {causes.undone} is lethal" if is_lethal else f"; it would without {causes.undone}"
        step = filling if restored is None else NextStep("modify_model", model_id | restored)
        return (
            why,
            "If that is not the result you want, undo it with modify_model, or fill the gap with gapfill_model",
            step,
        )
    if causes.shut:
        advice = "Give the objective other bounds with modify_model, or use another objective"
        return f": the bounds [0, 0] block {', '.join(causes.shut)}", advice, None
    if causes.nutrients:
        named = (f"{item['name']} ({item.get('compound_id', item['exchange'])})" for item in causes.nutrients)
        how = "modify_model" if conditions.medium is None else "build_media"
        advice = f"Allow the missing uptakes with {how}, then call again"
        return f": it lacks the uptake of {', '.join(named)}", advice, _feeding(model, conditions, causes.nutrients)
    if causes.contradictions:
        named = (
            f"{item['reaction_id']} within {item['bounds']} (possible: {item['possible']:g})"
            for item in causes.contradictions
        )
        step = NextStep("modify_model", model_id | restored) if restored else _relaxing(model, conditions, causes)
        advice = f"Relax the forced fluxes with {step.tool}, then call again"
        return f": these fluxes are forced and cannot be met: {', '.join(named)}", advice, step
    if causes.gaps:
        parts = enumerated([item["name"] for item in causes.gaps], _NAMED_AT_MOST)
        advice = "Add the missing reactions with gapfill_model, or take another medium or objective"
        return f": it lacks reactions that make {parts}", advice, filling
    return "", "Use another objective or another medium", None


def _feeding(model: cobra.Model, conditions: Conditions, nutrients: Sequence[Mapping[str, Any]]) -> NextStep | None:
    """Return the call that lets nutrients in; None if a medium cannot name them."""
    index = exchanges_of(model)
    names = {item["exchange"] for item in nutrients}
    if conditions.medium is None:
        wide = {item.reaction_id: list(item.oriented(-ORGANIC_UPTAKE, OPEN)) for item in index.exchanges}
        opened = {name: wide[name] for name in wide if name in names}
        return NextStep("modify_model", {"model_id": conditions.model_id, "bounds": opened})
    new = [str(item["compound_id"]) for item in nutrients if "compound_id" in item]
    if conditions.medium.others is not None or len(new) < len(nutrients):
        return None
    renamed = [name for name, item in index.by_compound.items() if item.reaction_id in names]
    return NextStep("build_media", extended(conditions.medium, new, without=renamed))


def _relaxing(model: cobra.Model, conditions: Conditions, causes: _Causes) -> NextStep:
    """Return the call that relaxes forced fluxes: first those that the model forces, then those of the medium."""
    index, medium = exchanges_of(model).by_compound, conditions.medium
    wider = {item["reaction_id"]: _including(item["possible"], *item["bounds"]) for item in causes.contradictions}
    fed = {} if medium is None else {name: index[name] for name in medium.compounds.keys() & index.keys()}
    own = wider.keys() - {item.reaction_id for item in fed.values()}
    if medium is None or own:
        bounds = {name: pair for name, pair in wider.items() if name in own}
        return NextStep("modify_model", {"model_id": conditions.model_id, "bounds": bounds})
    changed = {
        name: item.oriented(*bounds_from_json(wider[item.reaction_id]))
        for name, item in fed.items()
        if item.reaction_id in wider
    }
    return NextStep("build_media", extended(replace(medium, compounds={**medium.compounds, **changed}), ()))


def _including(flux: float, low: float | None, high: float | None) -> list[float | None]:
    """Return bounds that a flux meets, rounded away from it: as it is, what the solver left out would be missing."""
    return [
        math.floor(flux * 1e4) / 1e4 if low is not None and flux < low else low,
        math.ceil(flux * 1e4) / 1e4 if high is not None and flux > high else high,
    ]

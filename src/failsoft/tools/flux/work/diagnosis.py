"""Diagnosis of infeasible and unbounded problems: missing uptakes, contradicting bounds, blocked precursors."""

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
from failsoft.tools.flux.conditions import Conditions, extended
from failsoft.tools.flux.failures import CobrapySolverError, FbaInfeasible, FbaUnbounded
from failsoft.tools.flux.work.exchanges import Exchange, surroundings_of
from failsoft.tools.flux.work.network import Network, is_biomass, network_of
from failsoft.tools.flux.work.shortage import Feed, cheapest, drains_of, feeds_of, relaxed, set_feeds, unmakable
from failsoft.tools.flux.work.solver import FLUX_NOISE, ZERO, Column, LinearProblem, Verdict, fluxes_of, solve
from failsoft.tools.flux.workers.worker import remaining_s

_OPEN: Final = 1_000.0
_HUGE: Final = 1e5
"""Replaces infinite bounds, to find the fluxes that reach it."""
_SOME_FLOW: Final = 0.1
"""The flow through the objective, as part of what is possible at most, that the cheapest set of uptakes must allow."""
_LISTED_AT_MOST = 20
_TIME_KEPT_S = 2.0
_SEARCHED_S = 10.0
"""Seconds after which the search for causes ends; the result itself is certain."""
_ORGANIC_UPTAKE: Final = 10.0
"""mmol/gDW/h, as in the predefined media."""
_DEMAND: Final = "\ndemand"
"""A pseudo-metabolite that the objective produces and a flux of the same name consumes."""


@dataclass(frozen=True, slots=True)
class _Causes:
    missing: Sequence[Exchange] = ()
    contradictions: Sequence[Mapping[str, Any]] = ()
    precursors: Sequence[Mapping[str, Any]] = ()
    shut: Sequence[str] = ()
    renamed: Sequence[str] = ()
    """Compounds of the medium whose uptake is closed; `missing` has them under another id."""
    organic: Sequence[str] = ()
    """Missing compounds with carbon: without a limit they would allow unrealistic growth."""


def infeasible(
    model: cobra.Model, question: Conditions, names: tuple[str, ...], verdict: Verdict, *, unusable: Sequence[str] = ()
) -> FbaInfeasible:
    """Return the error for an objective without flux, with the causes; call inside `with model:`.

    Args:
        model: With the medium and the objective applied.
        question: The conditions.
        names: The reactions that are optimized.
        verdict: How the solver ended.
        unusable: Compounds of the medium that the model has no exchange for.
    """
    causes = _causes(model, names, is_feasible=verdict == "optimal")
    if question.medium is not None:
        by_compound = surroundings_of(model).by_compound
        given = [item for item in question.medium.compounds if by_compound.get(item) in causes.missing]
        organic = [item.compound for item in causes.missing if _has_carbon(model, item)]
        causes = replace(causes, renamed=given, organic=organic)
    missing = [exchange.described() for exchange in causes.missing]
    return FbaInfeasible(
        message=_message(question, names, causes),
        model_id=question.model_id,
        media_id=question.media_id,
        objective=" + ".join(names),
        solver_status=verdict,
        num_reactions=len(model.reactions),
        num_metabolites=len(model.metabolites),
        num_exchange_reactions=len(surroundings_of(model).exchanges),
        missing_uptakes=missing or None,
        contradictions=[dict(item) for item in causes.contradictions] or None,
        blocked_precursors=[dict(item) for item in causes.precursors] or None,
        unusable_compounds=list(unusable[:_LISTED_AT_MOST]) or None,
        suggestions=_advice(question, causes),
        next_step=_next_step(question, causes),
    )


def unbounded(model: cobra.Model, question: Conditions, names: tuple[str, ...]) -> FbaUnbounded:
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
    bounds = {name: [0.0 if model.reactions.get_by_id(name).lower_bound >= 0 else -_OPEN, _OPEN] for name in found}
    return FbaUnbounded(
        model_id=question.model_id,
        media_id=question.media_id,
        objective=" + ".join(names),
        unlimited_reactions=found,
        next_step=NextStep("modify_model", {"model_id": question.model_id, "bounds": bounds}),
    )


def _causes(model: cobra.Model, names: tuple[str, ...], *, is_feasible: bool) -> _Causes:
    """Find the causes in order: missing uptakes, then unsatisfiable demands, then blocked precursors."""
    shut = [name for name in names if model.reactions.get_by_id(name).bounds == (0, 0)]
    if is_feasible and len(shut) == len(names):
        return _Causes(shut=shut)  # neither nutrients nor other reactions open those
    around = surroundings_of(model).exchanges
    with model:
        for exchange in around:
            _open(model, exchange)
        verdict = solve(model)
        best = model.solver.objective.value if verdict == "optimal" else 0.0
        is_fed = verdict == "unbounded" or best > ZERO
    if is_fed:
        target = _SOME_FLOW * best if verdict == "optimal" else 1.0
        missing = _missing(model, min(target, _SOME_FLOW))
        if missing or is_feasible:
            return _Causes(missing=missing)
    contradictions = [] if is_feasible and verdict != "infeasible" else _contradictions(model)
    return _Causes(contradictions=contradictions, precursors=_precursors(model, names) if not contradictions else ())


def _missing(model: cobra.Model, target: float) -> list[Exchange]:
    """Return the closed uptakes that let the objective flow at the lowest price, with those that are narrow opened."""
    network = network_of(model)
    exchanges = {item.reaction_id: item for item in surroundings_of(model).exchanges}
    feeds = _feeds(network, exchanges)
    closed = [feed for feed in feeds if _uptake(model, exchanges[feed.exchange]) <= ZERO]
    weights = {item.id: float(weight) for item, weight in linear_reaction_coefficients(model).items()}
    columns = [
        Column(
            name, {**item.coefficients, **({_DEMAND: weights[name]} if name in weights else {})}, item.low, item.high
        )
        for name, item in network.reactions.items()
    ]
    columns += [*(feed.column for feed in feeds), Column(_DEMAND, {_DEMAND: -1.0}, target, math.inf)]
    with suppress(CobrapySolverError), LinearProblem(columns, deadline=_deadline()) as linear:
        set_feeds(linear, [feed for feed in feeds if feed not in closed], is_open=True)
        return [exchanges[feed.exchange] for feed, _ in cheapest(linear, closed)]
    return []


def _contradictions(model: cobra.Model) -> list[Mapping[str, Any]]:
    """Return the forced flows whose bounds cannot all be met, and the bounds that could: by the least relaxation."""
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
        model.objective = model.problem.Objective(0, direction="min")
        model.objective.set_linear_coefficients(prices)
        if not forced or solve(model) != "optimal":
            return []
        fluxes = fluxes_of(model)
        found: list[Mapping[str, Any]] = [
            {
                "reaction_id": name,
                "name": model.reactions.get_by_id(name).name,
                "bounds": [_json(low), _json(high)],
                "possible": round(fluxes[name], 6),
            }
            for name, (low, high) in wanted.items()
            if fluxes[name] < low - FLUX_NOISE or fluxes[name] > high + FLUX_NOISE
        ]
        return found[:_LISTED_AT_MOST]


def _precursors(model: cobra.Model, names: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Return the metabolites that the objective consumes and the model cannot make even with every uptake open."""
    if len(names) != 1:
        return []
    network = network_of(model)
    feeds = _feeds(network, {item.reaction_id: item for item in surroundings_of(model).exchanges})
    drains = drains_of(network, network.reactions[names[0]].coefficients)
    reactions = (Column(name, item.coefficients, item.low, item.high) for name, item in network.reactions.items())
    columns = [*relaxed(reactions), *drains.values(), *(feed.column for feed in feeds)]
    with suppress(CobrapySolverError), LinearProblem(columns, deadline=_deadline()) as linear:
        set_feeds(linear, feeds, is_open=True)
        found = list(unmakable(linear, drains))[:_LISTED_AT_MOST]
        return [{"metabolite_id": item, "name": network.metabolites[item].name or item} for item in found]
    return []


def _feeds(network: Network, exchanges: Mapping[str, Exchange]) -> list[Feed]:
    metabolites = {next(iter(network.reactions[name].coefficients)): name for name in exchanges}
    return feeds_of(network, metabolites, {name: item.compound for name, item in exchanges.items()})


def _deadline() -> float:
    left = remaining_s()
    return time.monotonic() + min(_SEARCHED_S, _SEARCHED_S if left is None else left - _TIME_KEPT_S)


def _has_carbon(model: cobra.Model, exchange: Exchange) -> bool:
    return any("C" in (item.elements or {}) for item in model.reactions.get_by_id(exchange.reaction_id).metabolites)


def _uptake(model: cobra.Model, exchange: Exchange) -> float:
    """Return how much may come in, as a positive number."""
    low, high = model.reactions.get_by_id(exchange.reaction_id).bounds
    return float(high if exchange.is_reversed else -low)


def _open(model: cobra.Model, exchange: Exchange) -> None:
    reaction = model.reactions.get_by_id(exchange.reaction_id)
    low, high = reaction.bounds
    reaction.bounds = (min(low, 0.0), max(high, _OPEN)) if exchange.is_reversed else (min(low, -_OPEN), max(high, 0.0))


def _message(question: Conditions, names: tuple[str, ...], causes: _Causes) -> str:
    where = f"on '{question.media_id}'" if question.media_id is not None else "with its own bounds"
    why = ""
    if causes.missing:
        listed = ", ".join(_named(exchange) for exchange in causes.missing[:_LISTED_AT_MOST])
        why = f": it lacks the uptake of {listed}"
    elif causes.contradictions:
        listed = ", ".join(
            f"{item['reaction_id']} within {item['bounds']} (possible: {item['possible']:g})"
            for item in causes.contradictions
        )
        why = f": these flows are demanded and cannot be met: {listed}"
    elif causes.precursors:
        listed = ", ".join(str(item["name"]) for item in causes.precursors)
        why = f": even with every uptake open it cannot make {listed}"
    elif causes.shut:
        why = f": the bounds [0, 0] block {', '.join(causes.shut)}"
    subject = "The growth is 0: nothing" if any(map(is_biomass, names)) else "Nothing"
    return f"{subject} flows through '{' + '.join(names)}' in the model '{question.model_id}' {where}{why}."


def _named(exchange: Exchange) -> str:
    return f"{exchange.name} ({exchange.compound or exchange.reaction_id})"


def _advice(question: Conditions, causes: _Causes) -> list[str]:
    if causes.missing:
        how = "build_media" if question.medium is not None else "modify_model"
        return [f"Allow the missing uptakes with {how}, then call run_fba again"]
    if causes.contradictions:
        return ["Relax the demanded flows with modify_model, then call run_fba again"]
    if causes.shut:
        return ["Give the objective other bounds with modify_model, or use another objective"]
    return ["Add the missing reactions with gapfill_model, or take another objective"]


def _next_step(question: Conditions, causes: _Causes) -> NextStep | None:
    if causes.contradictions:
        bounds = {}
        for item in causes.contradictions:
            low, high = item["bounds"]
            possible = item["possible"]
            bounds[item["reaction_id"]] = [
                low if low is None else min(low, possible),
                high if high is None else max(high, possible),
            ]
        return NextStep("modify_model", {"model_id": question.model_id, "bounds": bounds})
    if causes.missing and question.medium is None:
        opened = {
            exchange.reaction_id: [0.0, _ORGANIC_UPTAKE] if exchange.is_reversed else [-_ORGANIC_UPTAKE, _OPEN]
            for exchange in causes.missing
        }
        return NextStep("modify_model", {"model_id": question.model_id, "bounds": opened})
    added = [exchange.compound for exchange in causes.missing if exchange.compound]
    uptakes = {compound: _ORGANIC_UPTAKE for compound in causes.organic if compound}
    if added and question.medium is not None and question.medium.others is None:
        return NextStep("build_media", extended(question.medium, added, without=causes.renamed, uptakes=uptakes))
    # For any other objective gapfilling does nothing: it fills what growth lacks.
    is_growth = question.objective is None or is_biomass(question.objective)
    if causes.precursors and question.media_id is not None and is_growth:
        return NextStep("gapfill_model", {"model_id": question.model_id, "media_id": question.media_id})
    return None


def _json(value: float) -> float | None:
    return None if math.isinf(value) else value

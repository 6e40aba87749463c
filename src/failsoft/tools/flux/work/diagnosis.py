"""Why nothing flows: which uptakes are missing, which bounds contradict each other, what cannot be made.

The relaxed problem tells: every uptake is opened at a price, and the cheapest way to flow names what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import cobra

from failsoft.framework.errors import NextStep
from failsoft.tools.flux.question import Question
from failsoft.tools.flux.solving_errors import FbaInfeasible, FbaUnbounded
from failsoft.tools.flux.work.exchanges import Exchange, surroundings_of
from failsoft.tools.flux.work.facts import is_biomass
from failsoft.tools.flux.work.progress import remaining_s
from failsoft.tools.flux.work.solver import ZERO, Verdict, fluxes_of, solve

__all__ = ["infeasible", "unbounded"]

_OPEN: Final = 1_000.0
_HUGE: Final = 1e5
"""Stands for infinity while it is asked which fluxes would go there."""
_SOME_FLOW: Final = 0.1
"""The flow through the objective, as part of what is possible at most, that the cheapest set of uptakes must allow."""
_USUAL: Final = frozenset(
    (
        *("cpd00027", "cpd00007", "cpd00001", "cpd00009", "cpd00013", "cpd00048", "cpd00067", "cpd00030"),
        *("cpd00034", "cpd00058", "cpd00063", "cpd00099", "cpd00149", "cpd00205", "cpd00244", "cpd00254"),
        *("cpd00971", "cpd10515", "cpd10516", "cpd11574"),
    )
)
"""Glucose, oxygen, water, salts: what a minimal medium is made of, so what a missing uptake most likely is."""
_UNUSUAL_PRICE: Final = 20.0
_NAMELESS_PRICE: Final = 1_000.0
"""For what no medium can hold, since the model does not say which compound it is."""
_PRUNED_AT_MOST = 40
_TOLD_AT_MOST = 20
_TIME_KEPT_S = 2.0


@dataclass(frozen=True, slots=True)
class _Causes:
    missing: Sequence[Exchange] = ()
    contradictions: Sequence[Mapping[str, Any]] = ()
    precursors: Sequence[Mapping[str, Any]] = ()
    shut: Sequence[str] = ()


def infeasible(
    model: cobra.Model, question: Question, names: tuple[str, ...], verdict: Verdict, *, unusable: Sequence[str] = ()
) -> FbaInfeasible:
    """Return the error for a model through whose objective nothing flows, with the causes; call inside `with model:`.

    Args:
        model: With the medium and the objective in force.
        question: What was asked.
        names: The reactions that are optimized.
        verdict: How the solver ended.
        unusable: Compounds of the medium that the model has no exchange for.
    """
    causes = _causes(model, names, is_feasible=verdict == "optimal")
    told = [exchange.described() for exchange in causes.missing]
    return FbaInfeasible(
        message=_message(question, names, causes),
        model_id=question.model_id,
        media_id=question.media_id,
        objective=" + ".join(names),
        solver_status=verdict,
        num_reactions=len(model.reactions),
        num_metabolites=len(model.metabolites),
        num_exchange_reactions=len(surroundings_of(model).exchanges),
        missing_uptakes=told or None,
        contradictions=list(causes.contradictions) or None,
        blocked_precursors=list(causes.precursors) or None,
        unusable_compounds=list(unusable[:_TOLD_AT_MOST]) or None,
        suggestions=_advice(question, causes),
        next_step=_next_step(question, causes),
    )


def unbounded(model: cobra.Model, question: Question, names: tuple[str, ...]) -> FbaUnbounded:
    """Return the error for an objective without a limit, naming the reactions without one; use inside `with model:`."""
    endless = [reaction for reaction in model.reactions if any(map(math.isinf, reaction.bounds))]
    for reaction in endless:
        low, high = reaction.bounds
        reaction.bounds = max(low, -_HUGE), min(high, _HUGE)
    found: list[str] = []
    if solve(model) == "optimal":
        fluxes = fluxes_of(model)
        found = [reaction.id for reaction in endless if abs(fluxes[reaction.id]) > _HUGE / 2]
    found = (found or [reaction.id for reaction in endless])[:_TOLD_AT_MOST]
    bounds = {name: [0.0 if model.reactions.get_by_id(name).lower_bound >= 0 else -_OPEN, _OPEN] for name in found}
    return FbaUnbounded(
        model_id=question.model_id,
        media_id=question.media_id,
        objective=" + ".join(names),
        unlimited_reactions=found,
        next_step=NextStep("modify_model", {"model_id": question.model_id, "bounds": bounds}),
    )


def _causes(model: cobra.Model, names: tuple[str, ...], *, is_feasible: bool) -> _Causes:
    """Find the causes from the outside in: what is not fed, then what is demanded in vain, then what is not made."""
    shut = [name for name in names if model.reactions.get_by_id(name).bounds == (0, 0)]
    if is_feasible and len(shut) == len(names):
        return _Causes(shut=shut)  # no food and no other reaction opens those
    around = surroundings_of(model).exchanges
    closed = [exchange for exchange in around if _uptake(model, exchange) <= ZERO]
    with model:
        for exchange in around:
            _open(model, exchange)
        verdict = solve(model)
        best = model.solver.objective.value if verdict == "optimal" else 0.0
        is_fed = verdict == "unbounded" or best > ZERO
    if is_fed:
        target = _SOME_FLOW * best if verdict == "optimal" else 1.0
        missing = _cheapest(model, closed, min(target, _SOME_FLOW))
        if missing or is_feasible:
            return _Causes(missing=missing)
    contradictions = [] if is_feasible and verdict != "infeasible" else _contradictions(model)
    return _Causes(contradictions=contradictions, precursors=_precursors(model, names) if not contradictions else ())


def _cheapest(model: cobra.Model, closed: Sequence[Exchange], target: float) -> list[Exchange]:
    """Return few closed uptakes that make the objective flow, with those that are narrow opened as well."""
    with model:
        expression = model.objective.expression
        demanded = model.problem.Constraint(expression, lb=target, name="failsoft_demand")
        model.add_cons_vars([demanded])
        for exchange in surroundings_of(model).exchanges:
            _open(model, exchange)
        prices = {_inward(model, exchange): _price(exchange) for exchange in closed}
        model.objective = model.problem.Objective(0, direction="min")
        model.objective.set_linear_coefficients(prices)
        if solve(model) != "optimal":
            return []
        fluxes = fluxes_of(model)
        used = [exchange for exchange in closed if abs(fluxes[exchange.reaction_id]) > ZERO]
        used = [
            exchange for exchange in used if (fluxes[exchange.reaction_id] > 0) == exchange.is_reversed
        ]  # the others leave
        return _pruned(model, closed, used)


def _pruned(model: cobra.Model, closed: Iterable[Exchange], used: list[Exchange]) -> list[Exchange]:
    """Return those of the uptakes without which it does not go, the dearest tried first; call inside `with model:`."""
    needed = set(used)
    for exchange in closed:
        if exchange not in needed:
            _shut(model, exchange)
    for exchange in sorted(used, key=_price, reverse=True)[:_PRUNED_AT_MOST]:
        if (remaining_s() or math.inf) < _TIME_KEPT_S:
            break
        before = model.reactions.get_by_id(exchange.reaction_id).bounds
        _shut(model, exchange)
        if solve(model) == "optimal":
            needed.discard(exchange)
        else:
            model.reactions.get_by_id(exchange.reaction_id).bounds = before
    return sorted(needed, key=lambda exchange: (_price(exchange), exchange.reaction_id))


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
            if fluxes[name] < low - ZERO or fluxes[name] > high + ZERO
        ]
        return found[:_TOLD_AT_MOST]


def _precursors(model: cobra.Model, names: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Return what the objective consumes and the model cannot make, even with every uptake open."""
    if len(names) != 1:
        return []
    consumed = [item for item, factor in model.reactions.get_by_id(names[0]).metabolites.items() if factor < 0]
    found: list[Mapping[str, Any]] = []
    with model:
        for exchange in surroundings_of(model).exchanges:
            _open(model, exchange)
        for metabolite in consumed:
            if len(found) >= _TOLD_AT_MOST or (remaining_s() or math.inf) < _TIME_KEPT_S:
                break
            with model:
                drain = cobra.Reaction(f"failsoft_drain_{metabolite.id}", lower_bound=0, upper_bound=_OPEN)
                drain.add_metabolites({metabolite: -1})
                model.add_reactions([drain])
                model.objective = drain
                if solve(model) == "infeasible" or abs(model.solver.objective.value or 0.0) <= ZERO:
                    found.append({"metabolite_id": metabolite.id, "name": metabolite.name or metabolite.id})
    return found


def _uptake(model: cobra.Model, exchange: Exchange) -> float:
    """Return how much may come in, as a positive number."""
    low, high = model.reactions.get_by_id(exchange.reaction_id).bounds
    return float(high if exchange.is_reversed else -low)


def _open(model: cobra.Model, exchange: Exchange) -> None:
    reaction = model.reactions.get_by_id(exchange.reaction_id)
    low, high = reaction.bounds
    reaction.bounds = (min(low, 0.0), max(high, _OPEN)) if exchange.is_reversed else (min(low, -_OPEN), max(high, 0.0))


def _shut(model: cobra.Model, exchange: Exchange) -> None:
    reaction = model.reactions.get_by_id(exchange.reaction_id)
    low, high = reaction.bounds
    reaction.bounds = (min(low, 0.0), 0.0) if exchange.is_reversed else (0.0, max(high, 0.0))


def _inward(model: cobra.Model, exchange: Exchange) -> Any:
    """Return the solver's variable for what comes in; it is never negative."""
    reaction = model.reactions.get_by_id(exchange.reaction_id)
    return reaction.forward_variable if exchange.is_reversed else reaction.reverse_variable


def _price(exchange: Exchange) -> float:
    if not exchange.compounds:
        return _NAMELESS_PRICE
    return 1.0 if _USUAL.intersection(exchange.compounds) else _UNUSUAL_PRICE


def _message(question: Question, names: tuple[str, ...], causes: _Causes) -> str:
    where = f"on '{question.media_id}'" if question.media_id is not None else "with its own bounds"
    why = ""
    if causes.missing:
        listed = ", ".join(_named(exchange) for exchange in causes.missing[:_TOLD_AT_MOST])
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
    return f"Nothing flows through '{' + '.join(names)}' in the model '{question.model_id}' {where}{why}."


def _named(exchange: Exchange) -> str:
    return f"{exchange.name} ({exchange.compounds[0] if exchange.compounds else exchange.reaction_id})"


def _advice(question: Question, causes: _Causes) -> list[str]:
    if causes.missing:
        how = "build_media" if question.compounds is not None else "modify_model"
        return [f"Allow the missing uptakes with {how}, then call run_fba again"]
    if causes.contradictions:
        return ["Relax the demanded flows with modify_model, then call run_fba again"]
    if causes.shut:
        return ["Give the objective other bounds with modify_model if it is meant to flow, or take another objective"]
    return ["Add the missing reactions with gapfill_model, or take another objective"]


def _next_step(question: Question, causes: _Causes) -> NextStep | None:
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
    if causes.missing and question.compounds is None:
        opened = {
            exchange.reaction_id: [0.0, 10.0] if exchange.is_reversed else [-10.0, _OPEN] for exchange in causes.missing
        }
        return NextStep("modify_model", {"model_id": question.model_id, "bounds": opened})
    added = [exchange.compounds[0] for exchange in causes.missing if exchange.compounds]
    if added and question.compounds is not None:
        compounds = [*question.compounds, *(item for item in added if item not in question.compounds)]
        custom = {
            item: list(bounds)
            for item, bounds in question.compounds.items()
            if item not in added and bounds[0] < bounds[1]
        }
        return NextStep("build_media", {"compounds": compounds, "custom_bounds": custom})
    # For any other objective gapfilling does nothing: it fills what growth lacks.
    is_growth = question.objective is None or is_biomass(question.objective)
    if causes.precursors and question.media_id is not None and is_growth:
        return NextStep("gapfill_model", {"model_id": question.model_id, "media_id": question.media_id})
    return None


def _json(value: float) -> float | None:
    return None if math.isinf(value) else value

"""The gapfilling task: recipe and medium in, the step that adds reactions out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cobra
from cobra.util.solver import linear_reaction_coefficients

from failsoft.framework.text import enumerated
from failsoft.jobs.processes.worker import call_deadline, progress
from failsoft.tools.flux.conditions import OPEN, Conditions, Medium, bounds_to_json
from failsoft.tools.flux.failures import GapfillInfeasible, MaxComplexityExceeded, ObjectiveNotFound
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.checking import energy_from_nothing
from failsoft.tools.flux.work.diagnosis import forced, unbounded
from failsoft.tools.flux.work.exchanges import apply_medium, exchanges_of
from failsoft.tools.flux.work.facts import biomass_reactions, model_facts, objective_of
from failsoft.tools.flux.work.making import model_of
from failsoft.tools.flux.work.network import (
    GapfillProblem,
    Network,
    candidates,
    is_biomass,
    network_of,
    universe_from,
)
from failsoft.tools.flux.work.shortage import Shortage, shortage_of
from failsoft.tools.flux.work.solver import FLUX_NOISE, LinearProblem, rounded, solve

_NAMED_AT_MOST = 5
_ANSWER_S = 2.0
"""Seconds of the call's time that are kept for the answer."""
_LEAST_GROWTH = 1e-5
"""The least growth that the tolerances of the solver leave certain."""
_SHARED_AT_LEAST = 0.1
"""The part of a model's metabolites below which a universe is one of other ids, such as ModelSEED's for BiGG's."""
_AIM_AT_LEAST = 0.1
"""Growth to aim at where less would do: at tiny fluxes, reactions for trace compounds vanish in the tolerances."""
_CARRIES = 1e-8
_MILP_AT_MOST = 1_000
"""Candidates up to which the fewest reactions are searched for; above it that takes seconds to hours."""
_MILP_LIMIT_S = 5.0
_ROUNDS = 3
"""Solves that each make the reactions of the last one cheaper, which leaves fewer of them."""


@dataclass(frozen=True, slots=True)
class Filling:
    """The reactions to add, and the growth with them; None and the largest growth, if the target is out of reach."""

    reactions: tuple[str, ...] | None
    growth: float


def gapfill_model(
    recipe: Recipe, conditions: Conditions, target: float, max_complexity: int, universe: Mapping[str, str]
) -> dict[str, Any]:
    """Return the step that adds reactions to a model, its growth with them, and facts about them: a task.

    Args:
        recipe: The model.
        conditions: On which medium it is to grow.
        target: Growth to reach, per hour.
        max_complexity: Reactions that may be added.
        universe: `{"source": "shipped"}`, or another source with its `file`.

    Raises:
        OBJECTIVE_NOT_FOUND: Nothing says which reaction is growth.
        FBA_UNBOUNDED: Nothing limits growth.
        GAPFILL_INFEASIBLE: No reactions help.
        MAX_COMPLEXITY_EXCEEDED: Too many are needed.
        COBRAPY_SOLVER_ERROR: The solver met numerical trouble, or found no result in time.
    """
    model = model_of(recipe)
    objective = _objective(model, conditions.model_id)
    medium = conditions.medium or Medium({})
    progress(0, 5, "Reading the universe of reactions")
    known = universe_from(universe)
    with model:
        applied = apply_medium(model, medium)
        before = _growth(model, objective, conditions)
        network = network_of(model)
    index = exchanges_of(model)
    names = {item.reaction_id: item.compound for item in index.exchanges}
    given = {index.by_compound[item].reaction_id: item for item in medium.compounds if item in index.by_compound}
    additional = candidates(network, known, medium, applied.unused)
    deadline = max(time.monotonic() + 1.0, call_deadline() - _ANSWER_S)
    problem = GapfillProblem(network.reactions, additional, objective, max(target, _LEAST_GROWTH), deadline)
    if problem.is_reached(before):
        answer = Filling((), before)
    else:
        answer = fill(problem, lambda done, message: progress(1 + done, 5, message))
    if answer.reactions is None:
        progress(2, 5, "Looking for what is missing")
        _require_same_ids(problem, network, known, conditions)
        metabolites = {**known.metabolites, **network.metabolites}
        joined = Network(metabolites, {**known.reactions, **network.reactions})
        excluded = index.excluded_by(medium)
        found = shortage_of(
            metabolites,
            {**network.reactions, **additional},
            {objective: 1.0},
            {metabolite: name for metabolite, name in joined.exchanges.items() if name not in excluded},
            names,
            target=problem.target,
            deadline=deadline,
        )
        for item in found.nutrients:  # no step shall add a compound under a second id
            item.update({"compound_id": given[item["exchange"]]} if item["exchange"] in given else {})
        error = _infeasible(problem, found, conditions, answer.growth, max_complexity)
        if answer.growth <= FLUX_NOISE and all(item.get("compound_id") in medium.compounds for item in found.nutrients):
            _name_forced(error, model, medium, conditions)
        raise error
    if len(answer.reactions) > max_complexity:
        raise MaxComplexityExceeded(
            reactions_needed=len(answer.reactions), max_complexity=max_complexity, reactions=answer.reactions[:50]
        )
    step = {
        "kind": "add",
        "media_id": conditions.media_id,
        "medium": {
            "compounds": {name: bounds_to_json(*bounds) for name, bounds in medium.compounds.items()},
            "others": None if medium.others is None else bounds_to_json(*medium.others),
        },
        **Network(known.metabolites, additional).to_cobra(answer.reactions),
    }
    return {
        **_result(recipe.then(step) if answer.reactions else recipe, answer.reactions, objective, conditions),
        "step": step if answer.reactions else None,
        "growth_before": before,
        "universe": universe["source"],
    }


def _maximized(model: cobra.Model) -> str | None:
    """Return the reaction that a model maximizes; None if it minimizes one, or has none or several to optimize."""
    own = linear_reaction_coefficients(model)
    names = [item.id for item, weight in own.items() if (weight > 0) == (model.objective_direction == "max")]
    return names[0] if len(own) == len(names) == 1 else None


def _objective(model: cobra.Model, model_id: str) -> str:
    """Return the reaction that is growth: the one that the model maximizes, else its only biomass reaction."""
    biomass = biomass_reactions(model)
    found = _maximized(model) or (biomass[0] if len(biomass) == 1 else None)
    if found is not None:
        return found
    names = objective_of(model)
    has = f"has {len(biomass)} of those" if biomass else "has neither"
    listed = ", ".join(biomass[:_NAMED_AT_MOST])
    raise ObjectiveNotFound(
        message="Gaps are filled for the one reaction that a model maximizes, else for its only biomass reaction; "
        f'"{model_id}" {has}.',
        model_id=model_id,
        objective=" + ".join(names),
        similar_ids=(biomass or list(names))[:_NAMED_AT_MOST],
        suggestions=[f"Make one the objective with modify_model: {listed}"] if biomass else [],
    )


def _require_same_ids(problem: GapfillProblem, network: Network, universe: Network, conditions: Conditions) -> None:
    """Refuse a universe whose reactions fit nowhere, since it names the model's metabolites by other ids."""
    shared = len(network.metabolites.keys() & universe.metabolites.keys())
    if shared < _SHARED_AT_LEAST * len(network.metabolites):
        raise GapfillInfeasible(
            message=f"The universe of reactions has {shared} of the {len(network.metabolites)} metabolites of "
            f"'{conditions.model_id}': it names them by other ids, so that its reactions fit nowhere.",
            model_id=conditions.model_id,
            media_id=str(conditions.media_id),
            target_growth=problem.target,
            suggestions=["Reactions can be added by equation, with modify_model"],
        )


def _infeasible(
    problem: GapfillProblem, found: Shortage, conditions: Conditions, growth: float, max_complexity: int
) -> GapfillInfeasible:
    return GapfillInfeasible(
        message=_sentence(found, conditions, problem.target, growth),
        model_id=conditions.model_id,
        media_id=str(conditions.media_id),
        target_growth=problem.target,
        growth_at_most=rounded(growth),
        max_complexity=max_complexity,
        media_compounds=len(conditions.medium.compounds) if conditions.medium else 0,
        template_reactions_available=len(problem.candidates),
        blocked_precursors=found.precursors or None,
        missing_nutrients=found.nutrients or None,
    )


def _name_forced(error: GapfillInfeasible, model: cobra.Model, medium: Medium, conditions: Conditions) -> None:
    """Name the forced fluxes that cannot be met, if there are any, in place of more of what the medium has."""
    with model:
        apply_medium(model, medium)
        objective = model.objective = _objective(model, conditions.model_id)
        cause = forced(model, conditions, objective)
    if cause is not None:
        why, advice, error.next_step = cause
        error.message = f"{_unreached(conditions, error.target_growth)}{why}."
        error.suggestions, error.missing_nutrients = [advice], None


def _unreached(conditions: Conditions, target: float) -> str:
    return f"No reactions of the universe let '{conditions.model_id}' grow at {target:g} on '{conditions.media_id}'"


def _sentence(found: Shortage, conditions: Conditions, target: float, growth: float) -> str:
    """Return the message with the most useful cause: missing nutrients, else precursors that cannot be made."""
    sentence = _unreached(conditions, target)
    grows = growth > FLUX_NOISE
    if found.nutrients:
        listed = ", ".join(f"{item['name']} ({item.get('compound_id', item['exchange'])})" for item in found.nutrients)
        wanted = "needs more of" if grows else "lacks"
        return f"{sentence}{f': at most {growth:.4g} is possible' if grows else ''}; the medium {wanted} {listed}."
    blocked = [item["name"] for item in found.precursors if item["missing"] == "reactions"]
    if blocked:
        return f"{sentence}: on no medium can these parts of biomass be made: {enumerated(blocked, _NAMED_AT_MOST)}."
    return f"{sentence}: at most {growth:.4g} is possible." if grows else f"{sentence}."


def _result(recipe: Recipe, added: Sequence[str], objective: str, conditions: Conditions) -> dict[str, Any]:
    """Return what is said of a model with its gaps filled: its growth, the new reactions, warnings."""
    model = model_of(recipe)
    with model:
        applied = apply_medium(model, conditions.medium or Medium({}))
        growth = _growth(model, objective, conditions)
    is_own = objective == _maximized(model)
    warnings = [] if added else ["The model grows on this medium without any new reaction."]
    if not is_own:
        warnings.append(f"Gaps were filled for {objective}, not for what the model optimizes.")
    warnings += applied.warnings
    energy, _ = energy_from_nothing(model)
    if energy:  # a loop of reactions that no cell has
        made = enumerated([item["carrier"] for item in energy], _NAMED_AT_MOST)
        warnings.append(
            f"With every uptake closed the model makes {made}, so its growth rates are too high; see check_model."
        )
    number = "1 more reaction" if len(added) == 1 else f"{len(added)} more reactions"
    does = f"the model grows at {growth:.4g} per hour" if is_biomass(objective) else f"{objective} carries {growth:.4g}"
    return {
        "growth_after": growth,
        "reactions_added": [
            {
                "id": item.id,
                "name": item.name or item.id,
                "equation": item.build_reaction_string(),
                "equation_with_names": item.build_reaction_string(use_metabolite_names=True),
            }
            for item in model.reactions.get_by_any(list(added))
        ],
        "interpretation": f"With {number} {does} on {conditions.media_id}.",
        "objective": None if is_own else objective,
        "facts": model_facts(model),
        "warnings": warnings,
    }


def _growth(model: cobra.Model, objective: str, conditions: Conditions) -> float:
    """Return the growth, 0.0 where no fluxes meet the bounds; call inside `with model:`.

    Raises:
        FBA_UNBOUNDED: Nothing limits it.
        COBRAPY_SOLVER_ERROR: The solver gave no answer.
    """
    model.objective = objective
    model.objective_direction = "max"
    verdict = solve(model)
    if verdict == "unbounded":
        raise unbounded(model, conditions, (objective,))
    return rounded(model.solver.objective.value) if verdict == "optimal" else 0.0


def fill(problem: GapfillProblem, report: Callable[[int, str], None] = lambda *_: None) -> Filling:
    """Return the reactions to add, few but not provably the fewest.

    Above some hundred candidates the fewest cannot be found in reasonable time, so the least total flux through
    candidates is; superfluous ones are then removed one by one.

    Args:
        problem: What to fill.
        report: Called with steps done and a description of the next.

    Raises:
        COBRAPY_SOLVER_ERROR: There is no result in time.
    """
    report(0, "Solving with all reactions of the universe")
    with LinearProblem(problem.columns(), deadline=problem.deadline) as linear:
        most = _most(linear, problem)
        if not problem.is_reached(most):
            return Filling(None, max(0.0, most))
        report(1, "Searching for few reactions")
        found = _least_flux(linear, problem, aim=min(most, max(problem.target, min(_AIM_AT_LEAST, most / 2))))
        _switch(linear, problem, problem.candidates.keys() - set(found), is_open=False)
        if not problem.is_reached(_most(linear, problem)):
            found = list(problem.candidates)  # below the tolerance: prune all, slow but correct
            _switch(linear, problem, found, is_open=True)
        report(2, "Removing superfluous reactions")
        kept = _pruned(linear, problem, found)
        if len(kept) > 1 and len(problem.candidates) <= _MILP_AT_MOST:
            kept = _fewer(linear, problem, kept)
        report(3, "Solving with the reactions that are left")
        return Filling(tuple(kept), _most(linear, problem))


def _most(linear: LinearProblem, problem: GapfillProblem) -> float:
    verdict, growth = linear.maximum({problem.objective: 1.0})
    return growth if verdict == "optimal" else math.inf if verdict == "unbounded" else -math.inf


def _switch(linear: LinearProblem, problem: GapfillProblem, names: Iterable[str], *, is_open: bool) -> None:
    for flux in (flux for name in names for flux in problem.directions(name)):
        linear.bound(flux.name, *((flux.low, flux.high) if is_open else (0.0, 0.0)))


def _least_flux(linear: LinearProblem, problem: GapfillProblem, *, aim: float) -> list[str]:
    """Return the candidates that carry flux when all of them together carry the least."""
    objective = problem.model[problem.objective]
    linear.bound(problem.objective, aim, objective.high)
    costs = {flux.name: 1.0 for name in problem.candidates for flux in problem.directions(name)}
    used: list[str] = []
    for _ in range(_ROUNDS):
        verdict, _cost = linear.minimum(costs)
        if verdict != "optimal":
            break
        fluxes = {name: linear.flux(name) for name in costs}
        used = list(dict.fromkeys(name[:-2] for name, flux in fluxes.items() if flux > _CARRIES))
        costs = {name: 1.0 / (flux + 1e-3) for name, flux in fluxes.items()}
    linear.bound(problem.objective, objective.low, objective.high)
    return used


def _pruned(linear: LinearProblem, problem: GapfillProblem, names: Sequence[str]) -> list[str]:
    """Return the reactions that are left, and open, when every superfluous one is closed."""
    kept = list(names)
    for name in names:
        _switch(linear, problem, [name], is_open=False)
        if problem.is_reached(_most(linear, problem)):
            kept.remove(name)
        else:
            _switch(linear, problem, [name], is_open=True)
    return kept


def _fewer(linear: LinearProblem, problem: GapfillProblem, found: list[str]) -> list[str]:
    """Return the fewest reactions, open, if they are found in time and reach the target; else those found before."""
    switches = [(flux.name, min(flux.high, OPEN)) for name in problem.candidates for flux in problem.directions(name)]
    limit_s = min(_MILP_LIMIT_S, (problem.deadline - time.monotonic()) / 2)
    with LinearProblem(problem.columns(), deadline=problem.deadline) as search:
        search.bound(problem.objective, problem.target, problem.model[problem.objective].high)
        answer = search.fewest(switches, limit_s=limit_s) if limit_s > 0 else None
    names = list(dict.fromkeys(name[:-2] for name in answer or ()))
    if not names or len(names) >= len(found):
        return found
    _switch(linear, problem, found, is_open=False)
    _switch(linear, problem, names, is_open=True)
    if problem.is_reached(_most(linear, problem)):
        return names
    _switch(linear, problem, names, is_open=False)
    _switch(linear, problem, found, is_open=True)
    return found

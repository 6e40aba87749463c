"""The gapfilling task: recipe and medium in, the step that adds reactions out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cobra

from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import Medium, bounds_to_json
from failsoft.tools.flux.failures import GapfillInfeasible, MaxComplexityExceeded, ObjectiveNotFound
from failsoft.tools.flux.store import Recipe, Step
from failsoft.tools.flux.work.exchanges import apply_medium, surroundings_of
from failsoft.tools.flux.work.facts import free_energy, model_facts, objective_of
from failsoft.tools.flux.work.filling import GROWS_AT, Filled, GapfillProblem, fill
from failsoft.tools.flux.work.making import model_of
from failsoft.tools.flux.work.network import Network, candidates, network_of, sbml_universe, shipped_universe
from failsoft.tools.flux.work.shortage import Shortage, shortage_of
from failsoft.tools.flux.workers.worker import progress, remaining_s

_NAMED_AT_MOST = 5
_ANSWER_S = 2.0
"""Seconds of the call's time that are kept for the answer."""


def gapfill(
    recipe: Recipe,
    ids: Mapping[str, str],
    medium: Medium,
    target: float,
    max_complexity: int,
    universe: Mapping[str, str],
) -> dict[str, Any]:
    """Return the step that adds reactions to a model, its growth with them, and facts about them: a task.

    Args:
        recipe: The model.
        ids: `model_id` and `media_id`, for errors.
        medium: The medium.
        target: Growth to reach, per hour.
        max_complexity: Reactions that may be added.
        universe: `{"source": "shipped"}`, or with the file or the folder of the other sources.

    Raises:
        OBJECTIVE_NOT_FOUND: The model has no reaction to optimize, or several.
        GAPFILL_INFEASIBLE: No reactions help.
        MAX_COMPLEXITY_EXCEEDED: Too many are needed.
        COBRAPY_SOLVER_ERROR: The solver met numerical trouble, or found no result in time.
    """
    model = model_of(recipe)
    objective = _objective(model, ids["model_id"])
    progress(0, 5, "Reading the universe of reactions")
    known = _universe(universe)
    with model:
        applied = apply_medium(model, medium)
        before = _growth(model)
        network = network_of(model)
    around = surroundings_of(model)
    names = {item.reaction_id: item.compound for item in around.exchanges}
    given = {around.by_compound[item].reaction_id: item for item in medium.compounds if item in around.by_compound}
    additional = candidates(network, known, medium, applied.unused)
    left = remaining_s()
    deadline = math.inf if left is None else time.monotonic() + max(1.0, left - _ANSWER_S)
    problem = GapfillProblem(network.reactions, additional, objective, target, deadline)
    answer = fill(problem, lambda done, _total, message: progress(1 + done, 5, message))
    if not isinstance(answer, Filled):
        progress(2, 5, "Looking for what is missing")
        joined = _joined(network, known)
        found = shortage_of(
            joined.metabolites,
            {**network.reactions, **additional},
            {objective: 1.0},
            joined.exchanges,
            names,
            target=target,
            deadline=deadline,
        )
        for item in found.nutrients:  # no step shall add a compound under a second id
            item.update({"compound_id": given[item["exchange"]]} if item["exchange"] in given else {})
        raise _infeasible(problem, found, ids, medium, answer.growth_at_most, max_complexity)
    if len(answer.reactions) > max_complexity:
        raise MaxComplexityExceeded(
            reactions_needed=len(answer.reactions), max_complexity=max_complexity, reactions=answer.reactions[:50]
        )
    added_network = Network(known.metabolites, {**known.reactions, **additional})
    step = {
        "kind": "add",
        "media_id": ids["media_id"],
        "medium": _medium_to_json(medium),
        **added_network.to_cobra(answer.reactions),
    }
    return _result(recipe, step, answer, medium, universe, before)


def _medium_to_json(medium: Medium) -> dict[str, Any]:
    """Return the medium as the step keeps it: what the gaps were filled for."""
    return {
        "compounds": {name: bounds_to_json(*bounds) for name, bounds in medium.compounds.items()},
        "others": None if medium.others is None else bounds_to_json(*medium.others),
    }


def _objective(model: cobra.Model, model_id: str) -> str:
    found = objective_of(model)
    if len(found) != 1:
        raise ObjectiveNotFound(model_id=model_id, objective=" + ".join(found), similar_ids=list(found))
    return found[0]


def _universe(universe: Mapping[str, str]) -> Network:
    if universe["source"] == "carveme":
        return sbml_universe(Path(universe["file"]))
    if universe["source"] == "modelseed":
        from failsoft.tools.flux.work.tables import template_universe  # noqa: PLC0415 - large tables

        return template_universe(Path(universe["folder"]), universe["template"])
    return shipped_universe()


def _joined(network: Network, universe: Network) -> Network:
    return Network({**universe.metabolites, **network.metabolites}, {**universe.reactions, **network.reactions})


def _infeasible(
    problem: GapfillProblem,
    found: Shortage,
    ids: Mapping[str, str],
    medium: Medium,
    growth: float,
    max_complexity: int,
) -> GapfillInfeasible:
    return GapfillInfeasible(
        message=_sentence(found, ids, problem.target, growth),
        model_id=ids["model_id"],
        media_id=ids["media_id"],
        target_growth=problem.target,
        growth_at_most=round(growth, 6),
        max_complexity=max_complexity,
        media_compounds=len(medium.compounds),
        template_reactions_available=len(problem.candidates),
        blocked_precursors=found.precursors or None,
        missing_nutrients=found.nutrients or None,
    )


def _sentence(found: Shortage, ids: Mapping[str, str], target: float, growth: float) -> str:
    """Return the message with the most useful cause: missing nutrients, else precursors that cannot be made."""
    sentence = f"No reactions of the universe let '{ids['model_id']}' grow at {target:g} on '{ids['media_id']}'"
    grows = growth > GROWS_AT
    if found.nutrients:
        listed = ", ".join(f"{item['name']} ({item.get('compound_id', item['exchange'])})" for item in found.nutrients)
        wanted = "needs more of" if grows else "lacks"
        return f"{sentence}{f': at most {growth:.4g} is possible' if grows else ''}; the medium {wanted} {listed}."
    blocked = [item["name"] for item in found.precursors if item["missing"] == "reactions"]
    if blocked:
        return f"{sentence}: on no medium can these parts of biomass be made: {enumerated(blocked, _NAMED_AT_MOST)}."
    return f"{sentence}: at most {growth:.4g} is possible." if grows else f"{sentence}."


def _result(
    recipe: Recipe, step: Step, answer: Filled, medium: Medium, universe: Mapping[str, str], before: float
) -> dict[str, Any]:
    """Return the result, with the growth of the resulting model."""
    grown = recipe.then(step) if answer.reactions else recipe
    model = model_of(grown)
    with model:
        unused = apply_medium(model, medium).unused
        growth = _growth(model)
    reactions = [_described(model, name) for name in answer.reactions]
    return {
        "step": step,
        "reactions": reactions,
        "answer": {
            "growth_before": before,
            "growth_after": growth,
            "growth_rate": growth,
            "num_reactions_added": len(reactions),
            "reactions_added": reactions,
            "universe": universe["source"],
        },
        "warnings": [*_warnings(answer, unused), *free_energy(model)],
        "facts": model_facts(model),
    }


def _growth(model: cobra.Model) -> float:
    growth = float(model.slim_optimize(error_value=0.0))
    return round(growth, 6) if growth > GROWS_AT else 0.0


def _warnings(answer: Filled, unused: Sequence[str]) -> list[str]:
    found = []
    if not answer.reactions:
        found.append("The model grows on this medium without any new reaction.")
    if unused:
        found.append(f"The model has no exchange for these compounds of the medium: {', '.join(unused[:50])}.")
    return found


def _described(model: cobra.Model, name: str) -> dict[str, str]:
    reaction = model.reactions.get_by_id(name)
    return {
        "id": name,
        "name": reaction.name or name,
        "equation": reaction.build_reaction_string(),
        "equation_with_names": reaction.build_reaction_string(use_metabolite_names=True),
    }

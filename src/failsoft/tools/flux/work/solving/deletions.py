"""Single deletions of genes and reactions, as a task: the growth without each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import cobra

from failsoft.framework.errors import InvalidParameter
from failsoft.tools.flux.models.recipes import Recipe
from failsoft.tools.flux.question import Question
from failsoft.tools.flux.work.solving.fba import optimum
from failsoft.tools.flux.work.solving.models import model_of
from failsoft.tools.flux.work.solving.modifying import gene_ids, unknown_ids
from failsoft.tools.flux.work.solving.solver import ZERO, fluxes_of, solve
from failsoft.tools.flux.workers.progress import progress

__all__ = ["delete"]

Kind = Literal["genes", "reactions"]
_REPORTED_EACH = 50


def delete(recipe: Recipe, question: Question, kind: Kind, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the growth without each gene or reaction, one at a time: a task.

    Only a deletion that stops a reaction with flux can change the optimum, so only those are solved.

    Args:
        recipe: The model.
        question: On which medium.
        kind: What is deleted.
        names: Which; all of the model if left out. Genes may be given by name.

    Raises:
        INVALID_PARAM: Genes or reactions that the model does not have.
        FBA_INFEASIBLE: The model does not grow without any deletion.
    """
    model = model_of(recipe)
    wanted = _wanted(model, kind, names)
    with model:
        best = optimum(model, question)
        fluxes = fluxes_of(model)
        results = []
        solved: dict[frozenset[str], float] = {frozenset(): best.value}
        for index, name in enumerate(wanted):
            if index % _REPORTED_EACH == 0:
                progress(index, len(wanted), f"Deleting {kind}")
            stopped = frozenset(item for item in _stopped(model, kind, name) if abs(fluxes[item]) > ZERO)
            if stopped not in solved:
                solved[stopped] = _growth_without(model, stopped)
            results.append(_described(model, kind, name, solved[stopped]))
    lethal = sum(not item["growth"] for item in results)
    return {
        "result": {
            "objective": best.objective,
            "growth_without_deletion": best.value,
            "results": results,
            "num_lethal": lethal,
        },
        "warnings": best.warnings,
    }


def _wanted(model: cobra.Model, kind: Kind, names: Sequence[str] | None) -> list[str]:
    known = model.genes if kind == "genes" else model.reactions
    if names is None:
        return [item.id for item in known]
    ids = gene_ids(model, names) if kind == "genes" else list(names)
    violations = unknown_ids(kind, ids, known, kind.removesuffix("s"))
    if violations:
        raise InvalidParameter.from_violations(violations)
    return list(dict.fromkeys(ids))


def _stopped(model: cobra.Model, kind: Kind, name: str) -> Iterable[str]:
    """Return the reactions that carry nothing without it."""
    if kind == "reactions":
        return [name]
    gene = model.genes.get_by_id(name)
    absent = {item.id for item in model.genes if not item.functional} | {name}
    return [reaction.id for reaction in gene.reactions if not reaction.gpr.eval(absent)]


def _growth_without(model: cobra.Model, stopped: Iterable[str]) -> float:
    with model:
        for name in stopped:
            model.reactions.get_by_id(name).bounds = (0.0, 0.0)
        verdict = solve(model)
        value = float(model.solver.objective.value) if verdict == "optimal" else 0.0
    return value if abs(value) > ZERO else 0.0


def _described(model: cobra.Model, kind: Kind, name: str, growth: float) -> Mapping[str, Any]:
    entity = (model.genes if kind == "genes" else model.reactions).get_by_id(name)
    named = {"name": entity.name} if entity.name and entity.name != name else {}
    return {"id": name, **named, "growth": growth}

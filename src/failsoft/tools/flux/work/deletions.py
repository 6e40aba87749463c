"""Single deletions of genes and reactions, as a task: the growth without each, as cobra finds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import cobra
from cobra.flux_analysis import single_gene_deletion, single_reaction_deletion
from optlang import interface

from failsoft.framework.errors import InvalidParameter
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.analyses import optimum
from failsoft.tools.flux.work.making import gene_ids, model_of, unknown_ids
from failsoft.tools.flux.work.solver import TROUBLE, ZERO, failure, limit_time
from failsoft.tools.flux.workers.worker import progress

Kind = Literal["genes", "reactions"]
_REPORTED_EACH = 50
_DELETIONS: Final[Mapping[Kind, Callable[..., Any]]] = {
    "genes": single_gene_deletion,
    "reactions": single_reaction_deletion,
}


def delete(recipe: Recipe, question: Conditions, kind: Kind, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the growth without each gene or reaction, one at a time: a task.

    A deletion of which no reaction has a flux at the optimum leaves that optimum as it is, so it is not solved.

    Args:
        recipe: The model.
        question: On which medium.
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
        best = optimum(model, recipe, question)
        growth: dict[str, float | None] = dict.fromkeys(wanted, best.value)
        changing = _changing(model, kind, wanted)
        for start in range(0, len(changing), _REPORTED_EACH):
            progress(start, len(changing), f"Deleting {kind}")
            growth |= _growth_without(model, kind, changing[start : start + _REPORTED_EACH])
    lethal = sum(value is None or not (value or best.is_minimum) for value in growth.values())
    return {
        "result": {
            "objective": best.objective,
            "growth_without_deletion": best.value,
            "results": [_described(model, kind, name, value or 0.0) for name, value in growth.items()],
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


def _changing(model: cobra.Model, kind: Kind, names: Sequence[str]) -> list[str]:
    """Return the deletions that may stop a reaction with a flux in the solution that was found last."""
    primal = model.solver.primal_values
    active = {item.id for item in model.reactions if primal[item.id] != primal[item.reverse_id]}
    if kind == "reactions":
        return [name for name in names if name in active]
    return [name for name in names if any(item.id in active for item in model.genes.get_by_id(name).reactions)]


def _growth_without(
    model: cobra.Model, kind: Kind, names: Sequence[str], *, presolve: bool | Literal["auto"] = "auto"
) -> dict[str, float | None]:
    """Return the growth without each, None where no fluxes meet the bounds.

    A deletion that gives the solver trouble is tried again with presolving.
    """
    limit_time(model)
    model.solver.configuration.presolve = presolve
    found: dict[str, float | None] = {}
    for ids, growth, status in _DELETIONS[kind](model, names, processes=1).itertuples(index=False):
        (name,) = ids
        if status == interface.OPTIMAL:
            found[name] = float(growth) if abs(growth) > ZERO else 0.0
        elif status == interface.INFEASIBLE:
            found[name] = None
        elif presolve == "auto":
            found |= _growth_without(model, kind, [name], presolve=True)
        else:
            raise failure(TROUBLE, f"the solver's status without {name} is '{status}'")
    return found


def _described(model: cobra.Model, kind: Kind, name: str, growth: float) -> Mapping[str, Any]:
    entity = (model.genes if kind == "genes" else model.reactions).get_by_id(name)
    named = {"name": entity.name} if entity.name and entity.name != name else {}
    return {"id": name, **named, "growth": growth}

"""Modify a model: remove reactions, knock out genes, set bounds and objective."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import cobra
import cobra.manipulation
from rapidfuzz import process
from rapidfuzz.distance import OSA

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import quoted
from failsoft.tools.flux.models.recipes import Recipe, Step
from failsoft.tools.flux.work.solving.facts import describe
from failsoft.tools.flux.work.solving.models import model_of

_BEGINNING_AT_LEAST = 3
"""Characters from which on a name counts as the beginning of an id."""
_SIMILAR_AT_MOST = 5
_SHORT = 6
_COMPARED_AT_MOST = 100
_GENE_NAMES = ("refseq_name", "refseq_synonym")
"""Annotations with names of a gene, such as `pfkA`."""


def check_and_describe(recipe: Recipe, step: Step) -> dict[str, Any]:
    """Return the facts of the model with one more step, a `modify`: a task.

    Raises:
        INVALID_PARAM: Reactions or genes that the model does not have, all of them, each with the closest id.
    """
    model = model_of(recipe)
    violations = [
        *unknown_ids("remove_reactions", step.get("remove_reactions", ()), model.reactions, "reaction"),
        *unknown_ids("knock_out_genes", gene_ids(model, step.get("knock_out_genes", ())), model.genes, "gene"),
        *unknown_ids("bounds", step.get("bounds", {}), model.reactions, "reaction"),
        *unknown_ids("objective", [step["objective"]] if "objective" in step else [], model.reactions, "reaction"),
    ]
    removed = set(step.get("remove_reactions", ()))
    violations += [
        Violation(path=path, reason="value", message=f'"{item}" is removed by the same call')
        for path, item in (
            *((f"bounds.{item}", item) for item in step.get("bounds", {})),
            *(("objective", item) for item in [step.get("objective")] if item is not None),
        )
        if item in removed
    ]
    if violations:
        raise InvalidParameter.from_violations(violations)
    return describe(recipe.then(step))


def modify(model: cobra.Model, step: Step) -> None:
    """Change a model as a step says; every id in it is one of the model's."""
    removed = step.get("remove_reactions", ())
    if removed:
        model.remove_reactions([model.reactions.get_by_id(item) for item in dict.fromkeys(removed)])
    genes = step.get("knock_out_genes", ())
    if genes:
        cobra.manipulation.knock_out_model_genes(model, list(dict.fromkeys(gene_ids(model, genes))))
    for reaction_id, (low, high) in step.get("bounds", {}).items():
        model.reactions.get_by_id(reaction_id).bounds = (
            -math.inf if low is None else low,
            math.inf if high is None else high,
        )
    if "objective" in step:
        model.objective = model.reactions.get_by_id(step["objective"])
        model.objective_direction = "max"


def similar(name: str, known: cobra.DictList) -> list[str]:
    """Return ids of the model that differ from a given one by a slip or two, or begin with it, the closest first."""
    ids = [item.id for item in known]
    plain = name.casefold()[:_COMPARED_AT_MOST]
    slips = 1 if len(plain) <= _SHORT else 2
    begun = [own for own in ids if len(plain) >= _BEGINNING_AT_LEAST and own.casefold().startswith(plain)]
    found = process.extract(
        plain, ids, scorer=OSA.distance, processor=str.casefold, limit=_SIMILAR_AT_MOST, score_cutoff=slips
    )
    return list(dict.fromkeys([*(match for match, _, _ in found), *begun]))[:_SIMILAR_AT_MOST]


def gene_ids(model: cobra.Model, names: Iterable[str]) -> list[str]:
    """Return the ids of genes that are given by id or by name, such as `pfkA`; unknown ones as they are."""
    by_name: dict[str, set[str]] = {}
    for gene in model.genes:
        annotated = (name for source in _GENE_NAMES for name in _listed(gene.annotation.get(source)))
        for name in (gene.name, *annotated):
            if name:
                by_name.setdefault(name, set()).add(gene.id)
    found = []
    for name in names:
        named = by_name.get(name, set())
        found.append(next(iter(named)) if name not in model.genes and len(named) == 1 else name)
    return found


def unknown_ids(parameter: str, given: Any, known: cobra.DictList, kind: str) -> list[Violation]:
    """Return a violation for each id that the model does not have, with ids that are spelled like it as candidates."""
    found = []
    is_map = isinstance(given, dict)
    for index, name in enumerate(given):
        if name not in known:
            closest = similar(name, known)
            path = parameter if parameter == "objective" else f"{parameter}.{name if is_map else index}"
            found.append(
                Violation(
                    path=path,
                    reason="reference",
                    message=f"the model has no {kind} {quoted(name, 100)}",
                    expected=f"{kind} of the model",
                    allowed=tuple(closest),
                    received=name,
                )
            )
    return found


def _listed(given: str | list[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())

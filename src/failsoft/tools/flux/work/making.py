"""A recipe becomes a model: shipped or unpacked, then modified and extended; kept in the worker."""

from __future__ import annotations

import base64
import collections
import importlib.resources
import json
import traceback
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import cobra
import cobra.io
import cobra.manipulation
from cobra.util.solver import linear_reaction_coefficients

from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import quoted
from failsoft.tools.flux.conditions import bounds_from_json
from failsoft.tools.flux.database.entries import similar_ids
from failsoft.tools.flux.store import Recipe, Step
from failsoft.tools.flux.work.exchanges import annotated

_kept: collections.OrderedDict[str, cobra.Model] = collections.OrderedDict()
_at_most = 8


def model_of(recipe: Recipe) -> cobra.Model:
    """Return the model of a recipe: kept, or made from the longest part of the recipe that is kept.

    It is shared by all tasks of this worker: change it inside `with model:` only.
    """
    steps = len(recipe.steps)
    start = next((index for index in range(steps, -1, -1) if recipe.digests[index] in _kept), None)
    if start is None:
        start = 0
        _keep(recipe.digests[0], _BASES[recipe.base["kind"]](recipe.base))
    model = _kept[recipe.digests[start]]
    _kept.move_to_end(recipe.digests[start])
    if start < steps:
        model = model.copy()
        for step in recipe.steps[start:]:
            STEPS[step["kind"]](model, step)
        _keep(recipe.digest, model)
    return model


def preload(names: Iterable[str], *, models_at_most: int) -> None:
    """Make shipped models, and keep so many models from now on; the one used longest ago goes first."""
    global _at_most  # noqa: PLW0603 - a worker has one set of models
    _at_most = models_at_most
    for name in names:
        try:
            model_of(Recipe.shipped(name))
        except Exception:  # noqa: BLE001 - the call that needs the model loads it and reports the error
            traceback.print_exc()


def shipped(base: Step) -> cobra.Model:
    """Return a model from cobra's own files; never from the network, where cobra itself would look for it."""
    file = importlib.resources.files("cobra.data") / f"{base['name']}.xml.gz"
    model = cast("cobra.Model", cobra.io.read_sbml_model(str(file)))
    model.solver = "glpk"  # the one solver that is always there, so that every replica says the same
    return model


def _keep(digest: str, model: cobra.Model) -> None:
    _kept[digest] = model
    _kept.move_to_end(digest)
    while len(_kept) > _at_most:
        _kept.popitem(last=False)


_GENE_NAMES = ("refseq_name", "refseq_synonym")
"""Annotations with names of a gene, such as `pfkA`."""


def modify(model: cobra.Model, step: Step) -> None:
    """Change a model as a step says; every id in it is one of the model's."""
    removed = step.get("remove_reactions", ())
    if removed:
        gone = [model.reactions.get_by_id(item) for item in dict.fromkeys(removed)]
        own = linear_reaction_coefficients(model)
        if not own.keys().isdisjoint(gone):  # else COBRApy keeps their variables in the objective
            model.objective = {item: weight for item, weight in own.items() if item not in gone}
        model.remove_reactions(gone)
    for reaction_id, bounds in step.get("bounds", {}).items():
        model.reactions.get_by_id(reaction_id).bounds = bounds_from_json(bounds)
    genes = step.get("knock_out_genes", ())
    if genes:
        cobra.manipulation.knock_out_model_genes(model, list(dict.fromkeys(gene_ids(model, genes))))
    if "objective" in step:
        model.objective = model.reactions.get_by_id(step["objective"])
        model.objective_direction = "max"


def gene_ids(model: cobra.Model, names: Iterable[str]) -> list[str]:
    """Return the ids of genes that are given by id or by name, such as `pfkA`; unknown ones as they are."""
    by_name: dict[str, set[str]] = {}
    for gene in model.genes:
        for name in gene_names(gene):
            by_name.setdefault(name, set()).add(gene.id)
    found = []
    for name in names:
        named = by_name.get(name, set())
        found.append(next(iter(named)) if name not in model.genes and len(named) == 1 else name)
    return found


def gene_names(gene: cobra.Gene) -> list[str]:
    """Return the names of a gene other than its id, such as `pfkA`, as far as its file has them."""
    others = (name for source in _GENE_NAMES for name in annotated(gene, source))
    return [name for name in (gene.name, *others) if name and name not in {gene.id, f"G_{gene.id}"}]


def unknown_ids(parameter: str, given: Any, known: cobra.DictList, kind: str) -> list[Violation]:
    """Return a violation for each id that the model does not have, with ids that are spelled like it as candidates."""
    found = []
    is_map = isinstance(given, dict)
    spelled = [name for item in known for name in (item.id, *(gene_names(item) if kind == "gene" else ()))]
    for index, name in enumerate(given):
        if name not in known:
            closest = similar_ids(name, spelled)
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


def packed(content: Mapping[str, Any], *, direction: str = "max", **origin: str) -> dict[str, Any]:
    """Return the base of a recipe that keeps a whole model, in a tenth of its size as JSON.

    Args:
        content: What `cobra.io.model_to_dict` gives.
        direction: The direction of the objective, which that leaves out.
        origin: What else the base says, such as `source` and `template`.
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    data = base64.b85encode(zlib.compress(text.encode(), level=6)).decode()
    return {"kind": "packed", "direction": direction, **origin, "data": data}


def unpacked(base: Step) -> cobra.Model:
    """Return the model of a base that `packed` made."""
    content = json.loads(zlib.decompress(base64.b85decode(base["data"])))
    model = cast("cobra.Model", cobra.io.model_from_dict(content))
    model.solver = "glpk"  # the one solver that is always there, so that every replica says the same
    model.objective_direction = base["direction"]
    return model


def add_reactions(model: cobra.Model, step: Mapping[str, Any]) -> None:
    """Add the reactions of a step of the kind `add`, with the metabolites that the model lacks."""
    made = cobra.io.model_from_dict(step)
    model.add_metabolites(
        [item for item in made.metabolites if not item.reactions and item.id not in model.metabolites]
    )
    model.add_reactions(list(made.reactions))


_BASES: dict[str, Callable[[Step], cobra.Model]] = {"shipped": shipped, "packed": unpacked}
STEPS: dict[str, Callable[[cobra.Model, Step], None]] = {"modify": modify, "add": add_reactions}

"""Changes to a model: reactions removed, genes knocked out, bounds and objective set."""

from __future__ import annotations

import math
from typing import Any

import cobra
import cobra.manipulation
from rapidfuzz import fuzz, process

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.violations import Violation
from failsoft.tools.flux.recipes import Recipe, Step
from failsoft.tools.flux.work.facts import describe
from failsoft.tools.flux.work.models import model_of

__all__ = ["check_and_describe", "modify", "similar"]

_BEGINNING_AT_LEAST = 3
"""Characters from which on a name counts as the beginning of an id."""
_SIMILAR_AT_MOST = 5


def check_and_describe(recipe: Recipe, step: Step) -> dict[str, Any]:
    """Return the facts of the model with one more step, a `modify`: a task.

    Raises:
        INVALID_PARAM: Reactions or genes that the model does not have, all of them, each with the closest id.
    """
    model = model_of(recipe)
    violations = [
        *_unknown("remove_reactions", step.get("remove_reactions", ()), model.reactions, "reaction"),
        *_unknown("knock_out_genes", step.get("knock_out_genes", ()), model.genes, "gene"),
        *_unknown("bounds", step.get("bounds", {}), model.reactions, "reaction"),
        *_unknown("objective", [step["objective"]] if "objective" in step else [], model.reactions, "reaction"),
    ]
    removed = set(step.get("remove_reactions", ()))
    violations += [
        Violation(path=path, reason="value", message=f"'{item}' is removed by the same call")
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
        cobra.manipulation.knock_out_model_genes(model, list(dict.fromkeys(genes)))
    for reaction_id, (low, high) in step.get("bounds", {}).items():
        model.reactions.get_by_id(reaction_id).bounds = (
            -math.inf if low is None else low,
            math.inf if high is None else high,
        )
    if "objective" in step:
        model.objective = model.reactions.get_by_id(step["objective"])


def similar(name: str, known: cobra.DictList) -> list[str]:
    """Return ids of the model that are spelled like one that it does not have, the closest first."""
    ids = [item.id for item in known]
    plain = name.casefold()
    begun = [own for own in ids if len(plain) >= _BEGINNING_AT_LEAST and own.casefold().startswith(plain)]
    found = process.extract(
        plain, ids, scorer=fuzz.ratio, processor=str.casefold, limit=_SIMILAR_AT_MOST, score_cutoff=60
    )
    return list(dict.fromkeys([*(match for match, _, _ in found), *begun]))[:_SIMILAR_AT_MOST]


def _unknown(parameter: str, given: Any, known: cobra.DictList, kind: str) -> list[Violation]:
    found = []
    is_map = isinstance(given, dict)
    for place, name in enumerate(given):
        if name not in known:
            closest = similar(name, known)
            path = parameter if parameter == "objective" else f"{parameter}.{name if is_map else place}"
            found.append(
                Violation(
                    path=path,
                    reason="reference",
                    message=f"the model has no {kind} '{name}'",
                    expected=f"{kind} of the model",
                    allowed=tuple(closest),
                    suggestion=closest[0] if closest else None,
                    received=name,
                )
            )
    return found

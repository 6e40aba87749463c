"""What is told of a model: its facts, warnings about implausible ones, and itself as text or in pages."""

from __future__ import annotations

import io
import json
import math
import weakref
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import cobra
import cobra.io
from cobra.io.json import JSON_SPEC
from cobra.util.solver import linear_reaction_coefficients

from failsoft.framework.errors import NextStep, ResultTooLarge
from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.database.entries import similar_ids
from failsoft.tools.flux.failures import ObjectiveNotFound
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.exchanges import exchanges_of
from failsoft.tools.flux.work.making import model_of
from failsoft.tools.flux.work.network import is_biomass

_REACTIONS_AT_LEAST = 100
_NAMED_AT_MOST = 10
_SIMILAR_AT_MOST = 5
_LISTS = ("reactions", "metabolites", "genes")
_ENTRIES_PER_PAGE = 200
_BOUNDS = frozenset({"lower_bound", "upper_bound"})
_ENDINGS = {"json": ".json", "sbml": ".xml"}
_MINIMIZED = {"objective_direction": "min"}
_DIRECTION = "COBRApy's JSON cannot say that the objective is minimized: set objective_direction to min after loading."

_objectives: weakref.WeakKeyDictionary[cobra.Model, tuple[str, ...]] = weakref.WeakKeyDictionary()


def describe(recipe: Recipe) -> dict[str, Any]:
    """Return the facts of a recipe's model and warnings about it: a task."""
    return describe_model(model_of(recipe))


def describe_model(model: cobra.Model) -> dict[str, Any]:
    """Return the facts of a model and warnings about it."""
    return {"facts": model_facts(model), "warnings": [*model_warnings(model), *_misannotated(model)]}


def _misannotated(model: cobra.Model) -> list[str]:
    named = [f"{reaction} ({compound})" for reaction, compound in exchanges_of(model).misannotated.items()]
    if not named:
        return []
    shown = enumerated(named, _NAMED_AT_MOST)
    return [f"These exchanges are annotated with the ModelSEED id of another metabolite; BiGG ids are used: {shown}."]


def model_facts(model: cobra.Model) -> dict[str, Any]:
    """Return the counts of a model and its objective, as `list_models` returns them."""
    return {
        "num_reactions": len(model.reactions),
        "num_metabolites": len(model.metabolites),
        "num_genes": len(model.genes),
        "num_exchange_reactions": len(exchanges_of(model).exchanges),
        "objective": " + ".join(objective_of(model)),
    }


def objective_of(model: cobra.Model) -> tuple[str, ...]:
    """Return the reactions that the model itself optimizes; worked out once, so ask before changing the objective."""
    found = _objectives.get(model)
    if found is None:
        found = _objectives[model] = tuple(sorted(reaction.id for reaction in linear_reaction_coefficients(model)))
    return found


def objective_for(model: cobra.Model, conditions: Conditions) -> tuple[str, ...]:
    """Return the reactions to optimize: the one that is asked for, else those of the model itself.

    Raises:
        OBJECTIVE_NOT_FOUND: The model has no such reaction, or no objective.
    """
    own, wanted = objective_of(model), conditions.objective
    if wanted is None and own:
        return own
    if wanted is not None and wanted in model.reactions:
        return (wanted,)
    growth = biomass_reactions(model) if wanted is None or is_biomass(wanted) else []
    if wanted is None:
        raise ObjectiveNotFound(
            message=f'The model "{conditions.model_id}" has no objective of its own; name the reaction to optimize.',
            model_id=conditions.model_id,
            objective="",
            similar_ids=growth[:_SIMILAR_AT_MOST],
            suggestions=[f"Biomass reactions of the model: {', '.join(growth[:_SIMILAR_AT_MOST])}"] if growth else [],
            next_step=conditions.again(objective=growth[0]) if len(growth) == 1 else None,
        )
    # Sources of models name their biomass reactions differently.
    found = similar_ids(wanted, [item.id for item in model.reactions])
    closest = list(dict.fromkeys([*filter(is_biomass, found if growth else ()), *growth, *found]))[:_SIMILAR_AT_MOST]
    raise ObjectiveNotFound(
        model_id=conditions.model_id,
        objective=wanted,
        similar_ids=closest,
        suggestions=[f"Reactions with similar ids: {', '.join(closest)}"] if closest else [],
        next_step=conditions.again(objective=None) if is_biomass(wanted) and any(map(is_biomass, own)) else None,
    )


def biomass_reactions(model: cobra.Model) -> list[str]:
    """Return the biomass reactions, recognized by their ids."""
    return [reaction.id for reaction in model.reactions if is_biomass(reaction.id)]


def model_warnings(model: cobra.Model) -> list[str]:
    """Return warnings about parts that usable models rarely lack (seed 002, biological plausibility)."""
    found = []
    if not biomass_reactions(model):
        found.append("The model has no biomass reaction.")
    if not exchanges_of(model).exchanges:
        found.append("The model has no exchange reactions, so it can take up nothing.")
    if len(model.reactions) < _REACTIONS_AT_LEAST:
        found.append(f"The model has {len(model.reactions)} reactions; whole models have at least 100.")
    return found


_TYPES: Mapping[str, Any] = {"name": str, "formula": str, "charge": Real, "notes": Mapping, "annotation": Mapping}


def model_faults(model: cobra.Model) -> list[dict[str, Any]]:
    """Return faults that no solver or writer accepts: no reactions, invalid numbers or fields, bounds out of order."""
    if not model.reactions:
        return [{"element": "model", "message": "has no reactions"}]
    items = [*model.reactions, *model.metabolites, *model.genes]
    found = ((item, _number_fault(item) if isinstance(item, cobra.Reaction) else _field_fault(item)) for item in items)
    return [{"element": type(item).__name__.lower(), "id": item.id, "message": text} for item, text in found if text]


def _number_fault(reaction: cobra.Reaction) -> str:
    low, high = reaction.bounds
    if math.isnan(low) or math.isnan(high) or low > high:
        return f"has the bounds [{low:g}, {high:g}]"
    is_finite = all(math.isfinite(number) for number in reaction.metabolites.values())
    return _field_fault(reaction) if is_finite else "has a coefficient that is not finite"


def _field_fault(item: Any) -> str:
    for name, kind in _TYPES.items():
        value = getattr(item, name, None)
        is_sound = value is None or (isinstance(value, kind) and value == value)  # noqa: PLR0124 - NaN is not
        if not is_sound or (name == "annotation" and not all(map(_is_listed, (value or {}).values()))):
            return f"has a {name} of a wrong type"
    return ""


def _is_listed(given: Any) -> bool:
    """Return whether what is annotated is an id, or a list of ids and of pairs of a qualifier with an id."""
    return isinstance(given, (str, list)) and all(isinstance(item, (str, list)) for item in given)


def export_model_json(
    recipe: Recipe, model_id: str, section: str, offset: int, limit: int | None, bytes_at_most: int | None
) -> dict[str, Any]:
    """Return a model, or one of its lists from `offset` on: a task.

    Args:
        recipe: The model.
        model_id: Its id, for the errors.
        section: `all`, or one of the lists.
        offset: Entries that are left out at the beginning of the list.
        limit: Entries at most; None for as many as fit.
        bytes_at_most: What the answer's JSON may take; None for no bound.

    Raises:
        RESULT_TOO_LARGE: The whole model does not fit; the next step asks for its reactions, page by page.
    """
    whole = _clean(_content(model_of(recipe)))
    totals = {f"num_{name}": len(whole[name]) for name in _LISTS}
    if section == "all" and not offset and limit is None:
        size = len(json.dumps(whole))
        if bytes_at_most is not None and size > bytes_at_most:
            page = {"model_id": model_id, "section": _LISTS[0], "offset": 0, "limit": _ENTRIES_PER_PAGE}
            step = NextStep("export_model_json", page)
            raise ResultTooLarge(size_bytes=size, limit_bytes=bytes_at_most, next_step=step)
        return {"section": section, "model": whole, **totals}
    shown = _LISTS if section == "all" else (section,)
    wanted = max(len(whole[name]) for name in shown) if limit is None else limit
    count = _fitting([whole[name][offset : offset + wanted] for name in shown], bytes_at_most)
    pages = {name: whole[name][offset : offset + count] for name in shown}
    end = offset + count
    is_more = any(len(whole[name]) > end for name in shown)
    rest = {name: value for name, value in whole.items() if name not in _LISTS}
    result = {"section": section, "model": {**rest, **pages}, "offset": offset, **totals}
    return {**result, "next_offset": end} if is_more else result


def export_model(
    recipe: Recipe, model_id: str, form: Literal["json", "sbml"], bytes_at_most: int | None
) -> dict[str, Any]:
    """Return a model as the text of a file that cobra reads: a task.

    Args:
        recipe: The model.
        model_id: Its id, for the error.
        form: `json` for cobra's JSON, `sbml` for SBML Level 3 with FBC.
        bytes_at_most: What the answer's JSON may take; None for no bound.

    Raises:
        RESULT_TOO_LARGE: The text does not fit; the next step writes it to a file.
    """
    model = model_of(recipe)
    if form == "json":
        text = json.dumps({**_content(model), "version": JSON_SPEC}, allow_nan=False)
    else:
        buffer = io.StringIO()
        cobra.io.write_sbml_model(model, buffer)
        text = buffer.getvalue()
    if bytes_at_most is not None:
        size = len(json.dumps(text))
        if size > bytes_at_most:
            whole = {"model_id": model_id, "format": form, "path": f"{model_id}{_ENDINGS[form]}"}
            step = NextStep("export_model", whole)
            raise ResultTooLarge(size_bytes=size, limit_bytes=bytes_at_most, next_step=step)
    return {"text": text, "warnings": [_DIRECTION] if form == "json" and model.objective_direction == "min" else []}


def _content(model: cobra.Model) -> dict[str, Any]:
    """Return a model as cobra's JSON, with the direction of its objective, which that lacks, where it is `min`."""
    return {**cobra.io.model_to_dict(model), **({} if model.objective_direction == "max" else _MINIMIZED)}


def _fitting(lists: list[list[Any]], bytes_at_most: int | None) -> int:
    """Return how many entries of each list fit together, at least one, since an empty page would not advance."""
    longest = max(map(len, lists))
    if bytes_at_most is None:
        return longest
    size = 0
    for index in range(longest):
        size += sum(len(json.dumps(entries[index])) + 1 for entries in lists if index < len(entries))
        if size > bytes_at_most:
            return max(1, index)
    return longest


def _clean(value: Any) -> Any:
    """Return the value as valid JSON: an infinite bound, which cobra writes as text, becomes null."""
    if isinstance(value, dict):
        return {
            str(name): None if name in _BOUNDS and isinstance(item, str) else _clean(item)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

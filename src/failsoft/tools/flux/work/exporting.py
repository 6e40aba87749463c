"""A model as JSON, in parts that fit into an answer."""

from __future__ import annotations

import json
import math
from typing import Any

import cobra.io

from failsoft.framework.errors import NextStep, ResultTooLarge
from failsoft.tools.flux.recipes import Recipe
from failsoft.tools.flux.work.models import model_of

__all__ = ["LISTS", "export"]

LISTS = ("reactions", "metabolites", "genes")
_ENTRIES_PER_PAGE = 200
_BOUNDS = frozenset({"lower_bound", "upper_bound"})


def export(
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
    whole = _clean(cobra.io.model_to_dict(model_of(recipe)))
    totals = {f"num_{name}": len(whole[name]) for name in LISTS}
    if section == "all" and not offset and limit is None:
        size = len(json.dumps(whole))
        if bytes_at_most is not None and size > bytes_at_most:
            raise _too_large(model_id, size, bytes_at_most)
        return {"section": section, "model": whole, **totals}
    shown = LISTS if section == "all" else (section,)
    wanted = max(len(whole[name]) for name in shown) if limit is None else limit
    count = _fitting([whole[name][offset : offset + wanted] for name in shown], bytes_at_most)
    pages = {name: whole[name][offset : offset + count] for name in shown}
    end = offset + count
    is_more = any(len(whole[name]) > end for name in shown)
    rest = {name: value for name, value in whole.items() if name not in LISTS}
    result = {"section": section, "model": {**rest, **pages}, "offset": offset, **totals}
    return {**result, "next_offset": end} if is_more else result


def _fitting(lists: list[list[Any]], bytes_at_most: int | None) -> int:
    """Return how many entries of each list fit together, at least one: a page that is empty leads nowhere."""
    longest = max(map(len, lists))
    if bytes_at_most is None:
        return longest
    size = 0
    for place in range(longest):
        size += sum(len(json.dumps(entries[place])) + 1 for entries in lists if place < len(entries))
        if size > bytes_at_most:
            return max(1, place)
    return longest


def _clean(value: Any) -> Any:
    """Return it as JSON can carry it: an infinite bound, which cobra writes as a text, is null."""
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


def _too_large(model_id: str, size: int, bytes_at_most: int) -> ResultTooLarge:
    step = {"model_id": model_id, "section": LISTS[0], "offset": 0, "limit": _ENTRIES_PER_PAGE}
    return ResultTooLarge(
        size_bytes=size, limit_bytes=bytes_at_most, next_step=NextStep("export_model_json", step), effect="none"
    )

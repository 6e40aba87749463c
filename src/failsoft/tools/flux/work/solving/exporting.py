"""Export a model as JSON or SBML, in pages."""

from __future__ import annotations

import io
import json
import math
from typing import Any, Literal

import cobra.io

from failsoft.framework.errors import NextStep, ResultTooLarge
from failsoft.tools.flux.models.recipes import Recipe
from failsoft.tools.flux.work.solving.models import model_of

LISTS = ("reactions", "metabolites", "genes")
_ENTRIES_PER_PAGE = 200
_SAMPLE = 20_000
_LEAST_PART = 10_000
_SHARE = 0.9
"""Part of the room that the content may take."""
_texts: dict[tuple[str, str], str] = {}
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


def export_text(
    recipe: Recipe, form: Literal["json", "sbml"], offset: int, bytes_at_most: int | None
) -> dict[str, Any]:
    """Return a model as the text of a file that cobra reads, or the part of it that begins at an offset: a task.

    Args:
        recipe: The model.
        form: `json` for cobra's JSON, `sbml` for SBML Level 3 with FBC.
        offset: Characters before the part.
        bytes_at_most: What the answer's JSON may take; None for no bound.
    """
    text = _text(recipe.digest, recipe, form)
    # Escaped quotation marks and line ends take twice their room, so the share of them in the text is measured.
    inflation = len(json.dumps(text[offset : offset + _SAMPLE])) / max(1, len(text[offset : offset + _SAMPLE]))
    room = len(text) if bytes_at_most is None else max(_LEAST_PART, int(bytes_at_most / inflation * _SHARE))
    part = text[offset : offset + room]
    end = offset + len(part)
    result = {"format": form, "content": part, "total_characters": len(text), "offset": offset}
    return {**result, "next_offset": end} if end < len(text) else result


def _text(digest: str, recipe: Recipe, form: str) -> str:
    cached = _texts.get((digest, form))
    if cached is None:
        model = model_of(recipe)
        buffer = io.StringIO()
        writer = cobra.io.save_json_model if form == "json" else cobra.io.write_sbml_model
        writer(model, buffer)
        _texts.clear()  # one text of several megabytes is enough: its parts are requested in a row
        cached = _texts[digest, form] = buffer.getvalue()
    return cached


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


def _too_large(model_id: str, size: int, bytes_at_most: int) -> ResultTooLarge:
    step = {"model_id": model_id, "section": LISTS[0], "offset": 0, "limit": _ENTRIES_PER_PAGE}
    return ResultTooLarge(
        size_bytes=size, limit_bytes=bytes_at_most, next_step=NextStep("export_model_json", step), effect="none"
    )

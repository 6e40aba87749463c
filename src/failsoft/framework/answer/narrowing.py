"""RESULT_TOO_LARGE with its way out: how many items the result has, how many fit, and what asks for fewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.errors import ResultTooLarge
from failsoft.framework.errors.meanings import words
from failsoft.framework.safe.json_safe import TooLarge, encode

LIMITS = frozenset({"count", "limit", "max_items", "max_results", "page_size", "per_page", "top_k"})
"""Parameters that limit the number of items of a result."""
_PLACES = frozenset({"cursor", "offset", "page", "page_token", "skip"})
"""Parameters that say where a page begins, and narrow nothing."""
_MARGIN = 0.8
_NAMED_AT_MOST = 3


def too_large(
    response: ToolResponse[Any], size_bytes: int, limit_bytes: int, schema: Mapping[str, Any], *, is_read: bool
) -> ResultTooLarge:
    """Return the error for a response above the limit.

    Args:
        response: The response.
        size_bytes: Its size.
        limit_bytes: The limit.
        schema: The input schema of the operation.
        is_read: Whether the call changed nothing, so that it may be made again with other arguments.
    """
    parts = _parts_of(response.data)
    items = max((part for part in parts.values() if isinstance(part, (list, tuple))), key=len, default=())
    fitting = 0
    if is_read and len(items) > 1 and not response.content:
        rest = {name: part for name, part in parts.items() if part is not items}
        fitting = _fitting(items, rest, size_bytes, limit_bytes)
    said = f"The result has {size_bytes} bytes, and at most {limit_bytes} can be sent."
    if fitting:
        said = (
            f"The result has {len(items)} items, of which {fitting} fit into the {limit_bytes} bytes that can be sent."
        )
    return ResultTooLarge(
        message=f"{said}{_how_to_narrow(schema)}" if is_read else said,
        size_bytes=size_bytes,
        limit_bytes=limit_bytes,
        items=len(items) or None,
        items_that_fit=fitting,
    )


def is_later_page(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Return whether another page than the first is asked for by its number: with shorter pages it begins elsewhere.

    Args:
        arguments: The arguments of the call.
        known: The schemas of its parameters, by name.
    """
    for name, value in arguments.items():
        if name in known and name not in LIMITS and isinstance(value, int) and "page" in words(name):
            own = known[name] if isinstance(known[name], Mapping) else {}
            if value > (0 if 0 in (own.get("default"), own.get("minimum")) else 1):
                return True
    return False


def _parts_of(data: Any) -> Mapping[Any, Any]:
    """Return the lists that a result may consist of, by name, and what stands beside them."""
    if isinstance(data, Mapping):
        return data
    is_record = isinstance(data, BaseModel) or (is_dataclass(data) and hasattr(data, "__dict__"))
    return vars(data) if is_record else {"": data}


def _fitting(items: Sequence[Any], rest: Mapping[Any, Any], size_bytes: int, limit_bytes: int) -> int:
    """Return how many of the items fit, the first ones encoded to be sure, with room for others that are longer."""
    number = min(len(items) - 1, len(items) * limit_bytes // max(size_bytes, 1))
    room = int(limit_bytes // 2 * _MARGIN)  # text and structure both have the JSON
    try:
        room -= len(encode(dict(rest), max_bytes=room).text.encode())
    except TooLarge:
        return 0
    while number > 0:
        try:
            encode(list(items[:number]), max_bytes=room)
        except TooLarge as found:
            number = min(number * 3 // 4, number * room // found.size_bytes)
        else:
            return number
    return 0


def _how_to_narrow(schema: Mapping[str, Any]) -> str:
    """Return which parameters ask for less: those without which nothing is left out, and the limit."""
    known = schema.get("properties", {})
    required = schema.get("required", ())
    filters = [f"`{name}`" for name, own in known.items() if name not in required and _is_filter(name, own)]
    pages = next((f" and go on with `{name}`" for name in known if name in _PLACES), "")
    limits = [f"lower `{name}`{pages}" for name in known if name in LIMITS][:1]
    named = filters[: _NAMED_AT_MOST - len(limits)]
    ways = [*([f"narrow {' or '.join(named)}"] if named else []), *limits]
    text = ", or ".join(ways)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _is_filter(name: str, own: Any) -> bool:
    is_unset = isinstance(own, Mapping) and own.get("default") is None
    return is_unset and own.get("type") != "boolean" and name not in LIMITS and name not in _PLACES

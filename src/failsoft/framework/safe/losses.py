"""Warnings about values that JSON cannot represent: NaN, Infinity and cycles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

__all__ = ["losses"]

_REPORTED_AT_MOST = 5
_LOOKED_AT_AT_MOST = 100_000
_DEPTH_AT_MOST = 100
_PATH_AT_MOST = 200


def losses(value: Any) -> list[str]:
    """Return a warning for each of the first five places whose value was replaced, by its path below `data`.

    >>> losses({"rows": [{"price": float("nan")}]})
    ['data.rows.0.price is null: the number is not finite.']
    """
    found = list(islice(_LossSearch().places(value, "data", 0), _REPORTED_AT_MOST + 1))
    more = ["There are more such values."] if len(found) > _REPORTED_AT_MOST else []
    return [*found[:_REPORTED_AT_MOST], *more]


class _LossSearch:
    """State of one traversal: its budget and the enclosing containers."""

    def __init__(self) -> None:
        self._left = _LOOKED_AT_AT_MOST
        self._inside: set[int] = set()

    def places(self, value: Any, path: str, depth: int) -> Iterator[str]:
        self._left -= 1
        if self._left < 0 or depth > _DEPTH_AT_MOST:
            return
        if isinstance(value, float):
            if not math.isfinite(value):
                yield f"{path[:_PATH_AT_MOST]} is null: the number is not finite."
            return
        if id(value) in self._inside:
            yield f'{path[:_PATH_AT_MOST]} is "<cycle>": the value contains itself.'
            return
        self._inside.add(id(value))
        for name, item in _members(value):
            yield from self.places(item, f"{path}.{name}", depth + 1)
        self._inside.discard(id(value))


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the members of a builtin container, by name or index; nothing for other values, whose code is not run."""
    kind = type(value)
    if kind is dict:
        yield from ((name, item) for name, item in list(value.items()) if isinstance(name, (str, int)))
    elif kind is list or kind is tuple:
        yield from enumerate(value)
    elif hasattr(kind, "__pydantic_serializer__") or dataclasses.is_dataclass(kind):
        yield from list(getattr(value, "__dict__", {}).items())

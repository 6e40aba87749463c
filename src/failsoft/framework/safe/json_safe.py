"""Any value as JSON that every client takes, and what had to be replaced.

Ordinary data is dumped at once by pydantic-core, after a walk that finds nothing but builtin types and models in it.
Everything else is rebuilt, value by value, without trusting its methods.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic_core import from_json, to_json, to_jsonable_python

from failsoft.framework.safe.rebuilt import Rebuild

MAX_DEPTH = 100
"""Levels of nesting; some JSON parsers have a limit of 128."""
MAX_ITEMS = 500_000
"""Values in one tree, counting shared ones each time: YAML aliases can expand a small file to billions."""
_SCALARS = frozenset({str, int, float, bool, type(None)})
_NAMES = frozenset({str})
_DIGITS_AT_MOST = 4_300
"""Of an integer; other parsers of JSON have a limit, too. A shorter text has no longer integer."""
_NOT_FINITE_TEXT = re.compile(rb"(?:\A|[\[,:])-?(?:NaN|Infinity)(?:[\],}]|\Z)")


def json_safe(value: Any, *, max_items: int = MAX_ITEMS) -> Any:
    """Return the value as a JSON tree of plain dicts, lists, strings, numbers, booleans and None.

    Ordinary data comes back equal. Values that JSON cannot represent are replaced: NaN and Infinity by None, lone
    surrogates by U+FFFD, bytes by their text or base64, sets by sorted lists, integers beyond 4,300 digits, cycles,
    nesting beyond `MAX_DEPTH` and foreign objects by a name in angle brackets. Never `repr`: it can leak or raise.

    Args:
        value: Anything.
        max_items: Maximum number of values; the rest is replaced by `<more>`.
    """
    return encode(value, max_items=max_items).tree


def dumps(value: Any, *, max_items: int = MAX_ITEMS) -> str:
    """Return the value as compact JSON text, by the rules of `json_safe`."""
    return encode(value, max_items=max_items).text


class TooLarge(Exception):
    """The value is larger than was asked for; made with the size of its JSON in bytes."""

    @property
    def size_bytes(self) -> int:
        """The size in bytes, or an estimate: what is far too large is not encoded."""
        return int(self.args[0])


def encode(value: Any, *, max_items: int = MAX_ITEMS, max_bytes: int | None = None) -> Encoded:
    """Return the value as JSON, by the rules of `json_safe`.

    Raises:
        TooLarge: The JSON has more than `max_bytes`.
    """
    try:
        made_of = _made_of(value, max_items, max_bytes)
        if made_of == "huge":
            _require_room(_least_bytes(value), max_bytes)
        if made_of in {"plain", "models"}:
            text = to_json(value, inf_nan_mode="constants")
            _require_room(len(text), max_bytes)
            _require_finite(text if made_of == "plain" or b"null" not in text else _with_constants(value))
            is_small = made_of == "plain" or _is_small(text, max_items)
            if is_small and len(text) <= _DIGITS_AT_MOST:
                return Encoded(text.decode())
            tree = from_json(text, allow_inf_nan=False)
            # The contents of a model can be counted only after it is dumped.
            if is_small or _made_of(tree, max_items, None) == "plain":
                return Encoded(text.decode(), tree=tree)
    except TooLarge:
        raise
    except BaseException:  # noqa: BLE001, S110 - a lone surrogate, a huge integer, NaN, a dict that changes, a model's own code
        pass
    rebuild = Rebuild(max_depth=MAX_DEPTH, max_items=max_items, max_bytes=max_bytes)
    tree = rebuild.run(value)
    text = to_json(tree)
    _require_room(len(text), max_bytes)
    return Encoded(text.decode(), is_faithful=rebuild.is_faithful, tree=tree, warnings=rebuild.warnings)


class Encoded:
    """A value as JSON.

    Args:
        text: Compact JSON.
        is_faithful: Whether no value was replaced by a name in angle brackets.
        tree: The same data as a tree; None if it was not needed yet.
        warnings: A sentence for each of the first five numbers that are not finite and cycles, with its path.
    """

    __slots__ = ("_tree", "is_faithful", "text", "warnings")

    def __init__(
        self, text: str, *, is_faithful: bool = True, tree: Any = None, warnings: Collection[str] = ()
    ) -> None:
        self.text = text
        self.is_faithful = is_faithful
        self._tree = tree
        self.warnings = warnings

    @property
    def tree(self) -> Any:
        """The data as a tree, always the same one."""
        if self._tree is None:
            self._tree = from_json(self.text, allow_inf_nan=False)
        return self._tree


def _made_of(  # noqa: C901, PLR0912 - a branch for each kind of value, in one loop
    value: Any, max_items: int, max_bytes: int | None
) -> Literal["plain", "models", "anything", "huge"]:
    """Return `plain` for a bounded tree of exact builtin types: no foreign code runs while it is dumped.

    `models` is the same with pydantic models among the leaves; pydantic-core dumps those ten times as fast.
    The walk is breadth-first, so that a cycle or a tree of shared lists ends at one of the limits.
    `huge` is what has more than `max_bytes` as JSON, unless it contains itself or shares its parts.
    """
    level = [value]
    count, depth, length = 1, 0, len(value) if type(value) is str else 0
    made_of: Literal["plain", "models"] = "plain"
    while level:
        depth += 1
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                if not _NAMES.issuperset(map(type, item)):
                    return "anything"
                inner: Collection[Any] = item.values()
            elif kind is list or kind is tuple:
                inner = item
            elif getattr(kind, "__pydantic_serializer__", None) is not None:
                made_of = "models"
                continue
            elif kind in _SCALARS:
                continue
            else:
                return "anything"
            count += len(inner)
            if max_bytes is not None:
                for part in inner:
                    if type(part) is str:
                        length += len(part)
                if length + 2 * count > max_bytes:
                    return "huge"
            if count > max_items or (inner and depth == MAX_DEPTH):
                return "anything"
            if not _SCALARS.issuperset(map(type, inner)):
                below += [part for part in inner if type(part) not in _SCALARS]
        level = below
    return made_of


def _least_bytes(value: Any) -> int:
    """Return how many bytes the JSON of a tree has at least, every container counted once, most of all for texts."""
    seen: set[int] = set()
    left = [[value]]
    size = 0
    while left:
        for part in left.pop():
            kind = type(part)
            if kind is str:
                size += len(part) + 3
            elif kind in _SCALARS:
                size += 2
            elif id(part) not in seen:
                seen.add(id(part))
                size += 3
                if kind is dict or kind is list or kind is tuple:
                    left.append(part.values() if kind is dict else part)
    return size - 1


def _require_room(size_bytes: int, max_bytes: int | None) -> None:
    if max_bytes is not None and size_bytes > max_bytes:
        raise TooLarge(size_bytes)


def _with_constants(value: Any) -> bytes:
    """Return the JSON of a value with the models that are in it as plain data: models write null for NaN."""
    return to_json(to_jsonable_python(value), inf_nan_mode="constants")


def _require_finite(text: bytes) -> None:
    if (b"NaN" in text or b"Infinity" in text) and _NOT_FINITE_TEXT.search(text):
        raise ValueError


def _is_small(text: bytes, max_items: int) -> bool:
    """Return whether JSON text is too short to have too many values, and has too few brackets to nest too deeply."""
    return len(text) <= max_items and text.count(b"{") + text.count(b"[") < MAX_DEPTH


def is_same_json(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two calls have the same arguments; for Python 45.0 and 45, or 1 and true, are the same too."""
    return one == other and dumps(dict(one)) == dumps(dict(other))

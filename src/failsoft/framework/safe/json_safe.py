"""Any value as JSON that every client takes, and what had to be replaced.

Ordinary data is dumped at once by pydantic-core, after a walk that finds nothing but builtin types and models in it.
Everything else is rebuilt, value by value, without trusting its methods.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import numbers
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from pathlib import PurePath
from typing import Any, Literal
from uuid import UUID

from pydantic_core import from_json, to_json, to_jsonable_python

from failsoft.framework.text import bounded, type_name

MAX_DEPTH = 100
"""Levels of nesting; some JSON parsers have a limit of 128."""
MAX_ITEMS = 500_000
"""Values in one tree, counting shared ones each time: YAML aliases can expand a small file to billions."""
_SCALARS = frozenset({str, int, float, bool, type(None)})
_NAMES = frozenset({str})
_DIGITS_AT_MOST = 4_300
"""Of an integer; other parsers of JSON have a limit, too. A shorter text has no longer integer."""
_NOT_FINITE_TEXT = re.compile(rb"(?:\A|[\[,:])-?(?:NaN|Infinity)(?:[\],}]|\Z)")
_MORE = "<more>"
_CYCLE = "<cycle>"
_TOO_DEEP = "<too deep>"
_INTEGER_BITS = 14_280
"""Just below 4,300 digits, where Python's own `json` refuses to write or read an integer."""
_NAME_AT_MOST = 80
_WARNINGS_AT_MOST = 5
_PATH_AT_MOST = 200
_NOT_FINITE = "is null: the number is not finite"
_CONTAINS_ITSELF = f'is "{_CYCLE}": the value contains itself'
_WRITABLE = (date, time, timedelta, Decimal, UUID, IPv4Address, IPv6Address)


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
    """The value is larger than was asked for.

    Args:
        size_bytes: The size of its JSON in bytes, or an estimate: what is far too large is not encoded.
    """

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self.size_bytes = size_bytes


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


class Rebuild:
    """State of one conversion: its budget of values and the enclosing containers.

    Containers are read through the methods of the builtin types, since a subclass may override its own. Where foreign
    code has to run (a model, a mapping, a property), an exception is replaced by the type's name.

    Args:
        max_depth: Levels of nesting.
        max_items: Values.
        max_bytes: What is larger may be cut anywhere beyond that.
    """

    def __init__(self, *, max_depth: int, max_items: int, max_bytes: int | None = None) -> None:
        self.is_faithful = True
        """Whether no value was replaced by a name in angle brackets."""
        self.warnings: list[str] = []
        """Sentences about the first numbers that are not finite and cycles."""
        self._path: list[str] = []
        self._max_depth = max_depth
        self._left = max_items if max_bytes is None else min(max_items, max_bytes // 2 + 1)
        self._is_bounded = max_bytes is not None
        self._inside: set[int] = set()

    def run(self, value: Any) -> Any:
        """Return the JSON tree."""
        return self._rebuilt(value, 0)

    def _rebuilt(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            return self._instead(_MORE)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, (str, int, float)):
            if self._is_bounded and issubclass(kind, str):
                value = self._cut(str.__str__(value))
            scalar = _scalar(value, kind)
            if scalar is None:
                self._lose(_NOT_FINITE)
            return scalar if type(scalar) is not str or issubclass(kind, str) else self._instead(scalar)
        return self._guarded(value, kind, depth)

    def _guarded(self, value: Any, kind: type, depth: int) -> Any:
        if depth >= self._max_depth:
            return self._instead(_TOO_DEEP)
        if id(value) in self._inside:
            self._lose(_CONTAINS_ITSELF)
            return self._instead(_CYCLE)
        self._inside.add(id(value))
        try:
            return self._composed(value, kind, depth + 1)
        except BaseException:  # noqa: BLE001 - foreign code may raise anything, SystemExit included
            return self._instead(_named(kind))
        finally:
            self._inside.discard(id(value))

    def _lose(self, what: str) -> None:
        if len(self.warnings) < _WARNINGS_AT_MOST:
            self.warnings.append(f"{'.'.join(self._path)[:_PATH_AT_MOST] or 'data'} {what}.")
        elif len(self.warnings) == _WARNINGS_AT_MOST:
            self.warnings.append("There are more such values.")

    def _instead(self, name: str) -> str:
        self.is_faithful = False
        return name

    def _composed(self, value: Any, kind: type, depth: int) -> Any:  # noqa: PLR0911 - one return per kind of value
        if issubclass(kind, dict):
            return self._object(dict.items(value), depth)
        if issubclass(kind, (list, tuple)):
            builtin = list if issubclass(kind, list) else tuple
            return self._array(builtin.__iter__(value), depth)
        if issubclass(kind, (set, frozenset)):
            builtin_set = set if issubclass(kind, set) else frozenset
            return self._sorted(builtin_set.__iter__(value), depth)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return _text_of(self._cut(memoryview(value)))
        if issubclass(kind, Enum):
            return self._rebuilt(value._value_, depth)
        if issubclass(kind, _WRITABLE):
            return _scalar(to_jsonable_python(value), str)
        if issubclass(kind, PurePath):
            return _scalar(str(value), str)
        return self._foreign(value, kind, depth)

    def _foreign(self, value: Any, kind: type, depth: int) -> Any:  # noqa: PLR0911 - the same
        serializer = getattr(kind, "__pydantic_serializer__", None)
        if serializer is not None:
            return self._rebuilt(_dumped(serializer, value), depth)
        if dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind)]
            return self._object(((name, getattr(value, name)) for name in names), depth)
        if issubclass(kind, Mapping):
            return self._object(value.items(), depth)
        if issubclass(kind, AbstractSet):
            return self._sorted(iter(value), depth)
        if issubclass(kind, Sequence):
            return self._array(iter(value), depth)
        if issubclass(kind, numbers.Integral):
            return _scalar(int(value), int)
        if issubclass(kind, numbers.Real):
            return self._rebuilt(float(value), depth)
        return self._instead(_named(kind))

    def _cut(self, text: Any) -> Any:
        """Return a text, or the beginning of one that is too large; two characters count as a value."""
        if self._is_bounded:
            text = text[: 2 * max(self._left, 0) + 2]
            self._left -= len(text) // 2
        return text

    def _object(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        repeats: dict[str, int] = {}
        for key, item in self._affordable(pairs):
            rebuilt = self._rebuilt(key, depth)
            name = rebuilt if isinstance(rebuilt, str) else to_json(rebuilt).decode()
            if name in tree:
                repeats[name] = repeats.get(name, 1) + 1
                name = f"{name}~{repeats[name]}"
            tree[name] = self._at(name, item, depth)
        return tree

    def _at(self, name: str, item: Any, depth: int) -> Any:
        self._path.append(name)
        try:
            return self._rebuilt(item, depth)
        finally:
            self._path.pop()

    def _array(self, items: Iterator[Any], depth: int) -> list[Any]:
        return [self._at(str(index), item, depth) for index, item in enumerate(self._affordable(items))]

    def _sorted(self, items: Iterator[Any], depth: int) -> list[Any]:
        """Return the items in the order of their JSON: a set's own order differs from process to process."""
        return sorted(self._array(items, depth), key=to_json)

    def _affordable(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items up to one beyond the budget, which is then replaced by `<more>`.

        They are copied at once, so that another thread that changes the container does not break the loop.
        """
        for item in list(islice(items, max(self._left, 0) + 1)):
            yield item
            if self._left < 0:
                return


def _scalar(value: Any, kind: type) -> Any:
    if issubclass(kind, str):
        return _encodable(str.__str__(value))
    if issubclass(kind, int):
        exact = int.__pos__(value)
        return exact if exact.bit_length() <= _INTEGER_BITS else f"<integer of {exact.bit_length()} bits>"
    number = float.__pos__(value)
    return number if math.isfinite(number) else None


def _text_of(data: memoryview) -> str:
    """Return bytes as text if they are UTF-8, else as base64."""
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _dumped(serializer: Any, value: Any) -> Any:
    """Return a pydantic model as plain data, in JSON mode if possible (bytes may prevent it)."""
    try:
        return serializer.to_python(value, mode="json", by_alias=True, warnings=False)
    except Exception:  # noqa: BLE001 - a custom serializer may raise anything
        return serializer.to_python(value, mode="python", by_alias=True, warnings=False)


def _named(kind: type) -> str:
    """Return the type's name in angle brackets, bypassing any metaclass."""
    return f"<{bounded(type_name(kind), _NAME_AT_MOST)}>"

"""A value rebuilt as a tree that JSON can represent, without trusting its methods."""

from __future__ import annotations

import base64
import dataclasses
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic_core import to_json, to_jsonable_python

from failsoft.framework.text import bounded, type_name

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

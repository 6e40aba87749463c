"""Validation by `jsonschema` within bounds: patterns in linear time, items compared once, a number of steps."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from failsoft.framework.validation.values import same_json, unique_key

_PATTERNS_AT_MOST = 512
_PATTERN_LENGTH_AT_MOST = 2_000
_SECONDS_AT_MOST = 2.0
"""Processor time of one validation; beyond small values it is spent in a worker thread."""
_STEPS = 500
"""Keywords that are evaluated between two looks at the clock."""
_trusted: dict[str, re.Pattern[str]] = {}
"""Patterns with look-around or back-references that the authors of tools have written."""
_left: ContextVar[list[float]] = ContextVar("failsoft_validation_left")
"""Steps up to the next look at the clock, and the thread's time at which the validation ends."""


class TooCostlyError(ValueError):
    """A value takes too long to be validated."""


@lru_cache(maxsize=_PATTERNS_AT_MOST)
def _search(pattern: str) -> Callable[[str], bool] | None:
    """Return a search by the engine of pydantic-core, which does not backtrack; None if it refuses the pattern."""
    if len(pattern) > _PATTERN_LENGTH_AT_MOST:
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError:
        return None


def is_linear(pattern: str) -> bool:
    """Return whether a pattern can be matched in linear time: it has no look-around and no back-references."""
    return _search(pattern) is not None


def found_in(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern somewhere; a pattern that has no linear time is tried only if trusted."""
    search = _search(pattern)
    if search is not None:
        return search(text)
    trusted = _trusted.get(pattern)
    return trusted is None or trusted.search(text) is not None


def trust(pattern: str) -> None:
    """Have a pattern matched by Python's `re`, although it may take very long for some texts.

    Raises:
        re.error: It is invalid.
    """
    _trusted[pattern] = re.compile(pattern)


def first_error(validator: Any, value: Any) -> Any:
    """Return the first error of a value by a validator of a `bounded_kind`, or None.

    Raises:
        TooCostlyError: It takes too long to tell.
    """
    token = _left.set([_STEPS, time.thread_time() + _SECONDS_AT_MOST])
    try:
        return next(validator.iter_errors(value), None)
    finally:
        _left.reset(token)


@cache  # making a class takes a millisecond; a draft has one
def bounded_kind(kind: Any) -> Any:
    """Return a draft's validator class that validates in bounded time, for the numbers that JSON has."""
    from jsonschema.validators import extend  # noqa: PLC0415 - 30 ms that only tools with JSON Schemas pay for

    own = {
        "additionalProperties": _additional_properties,
        "enum": _enum,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    keywords = {name: _counted(own.get(name, check)) for name, check in kind.VALIDATORS.items()}
    return extend(kind, keywords, type_checker=kind.TYPE_CHECKER.redefine("number", _is_number))  # type: ignore[no-untyped-call]  # jsonschema has no types here


def _pattern(validator: Any, wanted: str, value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "string") and not found_in(wanted, value):
        yield _error("the pattern does not match")


def _pattern_properties(validator: Any, wanted: Mapping[str, Any], value: Any, _schema: Any) -> Iterator[Any]:
    for text, below in wanted.items() if validator.is_type(value, "object") else ():
        for name, item in value.items():
            if found_in(text, name):
                yield from validator.descend(item, below, path=name, schema_path=text)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in value.items():
        if name not in known and not any(found_in(text, name) for text in patterns):
            yield from validator.descend(item, wanted, path=name)


def _enum(_validator: Any, wanted: list[Any], value: Any, _schema: Any) -> Iterator[Any]:
    if not any(same_json(value, option) for option in wanted):
        yield _error("none of the listed values")


def _unique_items(validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if wanted and validator.is_type(value, "array") and len({unique_key(item) for item in value}) < len(value):
        yield _error("items are repeated")


def _error(said: str) -> Any:
    from jsonschema import ValidationError  # noqa: PLC0415 - the same

    return ValidationError(said)


def _counted(check: Callable[..., Any]) -> Callable[..., Any]:
    def keyword(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
        left = _left.get()
        left[0] -= 1
        if left[0] < 0:
            left[0] = _STEPS
            if time.thread_time() > left[1]:
                raise TooCostlyError
        return check(validator, wanted, value, schema)

    return keyword


def _is_number(_checker: Any, value: Any) -> bool:
    """Return whether JSON can represent this number: it is not NaN or infinite."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)

"""JSON values: their types, equality and formats, as JSON Schema and signatures see them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

import pydantic_core
from pydantic_core import SchemaError, SchemaValidator, core_schema

_KINDS: dict[type, tuple[str, ...]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    list: ("array",),
    tuple: ("array",),
    dict: ("object",),
    type(None): ("null",),
}


def is_of(kind: Any, value: Any) -> bool:
    """Return whether a value is of a JSON type, or one of several; 20.0 is an integer, as JSON Schema says."""
    if isinstance(kind, list):
        return any(is_of(one, value) for one in kind)
    known = _KINDS.get(type(value))
    if known is not None:
        return kind in known
    if isinstance(value, float):
        return math.isfinite(value) and (kind == "number" or (kind == "integer" and value.is_integer()))
    return kind == "object" and isinstance(value, Mapping)


def same_json(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if type(one) is type(other) and type(one) in {str, bool, int}:
        return bool(one == other)
    return bool(unique_key(one) == unique_key(other))


def unique_key(value: Any) -> Any:
    """Return something hashable that is equal for equal JSON values."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, (list, tuple)):
        return ("array", *map(unique_key, value))
    if isinstance(value, Mapping):
        return ("object", frozenset([(str(name), unique_key(item)) for name, item in value.items()]))
    return value if value.__hash__ is not None else id(value)


def is_multiple(value: float, factor: float) -> bool:
    """Return whether a number is a multiple of another, as far as floating point can tell."""
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    try:
        share = value / factor
        return math.isclose(share, round(share), rel_tol=1e-9)
    except (OverflowError, ValueError, ZeroDivisionError):
        return True


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _validator_of(form: str) -> SchemaValidator | None:
    kinds = {
        "date": core_schema.date_schema(),
        "date-time": core_schema.datetime_schema(),
        "time": core_schema.time_schema(),
        "duration": core_schema.timedelta_schema(),
        "uuid": core_schema.uuid_schema(),
    }
    return SchemaValidator(kinds[form]) if form in kinds else None


def is_of_format(form: str, text: Any) -> bool:
    """Return whether a text has a format, as far as signatures check it, too; other formats are not checked."""
    check = _validator_of(form)
    if check is None or not isinstance(text, str):
        return True
    try:
        check.validate_json(pydantic_core.to_json(text), strict=True)
    except ValueError:
        return False
    return True


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

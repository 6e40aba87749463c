"""JSON values: their types, equality and formats, as JSON Schema and signatures see them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import pydantic_core
from pydantic_core import SchemaValidator, core_schema

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

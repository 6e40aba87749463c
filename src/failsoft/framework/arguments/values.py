"""One JSON value: its type, equality, format and bounds as schemas and signatures see them, and its faults in words."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pydantic_core
from pydantic_core import SchemaValidator, core_schema

from failsoft.framework.arguments.patterns import found_in
from failsoft.framework.errors.violations import Reason
from failsoft.framework.text import bounded, quoted

_KINDS: dict[type, tuple[str, ...]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    list: ("array",),
    tuple: ("array",),
    dict: ("object",),
    type(None): ("null",),
}
FORMATS: dict[str, str] = {
    "date": "a date as YYYY-MM-DD",
    "date-time": "a date and time as YYYY-MM-DDThh:mm:ssZ",
    "time": "a time as hh:mm:ss",
    "duration": "a duration as PT1H30M",
    "email": "an email address",
    "idn-email": "an email address",
    "hostname": "a host name",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "uri": "a URL",
    "uri-reference": "a URL or a part of one",
    "uuid": "a UUID",
    "regex": "a regular expression",
    "json-pointer": "a JSON pointer",
    "base64url": "base64url text",
}
"""JSON Schema's `format` in words; other formats are shown by name."""

_HASHED_ALIKE = sys.hash_info.modulus
"""From here on many integers have one hash, so that a set of them takes quadratic time."""
_BEGINNING = re.compile(r"\^([\w/:@# -]{1,20})")
"""A pattern that only requires a prefix."""
_SHA256 = frozenset({"^[0-9a-f]{64}$", "^[0-9a-fA-F]{64}$"})

_BOUNDS: dict[str, tuple[Reason, str]] = {
    "minimum": ("range", "at least {0}"),
    "maximum": ("range", "at most {0}"),
    "exclusiveMinimum": ("range", "more than {0}"),
    "exclusiveMaximum": ("range", "less than {0}"),
    "multipleOf": ("range", "a multiple of {0}"),
    "minLength": ("length", "at least {0} character{s}"),
    "maxLength": ("length", "at most {0} character{s}"),
    "minItems": ("length", "at least {0} item{s}"),
    "maxItems": ("length", "at most {0} item{s}"),
    "minProperties": ("length", "at least {0} name{s}"),
    "maxProperties": ("length", "at most {0} name{s}"),
    "minContains": ("length", "at least {0} fitting item{s}"),
    "maxContains": ("length", "at most {0} fitting item{s}"),
}
"""Keyword -> reason and template over the keyword's value; `{s}` is its plural."""


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
    if isinstance(one, (list, tuple)):
        return isinstance(other, (list, tuple)) and len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, Mapping):
        is_alike = isinstance(other, Mapping) and one.keys() == other.keys()
        return is_alike and all(same_json(item, other[name]) for name, item in one.items())
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def unique_key(value: Any) -> Any:
    """Return something hashable that is equal for equal JSON values."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, (list, tuple)):
        return ("array", *map(unique_key, value))
    if isinstance(value, Mapping):
        return ("object", frozenset([(str(name), unique_key(item)) for name, item in value.items()]))
    if isinstance(value, (int, float)) and _HASHED_ALIKE <= abs(value) < math.inf:
        return ("number", hex(int(value)))
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


def faults_of_text(schema: Mapping[str, Any], text: str) -> Iterator[tuple[Reason, str]]:
    """Yield the faults of a text: no Unicode, its length, its pattern, its format; and what would be accepted."""
    if not text.isascii() and not is_unicode(text):
        yield "format", "Unicode text"
        return
    yield from faults_of_size(schema, len(text), "Length")
    pattern, form = schema.get("pattern"), schema.get("format")
    if isinstance(pattern, str) and not found_in(pattern, text):
        yield "pattern", matching(bounded(pattern, 80))
    if isinstance(form, str) and not is_of_format(form, text):
        yield "format", FORMATS.get(form, bounded(form, 80))


def faults_of_number(schema: Mapping[str, Any], value: float) -> Iterator[tuple[Reason, str]]:
    """Yield the bounds that a number breaks."""
    for keyword, is_beyond in (
        ("minimum", lambda limit: value < limit),
        ("maximum", lambda limit: value > limit),
        ("exclusiveMinimum", lambda limit: value <= limit),
        ("exclusiveMaximum", lambda limit: value >= limit),
        ("multipleOf", lambda limit: not is_multiple(value, limit)),
    ):
        limit = schema.get(keyword)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and is_beyond(limit):
            yield beyond(keyword, limit)


def faults_of_size(schema: Mapping[str, Any], size: int, unit: str) -> Iterator[tuple[Reason, str]]:
    """Yield the bound of a size that is broken; `unit` is the end of its keywords: `Length`, `Items`, `Properties`."""
    least, most = f"min{unit}", f"max{unit}"
    if size < schema.get(least, 0):
        yield beyond(least, schema[least])
    if size > schema.get(most, math.inf):
        yield beyond(most, schema[most])


def beyond(keyword: str, limit: Any) -> tuple[Reason, str]:
    """Return the fault of a value beyond a bound, and what would be accepted."""
    reason, template = _BOUNDS[keyword]
    shown = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
    return reason, template.format(bounded(str(shown), 80), s="" if limit == 1 else "s")


def matching(pattern: str) -> str:
    """Describe texts that match a pattern: as `text that begins with "/"` for a prefix, otherwise with the pattern."""
    if pattern in _SHA256:
        return "a SHA-256: 64 hex digits"
    beginning = _BEGINNING.fullmatch(pattern)
    return (
        f"text that begins with {quoted(beginning[1])}"
        if beginning
        else f"text that matches the pattern {quoted(pattern, 80)}"
    )

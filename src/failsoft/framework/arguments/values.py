"""What is wrong with one text, number or size by its schema, and what would be accepted in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.framework.arguments.bounded import found_in, is_multiple, is_of_format, is_unicode
from failsoft.framework.errors.violations import Reason
from failsoft.framework.text import bounded, quoted

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

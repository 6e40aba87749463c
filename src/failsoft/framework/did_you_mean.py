"""The closest accepted name or value to one that was refused, and values that only have the wrong JSON type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

from failsoft.framework.schema_words import json_type

__all__ = ["closest_name", "closest_value", "coerced"]

_CUTOFF = 60
"""Similarity from 0 to 100 below which a guess confuses more than it helps."""
_LENGTH_AT_MOST = 80
"""Characters of a name that are compared: the cost grows with the product of both lengths."""
_OPTIONS_AT_MOST = 500
_WEIGHTLESS = str.maketrans("", "", " \t\n\r_.-")

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?")
_BOOLEANS = {"true": True, "false": False}


def closest_name(name: str, options: Iterable[str]) -> str | None:
    """Return the option that is closest to a name; case, `_`, `-` and spaces weigh nothing (`maxResults`)."""
    if len(name) > _LENGTH_AT_MOST:
        return None
    plain = {option: _plain(option) for option in list(options)[:_OPTIONS_AT_MOST] if len(option) <= _LENGTH_AT_MOST}
    found = _search()(_plain(name), plain)
    return found[2] if found is not None else None


@lru_cache(maxsize=1_024)
def _plain(name: str) -> str:
    """Return what of a name is compared. Most names come from schemas, so the same few are asked about every time."""
    return name.translate(_WEIGHTLESS).casefold()


@cache
def _search() -> Callable[[str, Mapping[str, str]], tuple[str, float, str] | None]:
    """Return the search for the closest name; it takes 8 ms to load, so only a server with a confused caller does."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - as above

    return partial(process.extractOne, scorer=fuzz.ratio, score_cutoff=_CUTOFF)


def closest_value(value: Any, options: Sequence[Any]) -> Any:
    """Return the option that a value was meant to be: the same text in another type, or a near miss; else None."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value) if not isinstance(value, int) or abs(value) < 10**_LENGTH_AT_MOST else ""
    for option in options:
        if not isinstance(option, bool) and str(option) == text:
            return option
    words = [option for option in options if isinstance(option, str)]
    return closest_name(text, words) if isinstance(value, str) else None


def coerced(value: Any, kinds: frozenset[str]) -> Any:
    """Return the same value in one of the JSON types `kinds`, or None if nothing can be changed without loss.

    >>> coerced("5", frozenset({"integer"}))
    5
    >>> coerced("a", frozenset({"array"}))
    ['a']
    >>> coerced("5.5", frozenset({"integer"})) is None
    True
    """
    same: Any = None
    if isinstance(value, str):
        same = _from_text(value.strip(), kinds)
    elif isinstance(value, float) and "integer" in kinds and value.is_integer() and abs(value) < 2**53:
        same = int(value)
    elif isinstance(value, int) and not isinstance(value, bool) and "string" in kinds and abs(value) < 10**18:
        same = str(value)
    if same is None and "array" in kinds and json_type(value) in {"string", "integer", "number", "boolean", "object"}:
        same = [value]
    return same


def _from_text(text: str, kinds: frozenset[str]) -> Any:
    if "integer" in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in kinds and text.casefold() in _BOOLEANS:
        return _BOOLEANS[text.casefold()]
    if text[:1] in {"[", "{"} and len(text) <= _LENGTH_AT_MOST:
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return parsed if json_type(parsed) in kinds else None
    return None

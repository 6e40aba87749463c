"""Finds the closest accepted name or value, and values that only have the wrong JSON type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from failsoft.framework.text import json_type

__all__ = ["certain_name", "closest_name", "closest_value", "coerced", "is_one_edit_away", "near_names", "same_name"]

_CUTOFF = 60
"""Minimum similarity of a suggestion, from 0 to 100."""
_MARGIN = 10
"""How much more similar than the second one a name has to be to count as the only close match."""
_NEAR_AT_MOST = 3
_LENGTH_AT_MOST = 80
"""Characters of a name that are compared: the cost grows with the product of both lengths."""
_OPTIONS_AT_MOST = 500
_JSON_AT_MOST = 100_000
"""Characters of JSON in a text that are parsed."""
_WEIGHTLESS = str.maketrans("", "", " \t\n\r_.-")

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?")
_WITH_UNIT = re.compile(r"([+-]?\d{1,15}(?:\.\d{1,15})?)\s*([A-Za-zµμ%°][A-Za-z0-9µμ%°/^*·. -]{0,19})")
_BOOLEANS = {"true": True, "false": False}


def near_names(name: str, options: Iterable[str]) -> list[str]:
    """Return up to three options that are similar to a name, the closest first; case and separators are ignored."""
    return [option for option, _ in _ranked(name, options)]


def closest_name(name: str, options: Iterable[str]) -> str | None:
    """Return the option that is closest to a name; case, `_`, `-` and spaces are ignored (`maxResults`)."""
    found = _ranked(name, options)
    return found[0][0] if found else None


def certain_name(name: str, options: Iterable[str], *, at_least: int = _CUTOFF) -> str | None:
    """Return the option that is equal except for case and separators, or the only close match.

    None if several options are close, or none is close enough.

    Args:
        name: As received.
        options: What is accepted.
        at_least: The minimum similarity, from 0 to 100.
    """
    found = _ranked(name, options)
    if not found:
        return None
    best, score = found[0]
    is_alone = len(found) == 1 or score - found[1][1] >= _MARGIN
    return best if is_alone and score >= at_least else None


def same_name(name: str, other: str) -> bool:
    """Return whether two names differ only in case and separators: `run_FBA` and `run-fba`."""
    return len(name) <= _LENGTH_AT_MOST and _plain(name) == _plain(other)


def is_one_edit_away(name: str, other: str) -> bool:
    """Return whether inserting, deleting, replacing or transposing one letter turns one name into the other.

    >>> is_one_edit_away("orders", "order"), is_one_edit_away("delete_file", "write_file")
    (True, False)
    """
    one, two = sorted((name[:_LENGTH_AT_MOST].casefold(), other[:_LENGTH_AT_MOST].casefold()), key=len)
    if len(two) - len(one) > 1:
        return False
    start = next((index for index, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    if len(one) < len(two):
        return one[start:] == two[start + 1 :]
    rest = one[start + 1 :] == two[start + 1 :]
    swapped = one[start : start + 2] == two[start : start + 2][::-1] and one[start + 2 :] == two[start + 2 :]
    return rest or swapped


def _ranked(name: str, options: Iterable[str]) -> list[tuple[str, float]]:
    if len(name) > _LENGTH_AT_MOST:
        return []
    plain, similarity = _plain(name), _similarity()
    found = [
        (option, score)
        for option in list(dict.fromkeys(options))[:_OPTIONS_AT_MOST]
        if len(option) <= _LENGTH_AT_MOST and (score := similarity(plain, _plain(option), score_cutoff=_CUTOFF))
    ]
    return sorted(found, key=itemgetter(1), reverse=True)[:_NEAR_AT_MOST] if len(found) > 1 else found


@lru_cache(maxsize=1_024)
def _plain(name: str) -> str:
    """Return the normalized name for comparison. Cached, since most names come from schemas."""
    return name.translate(_WEIGHTLESS).casefold()


@cache
def _similarity() -> Callable[..., float]:
    """Return the function that compares two names, imported on first use because that takes 8 ms."""
    from rapidfuzz.fuzz import ratio  # noqa: PLC0415 - as above

    return ratio


def closest_value(value: Any, options: Sequence[Any]) -> Any:
    """Return the option with the same text in another type, or a close match; otherwise None."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value) if not isinstance(value, int) or abs(value) < 10**_LENGTH_AT_MOST else ""
    for option in options:
        if not isinstance(option, bool) and str(option) == text:
            return option
    words = [option for option in options if isinstance(option, str)]
    return closest_name(text, words) if isinstance(value, str) else None


def coerced(value: Any, kinds: frozenset[str], items: frozenset[str] = frozenset()) -> Any:
    """Convert a value to one of the JSON types `kinds`; return None if that is not possible without loss.

    A number is never converted to text, because an id, a path or a name would be a guess.

    Args:
        value: As received.
        kinds: The accepted JSON types.
        items: The JSON types of a list's items, where a list is accepted; empty for any.

    >>> coerced("5", frozenset({"integer"}))
    5
    >>> coerced("a", frozenset({"array"}))
    ['a']
    >>> coerced("a", frozenset({"array"}), frozenset({"object"})) is None
    True
    >>> coerced("10 mM", frozenset({"number"}))
    10.0
    """
    same: Any = None
    if isinstance(value, str):
        same = _from_text(value.strip(), kinds)
    elif isinstance(value, int) and not isinstance(value, bool) and "boolean" in kinds and value in {0, 1}:
        same = bool(value)
    elif isinstance(value, float) and "integer" in kinds and value.is_integer() and abs(value) < 2**53:
        same = int(value)
    if same is None and "array" in kinds and value is not None and not isinstance(value, (list, tuple)):
        kind = json_type(value)
        fits = not items or kind in items or (kind == "integer" and "number" in items)
        same = [value] if fits and kind in {"string", "integer", "number", "boolean", "object"} else None
    return same


def _from_text(text: str, kinds: frozenset[str]) -> Any:
    if "boolean" in kinds and text.casefold() in _BOOLEANS:
        return _BOOLEANS[text.casefold()]
    if text[:1] in {"[", "{"} and kinds & {"array", "object"} and len(text) <= _JSON_AT_MOST:
        return _parsed(text, kinds)
    return _number(text, kinds) if text[:1].isdecimal() or text.startswith(("+", "-", ".")) else None


def _number(text: str, kinds: frozenset[str]) -> Any:
    """Return the number that a text is, or that it has before a unit (`10 mM`)."""
    if "integer" in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return float(text)
    measured = _WITH_UNIT.fullmatch(text) if kinds & {"integer", "number"} else None
    number = None if measured is None else float(measured[1])
    if number is None or "number" in kinds:
        return number
    return int(number) if number.is_integer() else None


def _parsed(text: str, kinds: frozenset[str]) -> Any:
    """Return a list or an object that was sent as JSON text; a single object becomes a list if one is expected."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if json_type(parsed) in kinds:
        return parsed
    return [parsed] if isinstance(parsed, dict) and "array" in kinds else None

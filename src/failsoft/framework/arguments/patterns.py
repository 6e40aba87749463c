"""Regular expressions of schemas: matched in linear time, and compiled in bounded time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from pydantic_core import SchemaError, SchemaValidator, core_schema

_LENGTH_AT_MOST = 2_000
_BYTES_AT_MOST = 48_000_000
"""Memory of the compiled patterns of this process, by `compiled_bytes`."""
_EACH_BYTES = 20_000
_CHARACTER_BYTES = 60
_CLASS_BYTES = 3_000
_UNICODE_BYTES = 60_000
_REPEATS_AT_MOST = 100_000
_TOKEN = re.compile(
    r"\\. | \[(?:\\.|[^\]\\])*\] | \{(?P<least>\d{1,9})(?:,(?P<most>\d{0,9}))?\} | \( | .", re.DOTALL | re.VERBOSE
)
_UNICODE = re.compile(r"\\[wWpPbB]")
_CLASS = re.compile(r"\\[sSdD]|\[\^|^\.$")
_Search: TypeAlias = Callable[[str], bool]

_trusted: dict[str, re.Pattern[str]] = {}
"""Patterns with look-around or back-references that the authors of tools have written."""
_compiled: dict[str, _Search | None] = {}
_bytes = [0]


def compiled_bytes(pattern: str) -> int:
    r"""Estimate the memory of a compiled pattern, to which the time to compile it is in proportion.

    A counted repetition is compiled as often as it repeats; a class of Unicode characters takes 60 kB.

    >>> compiled_bytes("^[0-9a-f]{64}$") < 100_000 < compiled_bytes(r"^\w{64}$")
    True
    """
    sums, last = [0], 0
    for token in _TOKEN.finditer(pattern[:_LENGTH_AT_MOST]):
        text = token[0]
        if token["least"]:
            repeats = min(int(token["most"] or token["least"]), _REPEATS_AT_MOST)
            sums[-1] += last * max(repeats - 1, 0)
            last *= max(repeats, 1)
            continue
        if text == "(":
            sums.append(0)
            continue
        last = sums.pop() if text == ")" and len(sums) > 1 else len(text) * _CHARACTER_BYTES
        last += _UNICODE_BYTES * len(_UNICODE.findall(text)) + _CLASS_BYTES * len(_CLASS.findall(text))
        sums[-1] += last
    return _EACH_BYTES + sum(sums) * (2 if "(?i" in pattern else 1)


def _search(pattern: str) -> _Search | None:
    """Return a search by the engine of pydantic-core, which does not backtrack; None if it refuses the pattern."""
    with suppress(KeyError):
        return _compiled[pattern]
    if len(pattern) > _LENGTH_AT_MOST:
        return None
    try:
        found = SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError:
        found = None
    _bytes[0] += compiled_bytes(pattern)
    if _bytes[0] > _BYTES_AT_MOST:
        _bytes[0] = compiled_bytes(pattern)
        _compiled.clear()
    _compiled[pattern] = found
    return found


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

"""Excerpts of a file that a caller needs to correct an edit: few raw lines, bounded in bytes.

Source: seed 000, "Context Window Positioning" and pitfall 3.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from failsoft.tools.edit.engine import FailedEdit, matches

CONTEXT_BYTES_AT_MOST = 10_000
"""Bytes of a whole context as JSON, even where that escapes all but ASCII, as many encoders do."""
_OVERHEAD_BYTES = 100
"""Bytes of names and numbers, of a context and of each location."""
_COMPARED_AT_MOST = 2_000_000
"""Characters compared to count overlapping matches: in a long text of one letter that would take hours."""
_AROUND_MISSING = 7
_AROUND_MATCH = 3
_LOCATIONS_AT_MOST = 5
_PREFIXES = (20, 10, 5)


def missing_context(failed: FailedEdit) -> dict[str, Any]:
    """Return the lines around the match of the longest prefix, else the head of the file."""
    place = _near_miss(failed.text, failed.sought)
    return {"snippet": window(failed.text, place, _AROUND_MISSING, is_filled=True)}


def ambiguous_context(failed: FailedEdit) -> dict[str, Any]:
    """Return the first matches, each with its line (from 1) and the lines around it, and how many more there are."""
    shown = list(itertools.islice(matches(failed.text, failed.sought), _LOCATIONS_AT_MOST))
    limit = CONTEXT_BYTES_AT_MOST // len(shown) - _OVERHEAD_BYTES
    locations = [
        {
            "line": failed.text.count("\n", 0, start) + 1,
            "snippet": window(failed.text, start, _AROUND_MATCH, limit=limit),
        }
        for start in shown
    ]
    more = _count(failed.text, failed.sought, shown[-1] + 1)
    return {"match_locations": locations, **({"more_matches": more} if more else {})}


def window(
    text: str,
    place: int,
    around: int,
    *,
    is_filled: bool = False,
    limit: int = CONTEXT_BYTES_AT_MOST - _OVERHEAD_BYTES,
) -> str:
    """Return the line of a place and as many before and after it, without the last line's end.

    Args:
        text: All of it.
        place: A position in it.
        around: Lines on each side.
        is_filled: Whether lines that one side lacks, at an end of the text, are added on the other side.
        limit: Bytes of the result as JSON; of longer lines the part around the place is returned.
    """
    start, above = _up(text, place, around)
    end, below = _down(text, place, around)
    if is_filled:
        end, _ = _down(text, end, around - above)
        start, _ = _up(text, start, around - below)
    end -= text.startswith("\r\n", end - 1)  # a lone CR, sent back unchanged, would match and split the line's CRLF
    return _clipped(text, start, end, place, limit)


def _count(text: str, sought: str, begin: int) -> int:
    """Return the number of matches from `begin` on; above a limit, only disjoint ones are counted."""
    count = 0
    while count * len(sought) < _COMPARED_AT_MOST:
        place = text.find(sought, begin)
        if place < 0:
            return count
        count, begin = count + 1, place + 1
    return count + text.count(sought, begin)


def _near_miss(text: str, sought: str) -> int:
    """Return the first match of the longest of a few prefixes; the head of the text if none matches."""
    for length in _PREFIXES:
        place = text.find(sought[:length])
        if place >= 0:
            return place
    return 0


def _up(text: str, place: int, lines: int) -> tuple[int, int]:
    """Return the start of the line that is so many lines above, and how many lines there were."""
    start = text.rfind("\n", 0, place) + 1
    for count in range(lines):
        if start == 0:
            return 0, count
        start = text.rfind("\n", 0, start - 1) + 1
    return start, lines


def _down(text: str, place: int, lines: int) -> tuple[int, int]:
    """Return the end of the line that is so many lines below, and how many lines there were."""
    last = len(text) - text.endswith("\n")
    end = text.find("\n", place, last)
    for count in range(lines):
        if end < 0:
            return last, count
        end = text.find("\n", end + 1, last)
    return (last if end < 0 else end), lines


def _clipped(text: str, start: int, end: int, place: int, limit: int) -> str:
    """Return the range, or the part of it around the place that fits into `limit` bytes of JSON."""
    reach = min(end - start, limit)
    low = max(start, min(place - reach // 2, end - reach))
    if end - start <= limit and len(json.dumps(text[start:end])) <= limit:
        return text[start:end]
    fits = 0
    most = reach
    while fits < most:
        half = (fits + most + 1) // 2
        low = max(start, min(place - half // 2, end - half))
        if len(json.dumps(text[low : low + half])) <= limit:
            fits = half
        else:
            most = half - 1
    low = max(start, min(place - fits // 2, end - fits))
    return text[low : low + fits]

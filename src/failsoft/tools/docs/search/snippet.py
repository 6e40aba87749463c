"""The most relevant passage of a text for a query, with its words marked; in linear time."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence, Set as AbstractSet
from functools import lru_cache
from itertools import islice

MARK = "**"
_CHARACTERS = 280
_MATCHES_AT_MOST = 500
_LOOKS_AT_MOST = 4_000
"""For all words of a query together, in one text."""
_TEXT_CHARACTERS_AT_MOST = 400_000
_LEAD_CHARACTERS = 60
_ENDINGS = re.compile(r"(?:izations?|ations?|ements?|ments?|ness|ings?|ies|ied|ers?|ed|es|ly|e|s|y)$")
_ROOT_AT_LEAST = 3
_REST = re.compile(r"[^\W_]{0,10}(?![^\W_])")
"""The end of a word."""


@lru_cache(maxsize=10_000)
def root_of(word: str) -> str:
    """Return a word without its common English ending, in lower case: equal for most forms of one word."""
    low = word.casefold()
    root = _ENDINGS.sub("", low)
    return root if len(root) >= _ROOT_AT_LEAST else low


def snippet(text: str, words: Sequence[str]) -> str:
    """Return at most some 280 characters around the most different words of the query, each marked with `**`.

    Args:
        text: The text of a document.
        words: The words of the query.
    """
    text = text[:_TEXT_CHARACTERS_AT_MOST]
    found = _matches(text, words)
    if not found:
        return _line(text[: _CHARACTERS * 2])[:_CHARACTERS].rstrip()
    begin, end = _window(found)
    start = max(0, begin - _LEAD_CHARACTERS)
    if start:
        start = text.find(" ", start, begin) + 1 or begin
    stop = min(len(text), max(end, start + _CHARACTERS))
    if stop < len(text):
        stop = max(text.rfind(" ", end, stop), end)
    parts, at = [], start
    for first, last, _ in found:
        if first >= start and last <= stop:
            parts += [text[at:first], MARK, text[first:last], MARK]
            at = last
    parts.append(text[at:stop])
    before, after = "…" if start else "", "…" if stop < len(text) else ""
    return f"{before}{_line(''.join(parts))}{after}"


def _matches(text: str, words: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return begin, end and root of each word of the query in the text, as far as they are looked for."""
    roots = {root_of(part) for word in words for part in re.findall(r"[^\W_]+", word)}
    if not roots:
        return []
    low = text.lower()
    if len(low) != len(text):  # a letter whose small form is two
        low = "".join(sign if len(sign.lower()) > 1 else sign.lower() for sign in text)
    found: set[tuple[int, int, str]] = set()
    for root in roots:
        found.update(islice(places_of(low, root, roots, _LOOKS_AT_MOST // len(roots)), _MATCHES_AT_MOST))
    return sorted(found)[:_MATCHES_AT_MOST]


def places_of(low: str, root: str, roots: AbstractSet[str], looks_at_most: int) -> Iterator[tuple[int, int, str]]:
    """Yield the words that begin with a root and are forms of one; `str.find` is several times as fast as a pattern.

    Args:
        low: A text in lower case.
        root: What the words begin with.
        roots: The roots that they may have.
        looks_at_most: How often the root is looked for: one letter occurs in every second word.
    """
    at = low.find(root)
    while at >= 0 and looks_at_most:
        looks_at_most -= 1
        if not at or not low[at - 1].isalnum():
            rest = _REST.match(low, at + len(root))
            if rest is not None and (form := root_of(low[at : rest.end()])) in roots:
                yield at, rest.end(), form
        at = low.find(root, at + len(root))


def _window(found: Sequence[tuple[int, int, str]]) -> tuple[int, int]:
    """Return where the matches begin and end that hold the most different words within one snippet."""
    inside: deque[tuple[int, int, str]] = deque()
    counts: dict[str, int] = {}
    best, place = (0, 0), (found[0][0], found[0][1])
    for match in found:
        inside.append(match)
        counts[match[2]] = counts.get(match[2], 0) + 1
        while match[1] - inside[0][0] > _CHARACTERS - _LEAD_CHARACTERS:
            gone = inside.popleft()
            counts[gone[2]] -= 1
            if not counts[gone[2]]:
                del counts[gone[2]]
            if not inside:
                break
        if inside and (len(counts), len(inside)) > best:
            best, place = (len(counts), len(inside)), (inside[0][0], inside[-1][1])
    return place


def _line(text: str) -> str:
    return " ".join(text.split())

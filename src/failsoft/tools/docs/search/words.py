"""English words of a search: roots, stop words, synonyms, and the passage of a text that has most of them."""

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


_INTRODUCTION_WITHIN_CHARACTERS = 6_000
_PROSE_AT_LEAST = 30
"""Characters of a paragraph in an introduction; shorter ones are labels, or what is left of markup."""
_NOISE = re.compile(r"```.*?(?:```|\Z)|<[^<>]{1,300}>|\]\([^)]{0,300}\)|[|#*`_\[\]>-]+", re.DOTALL)


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


def places_of(
    low: str, root: str, roots: AbstractSet[str] | None, looks_at_most: int
) -> Iterator[tuple[int, int, str]]:
    """Yield the words that begin with a root and are forms of one; `str.find` is several times as fast as a pattern.

    Args:
        low: A text in lower case.
        root: What the words begin with.
        roots: The roots that they may have; None for any.
        looks_at_most: How often the root is looked for: one letter occurs in every second word.
    """
    at = low.find(root)
    while at >= 0 and looks_at_most:
        looks_at_most -= 1
        if not at or not low[at - 1].isalnum():
            rest = _REST.match(low, at + len(root))
            if rest is not None and (
                (form := root_of(low[at : rest.end()])) in roots if roots is not None else (form := root)
            ):
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


_WORDS = """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don down during each else ever every
    few for from further get gets give given go had hadn has hasn have haven having he her here hers herself him
    himself his how however i if im in into is isn it its itself just let like ll may me might more most must my
    myself need needs no nor not now of off on once one only or other ought our ours ourselves out over own please
    re same shall she should shouldn show so some somehow something such tell than that the their theirs them
    themselves then there these they this those through to too under until up upon us ve very want wants was wasn
    way we were weren what when where whether which while who whole whom whose why will with within without won
    would wouldn you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_WORDS.split())

_GROUPS = """
    account user username person people | add insert append | app application program |
    argument parameter param arg option flag | auth authentication login signin | begin start | build compile bundle |
    change modify edit update | check verify validate test | choose select pick | cli terminal command shell |
    config configuration setting | create make generate new | db database | delete remove uninstall erase |
    dependency package library module | dev development | directory folder | doc documentation |
    duplicate twice repeat | env environment | error failure exception problem | execute exec run |
    find search locate | fix repair solve | function method | image picture photo | language locale translation |
    link url address | list show display print | multiple several many | password secret credential token key |
    performance slow fast latency | permission right access | prod production | ram memory | record log |
    reply response answer | repo repository | site website | store save persist | stop cancel abort interrupt |
    upgrade migrate | voice speech audio
"""
"""Words on one matter: synonyms, short forms, and a few that are asked for in each other's place."""


def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in _GROUPS.split("|"):
        roots = frozenset(map(root_of, group.split()))
        found.update({root: roots - {root} for root in roots})
    return found


SYNONYMS = _synonyms()
"""By the root of a word: the roots of those that a page may have in its place."""


def introduction(body: str, characters: int) -> str:
    """Return the first prose of a text, at most so many characters, without headings, markup and code."""
    return _introduction(body[:_INTRODUCTION_WITHIN_CHARACTERS], characters)


@lru_cache(maxsize=1024)  # of the pages that searches rank again and again: at most 30 MB, some 7 MB of usual pages
def _introduction(beginning: str, characters: int) -> str:
    found = ""
    for part in re.split(r"\n\s*\n", beginning):
        is_heading = len(part) <= _PROSE_AT_LEAST or part.lstrip().startswith("#")
        text = "" if is_heading else plain_prose(part)
        if len(text) > _PROSE_AT_LEAST:
            found = f"{found} {text}"
            if len(found) > characters:
                break
    return found[1 : characters + 1]


def plain_prose(text: str) -> str:
    """Return a text without markup and code, on one line."""
    return " ".join(_NOISE.sub(" ", text).split())

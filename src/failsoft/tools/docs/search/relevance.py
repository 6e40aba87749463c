"""BM25F: the relevance of pages to words, with title, description, introduction and text counted field by field."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set as AbstractSet
from itertools import islice
from typing import NamedTuple

from failsoft.tools.docs.search.connection import IndexConnection, Scope
from failsoft.tools.docs.search.english import SYNONYMS
from failsoft.tools.docs.search.snippet import places_of, root_of
from failsoft.tools.docs.semantic.passages import introduction

_WEIGHTS = (5.0, 5.0, 2.0, 1.0)
"""Of title, description, introduction and text."""
_LENGTH_SHARES = (0.5, 0.5, 0.5, 0.75)
"""How much the length of each field counts: 0 not at all, 1 fully."""
_SATURATION = 5.0
"""The weighted number of times that a word occurs at which it counts half."""
_COUNTED_AT_MOST = 40
_LOOKS_AT_MOST = 300
_WORDS_AT_MOST = 16
"""Words of a query that are weighed: each is counted in the index and looked for in all pages."""
_TEXT_CHARACTERS_AT_MOST = 100_000
_INTRODUCTION_CHARACTERS = 800
_SYNONYM_WEIGHT = 0.6
_MISSING_WORD_WEIGHT = 3.0
"""The weight of a word that no document has, for its synonyms: that of a word that one document in twenty has."""
_PARTS = re.compile(r"[^\W_]+")


class Term(NamedTuple):
    """A word of a query.

    Args:
        root: The word without its ending.
        weight: The rarer the word, the more.
        synonyms: The roots of words that may stand in its place.
    """

    root: str
    weight: float
    synonyms: AbstractSet[str]


class Page(NamedTuple):
    """What is known of a match.

    Args:
        fields: Title, description, introduction and text, in lower case.
    """

    row: int
    title: str
    name: str
    fields: tuple[str, str, str, str]


def pages_of(connection: IndexConnection, rows: Sequence[int]) -> list[Page]:
    """Return the pages of these rows."""
    found = connection.execute(
        "SELECT documents.id, documents.title, name, lead, substr(body, 1, ?) FROM documents"  # noqa: S608 - only ?
        f" JOIN pages ON pages.rowid = documents.id WHERE documents.id IN ({', '.join('?' * len(rows))})",
        [_TEXT_CHARACTERS_AT_MOST, *rows],
    )
    return [Page(row, title, name, _fields(title, lead, body)) for row, title, name, lead, body in found]


def _fields(title: str, lead: str, body: str) -> tuple[str, str, str, str]:
    """Return title, description, introduction and text."""
    described = lead.partition("\n")[0]
    return title.lower(), described.lower(), introduction(body, _INTRODUCTION_CHARACTERS).lower(), body.lower()


def terms_of(connection: IndexConnection, words: Sequence[str]) -> list[Term]:
    """Return the terms of a query, the first ones of a long one."""
    parts = {root_of(part): part for word in words[:_WORDS_AT_MOST] for part in _PARTS.findall(word)}
    documents = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    terms: list[Term] = []
    for root, part in parts.items():
        count = connection.count(f'"{part}"', Scope())
        weight = math.log(1 + (documents - count + 0.5) / (count + 0.5)) if count else _MISSING_WORD_WEIGHT
        terms.append(Term(root, weight, SYNONYMS.get(root, frozenset()) - parts.keys()))
    return terms


def relevance(pages: Sequence[Page], terms: Sequence[Term]) -> list[float]:
    """Return the relevance of each page to the terms. The lengths of the pages are compared with each other.

    Source: Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004.
    """
    every = zip(*(page.fields for page in pages), strict=True)
    means = [max(1.0, sum(map(len, texts)) / len(texts)) for texts in every]
    return [sum(term.weight * _share(page, term, means) for term in terms) for page in pages]


def _share(page: Page, term: Term, means: Sequence[float]) -> float:
    """Return how much a page is about a term, from 0 to 1."""
    others = (_SYNONYM_WEIGHT * _share_of(page, other, means) for other in term.synonyms)
    return max(_share_of(page, term.root, means), max(others, default=0.0))


def _share_of(page: Page, root: str, means: Sequence[float]) -> float:
    counted = 0.0
    for text, weight, length_share, mean in zip(page.fields, _WEIGHTS, _LENGTH_SHARES, means, strict=True):
        count = sum(1 for _ in islice(places_of(text, root, {root}, _LOOKS_AT_MOST), _COUNTED_AT_MOST))
        counted += weight * count / (1 - length_share + length_share * len(text) / mean)
    return counted / (counted + _SATURATION)

"""Lexical search: what matches is ranked by BM25F over title, description, introduction and text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set as AbstractSet
from itertools import islice
from typing import NamedTuple

from failsoft.tools.docs.documents.paths import address
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.tables import IndexConnection, Scope, ScoredRow
from failsoft.tools.docs.search.words import SYNONYMS, introduction, places_of, root_of, snippet
from failsoft.tools.docs.signatures import SearchHit, SearchResults

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
_DESCRIPTION_CHARACTERS = 80
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
        is_prefix: Whether any word counts that begins so.
    """

    root: str
    weight: float
    synonyms: AbstractSet[str]
    is_prefix: bool = False


class Page(NamedTuple):
    """What is known of a match.

    Args:
        fields: Title, description, introduction and text, in lower case.
    """

    row: int
    title: str
    path: str
    fields: tuple[str, str, str, str]


def pages_of(connection: IndexConnection, rows: Sequence[int]) -> list[Page]:
    """Return the pages of these rows."""
    found = connection.execute(
        "SELECT documents.id, documents.title, documents.path, lead, substr(body, 1, ?) FROM documents"  # noqa: S608 - only ?
        f" JOIN pages ON pages.rowid = documents.id WHERE documents.id IN ({', '.join('?' * len(rows))})",
        [_TEXT_CHARACTERS_AT_MOST, *rows],
    )
    return [Page(row, title, path, _fields(title, lead, body)) for row, title, path, lead, body in found]


def _fields(title: str, lead: str, body: str) -> tuple[str, str, str, str]:
    """Return title, description, introduction and text."""
    described = lead.partition("\n")[0]
    return title.lower(), described.lower(), introduction(body, _INTRODUCTION_CHARACTERS).lower(), body.lower()


def mean_lengths(connection: IndexConnection) -> tuple[int, list[float]]:
    """Return how many documents there are, and the mean length of each field of theirs, about."""
    sql = "SELECT count(*), avg(length(title)), avg(size) FROM documents"
    count, title, size = connection.execute(sql).fetchone()
    means = (title, _DESCRIPTION_CHARACTERS, _INTRODUCTION_CHARACTERS, size)
    return count, [max(1.0, float(mean or 1)) for mean in means]


def terms_of(connection: IndexConnection, query: Query, documents: int) -> list[Term]:
    """Return the terms of a query, the first ones of a long one."""
    parts = {
        part.lower() if word in query.prefixes else root_of(part): (part, word in query.prefixes)
        for word in query.words[:_WORDS_AT_MOST]
        for part in _PARTS.findall(word)
    }
    terms: list[Term] = []
    for root, (part, is_prefix) in parts.items():
        count = connection.count(f'"{part}"{"*" * is_prefix}', Scope())
        weight = math.log(1 + (documents - count + 0.5) / (count + 0.5)) if count else _MISSING_WORD_WEIGHT
        terms.append(Term(root, weight, SYNONYMS.get(root, frozenset()) - parts.keys(), is_prefix))
    return terms


def relevance(pages: Sequence[Page], terms: Sequence[Term], means: Sequence[float]) -> list[float]:
    """Return the relevance of each page to the terms.

    Args:
        pages: The pages.
        terms: What they are searched for.
        means: The mean length of each field over all pages.

    Source: Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004.
    """
    return [sum(term.weight * _share(page, term, means) for term in terms) for page in pages]


def _share(page: Page, term: Term, means: Sequence[float]) -> float:
    """Return how much a page is about a term, from 0 to 1."""
    others = (_SYNONYM_WEIGHT * _share_of(page, other, means) for other in term.synonyms)
    own = _share_of(page, term.root, means, is_prefix=term.is_prefix)
    return max(own, max(others, default=0.0))


def _share_of(page: Page, root: str, means: Sequence[float], *, is_prefix: bool = False) -> float:
    forms = None if is_prefix else {root}
    counted = 0.0
    for text, weight, length_share, mean in zip(page.fields, _WEIGHTS, _LENGTH_SHARES, means, strict=True):
        count = sum(1 for _ in islice(places_of(text, root, forms, _LOOKS_AT_MOST), _COUNTED_AT_MOST))
        counted += weight * count / (1 - length_share + length_share * len(text) / mean)
    return counted / (counted + _SATURATION)


_POOL = 50
"""Matches that are ranked by BM25F; of more, the database chooses those with the most of the words."""
_ENOUGH = 10
"""Pages with all words below which those with any of them are looked for as well, however few are returned."""
_KEY_WORDS_AT_MOST = 3
"""Words of a query above which it is a question: the page that answers it may well lack one of them."""
_ALL_WORDS = 0.5
"""What a page with all words is given, as a share of the best rank."""
_ALL_WORDS_OF_A_QUESTION = 0.05
_DIGITS = 4
"""Of a score, behind the point."""
_LEAST_BEST = 1.0
"""What a match is worth at least where it is the best: a word that most documents have weighs next to nothing."""


def search(connection: IndexConnection, query: Query, scope: Scope) -> SearchResults:
    """Return the best matches, those with all words before those with any."""
    hits, total, matched_all = rank(connection, query, scope)
    if scope.min_score:
        reached = reaching(hits, scope.min_score)
        total = total if len(reached) == len(hits) else len(reached)
        hits = reached
    results = hits_of(connection, hits[: scope.limit], query.words)
    return SearchResults(
        results=results, total=total, matched="all_words" if matched_all else "any_word", mode="lexical"
    )


def rank(connection: IndexConnection, query: Query, scope: Scope) -> tuple[list[ScoredRow], int, bool]:
    """Return the matches by rank, how many there are, and whether the count is of those with all words."""
    pool = max(_POOL, scope.limit)
    found = connection.matches(query.expression, scope, pool)
    total = len(found) if len(found) < pool else connection.count(query.expression, scope)
    complete = frozenset(found)
    if query.relaxed is not None and (len(found) < max(_ENOUGH, scope.limit) or len(query.words) > _KEY_WORDS_AT_MOST):
        found += [row for row in connection.matches(query.relaxed, scope, pool) if row not in complete]
    hits = _by_relevance(connection, query, found, complete)
    if not total and found:
        return hits, connection.count(query.relaxed or query.expression, scope), False
    return hits, total, True


def reaching(hits: Sequence[ScoredRow], least: float) -> list[ScoredRow]:
    """Return the hits whose score, as it is shown, is at least that."""
    return [hit for hit in hits if round(hit.score, _DIGITS) >= least]


def hits_of(connection: IndexConnection, hits: Sequence[ScoredRow], words: Sequence[str]) -> list[SearchHit]:
    """Return what a caller is shown of these documents, in their order."""
    if not hits:
        return []
    marks = ", ".join("?" * len(hits))
    rows = connection.execute(
        "SELECT documents.id, documents.path, documents.title, doc_type, body FROM documents"  # noqa: S608 - only ?
        f" JOIN pages ON pages.rowid = documents.id WHERE documents.id IN ({marks})",
        [hit.row for hit in hits],
    )
    known = {row: facts for row, *facts in rows}
    return [
        SearchHit(path=path, title=title, doc_type=kind, score=round(hit.score, _DIGITS), snippet=snippet(body, words))
        for hit in hits
        if hit.row in known
        for path, title, kind, body in (known[hit.row],)
    ]


def _by_relevance(
    connection: IndexConnection, query: Query, found: Sequence[int], complete: frozenset[int]
) -> list[ScoredRow]:
    """Return the matches by their relevance, the share of the query in the title, and whether all of it occurs."""
    if not found:
        return []
    documents, means = mean_lengths(connection)
    terms = terms_of(connection, query, documents)
    wanted = {term.root for term in terms}
    pages = sorted(pages_of(connection, found), key=lambda page: page.path)
    ranks = relevance(pages, terms, means)
    best = max(_LEAST_BEST, *ranks)
    of_all = _ALL_WORDS if len(query.words) <= _KEY_WORDS_AT_MOST else _ALL_WORDS_OF_A_QUESTION
    hits: list[ScoredRow] = []
    for page, relevant in zip(pages, ranks, strict=True):
        bonus = _bonus(wanted, page.title, address(page.path).rpartition("/")[2]) + of_all * (page.row in complete)
        hits.append(ScoredRow(page.row, relevant + best * bonus))
    return sorted(hits, key=lambda hit: -round(hit.score, _DIGITS))  # of equals, the first path


def _bonus(wanted: set[str], title: str, name: str) -> float:
    """Return what is added to a rank, as a share of the best rank."""
    named = {root_of(part) for part in _parts(title)}
    if not wanted or not named:
        return 0.0
    filed = {root_of(part) for part in _parts(name)}
    shared = len(wanted & named)
    likeness = shared / len(wanted | named)
    return 0.6 * shared / len(wanted) + 0.6 * likeness + 0.2 * len(wanted & filed) / len(wanted)


def _parts(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text).split()

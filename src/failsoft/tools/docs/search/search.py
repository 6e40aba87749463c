"""Lexical search: documents with all words first, then those with any of them, by rank."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.tools.docs.results import SearchHit, SearchResults
from failsoft.tools.docs.search.connection import IndexConnection, Scope, ScoredRow
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.relevance import pages_of, relevance, terms_of
from failsoft.tools.docs.search.snippet import root_of, snippet

_POOL = 50
"""Matches that are ranked again by BM25F; FTS5's own BM25 saturates too early to tell a page that is about a word."""
_ENOUGH = 10
"""Pages with all words below which those with any of them are looked for as well, however few are returned."""
_KEY_WORDS_AT_MOST = 3
"""Words of a query above which it is a question: the page that answers it may well lack one of them."""
_ALL_WORDS = 0.5
"""What a page with all words is given, as a share of the best rank."""
_ALL_WORDS_OF_A_QUESTION = 0.05
_FIRST_RANK_WEIGHT = 0.01
"""Of the rank by BM25, which alone knows phrases and the beginnings of words."""
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
    found = connection.ranked(query.expression, scope, pool)
    total = len(found) if len(found) < pool else connection.count(query.expression, scope)
    complete = frozenset(found)
    if query.relaxed is not None and (len(found) < max(_ENOUGH, scope.limit) or len(query.words) > _KEY_WORDS_AT_MOST):
        found |= connection.ranked(query.relaxed, scope, pool)
    hits = _again(connection, query, found, complete)
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


def _again(
    connection: IndexConnection, query: Query, found: dict[int, float], complete: frozenset[int]
) -> list[ScoredRow]:
    """Return the matches by their relevance, the share of the query in the title, and whether all of it occurs."""
    if not found:
        return []
    terms = terms_of(connection, query.words)
    wanted = {term.root for term in terms}
    pages = pages_of(connection, list(found))
    ranks = [
        score + _FIRST_RANK_WEIGHT * found[page.row] for page, score in zip(pages, relevance(pages, terms), strict=True)
    ]
    best = max(_LEAST_BEST, *ranks)
    of_all = _ALL_WORDS if len(query.words) <= _KEY_WORDS_AT_MOST else _ALL_WORDS_OF_A_QUESTION
    hits: list[ScoredRow] = []
    for page, relevant in zip(pages, ranks, strict=True):
        bonus = _bonus(wanted, page.title, page.name) + of_all * (page.row in complete)
        hits.append(ScoredRow(page.row, relevant + best * bonus))
    return sorted(hits, key=lambda hit: (-hit.score, hit.row))


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

"""Lexical search: what matches is ranked by BM25F over title, description, introduction and text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence, Set as AbstractSet
from functools import cache
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from failsoft.tools.docs.documents.paths import address
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.tables import IndexConnection, Scope, ScoredRow, count_documents
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
_SYNONYM_WEIGHT = 0.6
_MISSING_WORD_WEIGHT = 3.0
"""The weight of a word that no document has, for its synonyms: that of a word that one document in twenty has."""
_PARTS = re.compile(r"[^\W_]+")
RowsOf = Callable[..., list[int]]
"""`IndexConnection.rows`, asked once for each expression."""


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
        "SELECT documents.id, documents.title, documents.path, lead, substr(body, 1, ?) AS body FROM documents"  # noqa: S608 - only ?
        f" JOIN pages ON pages.rowid = documents.id WHERE documents.id IN ({', '.join('?' * len(rows))})",
        [_TEXT_CHARACTERS_AT_MOST, *rows],
    )
    return [Page(row, title, path, _fields(title, lead, body)) for row, title, path, lead, body in found]


def _fields(title: str, lead: str, body: str) -> tuple[str, str, str, str]:
    """Return title, description, introduction and text."""
    described = lead.partition("\n")[0]
    return title.lower(), described.lower(), introduction(body, _INTRODUCTION_CHARACTERS).lower(), body.lower()


def terms_of(rows_of: RowsOf, query: Query, documents: int) -> list[Term]:
    """Return the terms of a query, the first ones of a long one."""
    parts = {
        part.lower() if word in query.prefixes else root_of(part): (part, word in query.prefixes)
        for word in query.words[:_WORDS_AT_MOST]
        for part in _PARTS.findall(word)
    }
    terms: list[Term] = []
    for root, (part, is_prefix) in parts.items():
        count = len(rows_of(f'"{part}"{"*" * is_prefix}'))
        weight = _rarity(documents, count) if count else _MISSING_WORD_WEIGHT
        terms.append(Term(root, weight, SYNONYMS.get(root, frozenset()) - parts.keys(), is_prefix))
    return terms


def _rarity(documents: int, count: int) -> float:
    """Return the weight of a term that so many of the documents have."""
    return math.log(1 + (documents - count + 0.5) / (count + 0.5))


def relevance(pages: Sequence[Page], terms: Sequence[Term]) -> list[float]:
    """Return the relevance of each page to the terms. The lengths of the pages are compared with each other.

    Source: Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004.
    """
    lengths = zip(*([len(text) for text in page.fields] for page in pages), strict=True)
    means = [max(1.0, sum(column) / len(column)) for column in lengths]
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
        if root in text:
            count = len(list(islice(places_of(text, root, forms, _LOOKS_AT_MOST), _COUNTED_AT_MOST)))
            counted += weight * count / (1 - length_share + length_share * len(text) / mean)
    return counted / (counted + _SATURATION)


_POOL = 64
"""Matches that are ranked by BM25F; of more, those with the rarest words, above all in title and headings."""
_HEADS_WEIGHT = 0.5
"""What a word in title, path, description or headings adds to the choice of these, where one in the text adds 1."""
_ROWS_AT_MOST = 500
"""Values of one statement."""
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
    rows_of = cache(connection.rows)
    pool = max(_POOL, scope.limit)
    documents = count_documents(connection)
    allowed = _rows_within(connection, scope)
    complete = allowed(rows_of(query.expression))
    found = complete
    total = len(complete)
    if query.relaxed is not None and (total < max(_ENOUGH, scope.limit) or len(query.words) > _KEY_WORDS_AT_MOST):
        found = complete | allowed(row for term in query.terms for row in rows_of(term))
        total = total or len(found)
    if not found:
        return [], 0, True
    scores = _first_scores(rows_of, found, query.terms, documents)
    best = _best(connection, complete, scores, pool)
    chosen = best | _best(connection, found - best, scores, pool - len(best))
    pages = sorted(pages_of(connection, list(chosen)), key=lambda page: page.path)
    terms = terms_of(rows_of, query, documents)
    ranks = relevance(pages, terms)
    hits = _with_bonus(pages, ranks, query, {term.root for term in terms}, complete)
    return hits, total, bool(complete)


def _rows_within(connection: IndexConnection, scope: Scope) -> Callable[[Iterable[int]], set[int]]:
    """Return what keeps of rows those of documents that are searched."""
    if not scope.is_narrowed:
        return set
    where, values = scope.where()
    rows = {row for (row,) in connection.execute(f"SELECT id FROM documents WHERE {where}", values)}  # noqa: S608 - only ?
    return rows.intersection


def _first_scores(rows_of: RowsOf, rows: set[int], terms: Sequence[str], documents: int) -> dict[int, float]:
    """Return of each row the rarity of the terms that it has, more for those in its title and headings."""
    scores = dict.fromkeys(rows, 0.0)
    for term in terms:
        everywhere = rows_of(term)
        weight = _rarity(documents, len(everywhere))
        for places, factor in ((everywhere, 1.0), (rows_of(term, in_heads=True), _HEADS_WEIGHT)):
            for row in rows.intersection(places):
                scores[row] += factor * weight
    return scores


def _best(connection: IndexConnection, rows: set[int], scores: dict[int, float], count: int) -> set[int]:
    """Return the rows of the best scores: of equals the shortest, then the first path, whatever the store."""
    if not count or len(rows) <= count:
        return rows if count else set()
    least = nlargest(count, map(scores.__getitem__, rows))[-1]
    chosen = {row for row in rows if scores[row] > least}
    equal = {row for row in rows if scores[row] == least}
    return chosen.union(_shortest(connection, equal, count - len(chosen)))


def _shortest(connection: IndexConnection, rows: set[int], count: int) -> list[int]:
    """Return so many of the rows by size and path; of very many, the first documents in that order hold enough."""
    where, values = "1 = 1", list[int]()
    limit = 8 * count
    if len(rows) <= _ROWS_AT_MOST:
        where, values, limit = f"id IN ({', '.join('?' * len(rows))})", list(rows), count
    while True:
        sql = f"SELECT id FROM documents WHERE {where} ORDER BY size, path LIMIT ?"  # noqa: S608 - only ?
        read = connection.execute(sql, (*values, limit)).fetchall()
        found = [row for (row,) in read if row in rows]
        if len(found) >= count or len(read) < limit or where != "1 = 1":
            return found[:count]
        limit *= 8


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


def _with_bonus(
    pages: Sequence[Page], ranks: Sequence[float], query: Query, wanted: set[str], complete: Collection[int]
) -> list[ScoredRow]:
    """Return the matches by their relevance, the share of the query in the title, and whether all of it occurs."""
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

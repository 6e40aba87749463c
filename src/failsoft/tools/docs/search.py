"""A search in the index: documents whose title holds the words first, the others by how much they say about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from failsoft.tools.docs.query import Query
from failsoft.tools.docs.results import SearchHit, SearchResults

__all__ = ["search"]

_SNIPPET_TOKENS = 32
_SNIPPET_CHARACTERS_AT_MOST = 320


class _Scope(NamedTuple):
    """The types that a search is narrowed to, and how many rows it may return."""

    doc_types: Sequence[str] | None
    limit: int

    def source(self) -> str:
        """Return the tables and conditions. Without types nothing is joined that only types would need."""
        if self.doc_types is None:
            return "FROM pages WHERE pages MATCH ?"
        marks = ", ".join("?" * len(self.doc_types))
        joined = "FROM pages JOIN documents ON documents.id = pages.rowid"
        return f"{joined} WHERE pages MATCH ? AND doc_type IN ({marks})"


def search(connection: sqlite3.Connection, query: Query, doc_types: Sequence[str] | None, limit: int) -> SearchResults:
    """Return the best matches; those for any of the words if no document holds all of them."""
    scope = _Scope(doc_types, limit)
    total = _count(connection, query.expression, scope)
    if total == 0 and query.relaxed is not None:
        hits = _best(connection, query.relaxed, scope)
        return SearchResults(results=hits, total=_count(connection, query.relaxed, scope), matched="any_word")
    return SearchResults(results=_titled_first(connection, query.expression, scope), total=total, matched="all_words")


def _titled_first(connection: sqlite3.Connection, expression: str, scope: _Scope) -> list[SearchHit]:
    """Return the matches whose title matches on its own, then the rest.

    The weight of a column multiplies how often a word occurs, and BM25 flattens that: a short page that repeats a word
    outweighs the page that is named for it, whatever the weight.
    """
    hits = _best(connection, f"(title : ({expression})) AND ({expression})", scope)
    if len(hits) < scope.limit:
        known = {hit["path"] for hit in hits}
        rest = [hit for hit in _best(connection, expression, scope) if hit["path"] not in known]
        lift = rest[0]["score"] if rest else 0.0
        for hit in hits:
            hit["score"] = round(hit["score"] + lift, 4)
        hits += rest[: scope.limit - len(hits)]
    return hits


def _best(connection: sqlite3.Connection, expression: str, scope: _Scope) -> list[SearchHit]:
    """Return the matches by rank. Their number is limited before snippets are cut, since each reads its whole text."""
    rows = connection.execute(
        "SELECT documents.path, documents.title, documents.doc_type, best.score, best.snippet FROM"  # noqa: S608 - only ? and our own words
        f" (SELECT pages.rowid AS id, rank AS score, snippet(pages, 2, '', '', '…', {_SNIPPET_TOKENS}) AS snippet"
        f" {scope.source()} ORDER BY rank LIMIT ?) AS best"
        " JOIN documents ON documents.id = best.id ORDER BY best.score",
        (expression, *(scope.doc_types or ()), scope.limit),
    )
    return [
        SearchHit(path=path, title=title, doc_type=kind, snippet=_tidy(snippet), score=round(-score, 4))
        for path, title, kind, score, snippet in rows
    ]


def _count(connection: sqlite3.Connection, expression: str, scope: _Scope) -> int:
    values = (expression, *(scope.doc_types or ()))
    return int(connection.execute(f"SELECT count(*) {scope.source()}", values).fetchone()[0])


def _tidy(snippet: str) -> str:
    line = " ".join(snippet.split())
    return line if len(line) <= _SNIPPET_CHARACTERS_AT_MOST else f"{line[: _SNIPPET_CHARACTERS_AT_MOST - 1]}…"

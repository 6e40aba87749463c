"""What the index is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from failsoft.tools.docs.documents import address
from failsoft.tools.docs.query import Query
from failsoft.tools.docs.results import DocumentList, SearchHit, SearchResults
from failsoft.tools.docs.spelling import folded

__all__ = [
    "all_paths",
    "claimants",
    "document_types",
    "list_documents",
    "paths_at",
    "paths_in_any_case",
    "paths_named",
    "search",
]

_SNIPPET_TOKENS = 32
_SNIPPET_CHARACTERS_AT_MOST = 320
_LAST_CHARACTER = "\U0010ffff"


def search(connection: sqlite3.Connection, query: Query, doc_types: Sequence[str] | None, limit: int) -> SearchResults:
    """Return the best matches; those for any of the words if no document holds all of them."""
    found = _matches(connection, query.expression, doc_types, limit)
    if found["total"] == 0 and query.relaxed is not None:
        found = _matches(connection, query.relaxed, doc_types, limit)
        found["matched"] = "any_word"
    return found


def _matches(
    connection: sqlite3.Connection, expression: str, doc_types: Sequence[str] | None, limit: int
) -> SearchResults:
    """Return the matches of one expression. Snippets are cut for the rows that are sent, since each reads its text."""
    where, values = "pages MATCH ?", [expression]
    if doc_types is not None:
        where += f" AND doc_type IN ({', '.join('?' * len(doc_types))})"
        values += doc_types
    source = f"FROM pages JOIN documents ON documents.id = pages.rowid WHERE {where}"
    rows = connection.execute(
        "SELECT documents.path, documents.title, doc_type, rank,"
        f" snippet(pages, 2, '', '', '…', {_SNIPPET_TOKENS}) {source} ORDER BY rank LIMIT ?",
        (*values, limit),
    ).fetchall()
    total = connection.execute(f"SELECT count(*) {source}", values).fetchone()[0]
    return SearchResults(
        results=[
            SearchHit(path=path, title=title, doc_type=kind, snippet=_tidy(snippet), score=round(-rank, 4))
            for path, title, kind, rank, snippet in rows
        ],
        total=total,
        matched="all_words",
    )


def _tidy(snippet: str) -> str:
    line = " ".join(snippet.split())
    return line if len(line) <= _SNIPPET_CHARACTERS_AT_MOST else f"{line[: _SNIPPET_CHARACTERS_AT_MOST - 1]}…"


def list_documents(connection: sqlite3.Connection, doc_type: str | None, prefix: str, limit: int) -> DocumentList:
    """Return the first documents of that type under that prefix, by path."""
    where, values = "path >= ? AND path < ?", [prefix, prefix + _LAST_CHARACTER]
    if doc_type is not None:
        where += " AND doc_type = ?"
        values.append(doc_type)
    rows = connection.execute(
        f"SELECT path, title, doc_type, size FROM documents WHERE {where} ORDER BY path LIMIT ?",  # noqa: S608
        (*values, limit),
    )
    documents = [
        {"path": path, "title": title, "doc_type": kind, "size_bytes": size} for path, title, kind, size in rows
    ]
    total = connection.execute(f"SELECT count(*) FROM documents WHERE {where}", values).fetchone()[0]  # noqa: S608
    return DocumentList(documents=documents, total=total)  # type: ignore[typeddict-item]  # built from the columns


def document_types(connection: sqlite3.Connection) -> list[str]:
    """Return the types that occur, most frequent first."""
    rows = connection.execute("SELECT doc_type FROM documents GROUP BY doc_type ORDER BY count(*) DESC, doc_type")
    return [kind for (kind,) in rows]


def all_paths(connection: sqlite3.Connection) -> list[str]:
    """Return every path."""
    return [path for (path,) in connection.execute("SELECT path FROM documents ORDER BY path")]


def paths_in_any_case(connection: sqlite3.Connection, paths: Sequence[str]) -> list[str]:
    """Return the documents whose paths differ from one of these in nothing but case."""
    wanted = list(dict.fromkeys(map(folded, paths)))
    rows = connection.execute(
        f"SELECT path FROM documents WHERE folded IN ({', '.join('?' * len(wanted))}) ORDER BY path",  # noqa: S608
        wanted,
    )
    return [path for (path,) in rows]


def claimants(connection: sqlite3.Connection, path: str) -> list[str]:
    """Return the documents whose front matter claims the path as one of theirs."""
    rows = connection.execute(
        "SELECT DISTINCT documents.path FROM aliases JOIN documents ON documents.id = aliases.document"
        " WHERE aliases.address = ? ORDER BY documents.path",
        (address(path),),
    )
    return [found for (found,) in rows]


def paths_named(connection: sqlite3.Connection, path: str, limit: int) -> list[str]:
    """Return the documents elsewhere that have the same name, endings and `index` left aside."""
    name = address(path).rpartition("/")[2]
    rows = connection.execute("SELECT path FROM documents WHERE name = ? ORDER BY path LIMIT ?", (name, limit))
    return [found for (found,) in rows]


def paths_at(connection: sqlite3.Connection, place: str) -> list[str]:
    """Return the documents that a site would show at this address: `guide.md` and `guide/index.md` are one page."""
    rows = connection.execute("SELECT path FROM documents WHERE address = ? ORDER BY path", (place,))
    return [found for (found,) in rows]

"""What the index is asked, searches aside."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from failsoft.tools.docs.documents import address
from failsoft.tools.docs.results import DocumentList
from failsoft.tools.docs.spelling import folded

__all__ = [
    "all_paths",
    "claimants",
    "document_types",
    "list_documents",
    "paths_at",
    "paths_in_any_case",
    "paths_named",
]

_LAST_CHARACTER = "\U0010ffff"


def list_documents(connection: sqlite3.Connection, doc_type: str | None, prefix: str, limit: int) -> DocumentList:
    """Return the first documents of that type under that prefix, by path."""
    where, values = "path >= ? AND path < ?", [prefix, prefix + _LAST_CHARACTER]
    if doc_type is not None:
        where += " AND doc_type = ?"
        values.append(doc_type)
    source = f"FROM documents WHERE {where}"
    rows = connection.execute(
        f"SELECT path, title, doc_type, size {source} ORDER BY path LIMIT ?",
        (*values, limit),
    )
    documents = [
        {"path": path, "title": title, "doc_type": kind, "size_bytes": size} for path, title, kind, size in rows
    ]
    total = connection.execute(f"SELECT count(*) {source}", values).fetchone()[0]
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
    source = f"FROM documents WHERE folded IN ({', '.join('?' * len(wanted))})"
    rows = connection.execute(f"SELECT path {source} ORDER BY path", wanted)
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

"""Queries of the index other than searches."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.tools.docs.documents.paths import address, folded
from failsoft.tools.docs.results import ListedDocument
from failsoft.tools.docs.search.connection import LAST_CHARACTER, IndexConnection


def list_documents(
    connection: IndexConnection, doc_type: str | None, prefix: str, limit: int, *, behind: str = ""
) -> tuple[list[ListedDocument], int, bool]:
    """Return documents of that type under that prefix by path, how many there are in all, and whether more follow.

    Args:
        connection: To the index.
        doc_type: Only documents of this type; None for all.
        prefix: How the paths begin.
        limit: How many at most.
        behind: Begin with the first path after this one.
    """
    where, values = "path >= ? AND path < ?", [prefix, prefix + LAST_CHARACTER]
    if doc_type is not None:
        where += " AND doc_type = ?"
        values.append(doc_type)
    rows = connection.execute(
        f"SELECT path, title, doc_type, level, size FROM documents WHERE {where} AND path > ? ORDER BY path LIMIT ?",  # noqa: S608 - only ? and our own words
        (*values, behind, limit + 1),
    ).fetchall()
    listed = [
        ListedDocument(path=path, title=title, doc_type=kind, level=level, size_bytes=size)
        for path, title, kind, level, size in rows[:limit]
    ]
    total = connection.execute(f"SELECT count(*) FROM documents WHERE {where}", values).fetchone()[0]  # noqa: S608 - the same
    return listed, int(total), len(rows) > limit


def document_types(connection: IndexConnection) -> dict[str, int]:
    """Return the types that occur with the number of their documents, most frequent first."""
    rows = connection.execute(
        "SELECT doc_type, count(*) FROM documents GROUP BY doc_type ORDER BY count(*) DESC, doc_type"
    )
    return {kind: int(count) for kind, count in rows}


def count_documents(connection: IndexConnection) -> int:
    """Return how many documents there are."""
    return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def all_paths(connection: IndexConnection) -> list[str]:
    """Return every path."""
    return [path for (path,) in connection.execute("SELECT path FROM documents ORDER BY path")]


def paths_in_any_case(connection: IndexConnection, paths: Sequence[str]) -> list[str]:
    """Return the documents whose paths differ from one of these in nothing but case."""
    wanted = list(dict.fromkeys(map(folded, paths)))
    source = f"FROM documents WHERE folded IN ({', '.join('?' * len(wanted))})"
    rows = connection.execute(f"SELECT path {source} ORDER BY path", wanted)
    return [path for (path,) in rows]


def claimants(connection: IndexConnection, path: str) -> list[str]:
    """Return the documents whose front matter claims the path as one of theirs."""
    rows = connection.execute(
        "SELECT DISTINCT documents.path FROM aliases JOIN documents ON documents.id = aliases.document"
        " WHERE aliases.address = ? ORDER BY documents.path",
        (address(path),),
    )
    return [found for (found,) in rows]


def paths_named(connection: IndexConnection, path: str, limit: int) -> list[str]:
    """Return the documents elsewhere that have the same name, endings and `index` left aside."""
    name = address(path).rpartition("/")[2]
    rows = connection.execute("SELECT path FROM documents WHERE name = ? ORDER BY path LIMIT ?", (name, limit))
    return [found for (found,) in rows]


def paths_at(connection: IndexConnection, place: str) -> list[str]:
    """Return the documents that a site would show at this address: `guide.md` and `guide/index.md` are one page."""
    rows = connection.execute("SELECT path FROM documents WHERE address = ? ORDER BY path", (place,))
    return [found for (found,) in rows]

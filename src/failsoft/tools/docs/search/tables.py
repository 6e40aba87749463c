"""What an index needs of its storage, whatever the database, and its questions other than searches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.tools.docs.documents.paths import address, folded
from failsoft.tools.docs.signatures import ListedDocument

SCHEMA_VERSION = 11
"""Of the tables, and of what is stored in them."""
LAST_CHARACTER = "\U0010ffff"
"""Behind a prefix: the end of the range of all texts that begin with it."""


class LostStoreError(PicklableError):
    """The connection was lost, or tables are missing: the store has to be opened anew.

    Args:
        is_damaged: Whether tables are missing.
    """

    def __init__(self, *, is_damaged: bool = False) -> None:
        super().__init__(is_damaged)
        self.is_damaged = is_damaged


class Scope(NamedTuple):
    """What a search is narrowed to, and how many results it returns."""

    doc_types: Sequence[str] | None = None
    prefix: str = ""
    level: str | None = None
    limit: int = 10
    min_score: float = 0.0

    @property
    def is_narrowed(self) -> bool:
        """Whether only some of the documents are searched."""
        return self.doc_types is not None or bool(self.prefix) or self.level is not None

    def where(self) -> tuple[str, list[str]]:
        """Return the conditions on `documents`, and their values."""
        clauses, values = ["1 = 1"], list[str]()
        if self.doc_types is not None:
            clauses.append(f"documents.doc_type IN ({', '.join('?' * len(self.doc_types))})")
            values += self.doc_types
        if self.prefix:
            clauses.append("documents.path >= ? AND documents.path < ?")
            values += [self.prefix, self.prefix + LAST_CHARACTER]
        if self.level is not None:
            clauses.append("documents.level = ?")
            values.append(self.level)
        return " AND ".join(clauses), values


class ScoredRow(NamedTuple):
    """A document that was found: its row in the index, and its score."""

    row: int
    score: float


def key_of(root: Path) -> str:
    """Return what names the index of this folder: 16 hex digits."""
    return hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]


class IndexConnection(Protocol):
    """A connection to the tables `documents`, `aliases`, `pages`, `vectors` and `builds`.

    `execute` and `executemany` take SQL that both databases understand, with `?` for values.
    """

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any:
        """Run a statement; return its cursor."""

    def executemany(self, sql: str, rows: Sequence[Any], /) -> Any:
        """Run a statement for each of the rows."""

    def transaction(self) -> AbstractContextManager[Any]:
        """Begin a transaction that is committed at the end of the block, or rolled back."""

    def add_page(self, row: int, title: str, path: str, lead: str, body: str) -> None:
        """Index the text of a document."""

    def remove_page(self, row: int) -> None:
        """Remove the text of a document from the index."""

    def rows(self, expression: str, *, in_heads: bool = False) -> list[int]:
        """Return the rows of all matches: of the whole pages, or of title, path, description and headings alone."""

    def vocabulary(self, begin: str) -> Sequence[tuple[str, int]]:
        """Return the words of the index that begin so, and how many documents have each."""


class ProcessLock(Protocol):
    """A lock that the processes share who use one index."""

    def acquire(self, timeout: float) -> AbstractContextManager[Any]:
        """Hold the lock for the block.

        Raises:
            filelock.Timeout: Another process holds it for longer than that many seconds.
        """


class IndexStore(Protocol):
    """Where an index is kept."""

    def process_lock(self) -> ProcessLock | None:
        """Return the lock of the processes that share the index; None if none can."""

    def connection(self) -> AbstractContextManager[IndexConnection]:
        """Lend a connection to the calling thread."""

    def discard(self) -> None:
        """Delete what is stored."""

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""


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


def own_types(connection: IndexConnection) -> dict[str, int]:
    """Return the types that front matter names, declared or not, with the number of documents that name each."""
    rows = connection.execute("SELECT own_type, count(*) FROM documents WHERE own_type <> '' GROUP BY own_type")
    return {kind: int(count) for kind, count in sorted(rows)}


def state_of(connection: IndexConnection) -> int | None:
    """Return what differs as soon as a document was added, changed or removed."""
    found: int | None = connection.execute("SELECT max(finished_ns) FROM builds").fetchone()[0]
    return found


def count_documents(connection: IndexConnection) -> int:
    """Return how many documents there are."""
    return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def all_paths(connection: IndexConnection) -> list[str]:
    """Return every path."""
    return [path for (path,) in connection.execute("SELECT path FROM documents ORDER BY path")]


def addresses(connection: IndexConnection) -> dict[str, str]:
    """Return the address of every document by its path."""
    return dict(connection.execute("SELECT path, address FROM documents ORDER BY path"))


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

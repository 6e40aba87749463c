"""The index brought up to date: what differs from the disk is read again, and nothing else."""

from __future__ import annotations

import posixpath
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from failsoft.framework.errors import ToolError
from failsoft.tools.docs.documents import DEFAULT_TYPE, Document, address
from failsoft.tools.docs.guard import DocumentRoot
from failsoft.tools.docs.library import Entry, load_document
from failsoft.tools.docs.spelling import folded

__all__ = ["Changes", "apply_changes", "find_changes", "is_built"]

_BATCH = 500
"""Documents a transaction: other processes see progress, and a crash loses little."""
_SECOND_NS = 1_000_000_000
_TICK_NS = 50_000_000
"""A file written this recently may change again under the same time stamp, so it is read once more. File systems that
stamp in whole seconds tick every two."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between the index and the disk."""

    vanished: tuple[int, ...]
    changed: tuple[Entry, ...]

    def __bool__(self) -> bool:
        return bool(self.vanished or self.changed)


def is_built(connection: sqlite3.Connection) -> bool:
    """Return whether the index has been complete at least once."""
    return connection.execute("SELECT 1 FROM builds LIMIT 1").fetchone() is not None


def find_changes(connection: sqlite3.Connection, entries: Sequence[Entry]) -> Changes:
    """Return what to do so that the index holds these entries, told by time stamp and size."""
    known = {
        path: (mtime_ns, size, row)
        for row, path, mtime_ns, size in connection.execute("SELECT id, path, mtime_ns, size FROM documents")
    }
    changed: list[Entry] = []
    for entry in entries:
        path, mtime_ns, size = entry
        seen = known.pop(path, None)
        if seen is None or seen[0] != mtime_ns or seen[1] != size:
            changed.append(entry)
    return Changes(tuple(row for _, _, row in known.values()), tuple(changed))


def apply_changes(connection: sqlite3.Connection, changes: Changes, root: DocumentRoot) -> None:
    """Write the changes in batches. Call it under the lock that the processes share."""
    for start in range(0, max(len(changes.vanished), 1), _BATCH):
        with _transaction(connection):
            _forget(connection, changes.vanished[start : start + _BATCH])
    for start in range(0, len(changes.changed), _BATCH):
        read = list(_read(root, changes.changed[start : start + _BATCH]))
        with _transaction(connection):
            for entry, document in read:
                _write(connection, entry, document)
    with _transaction(connection):
        connection.execute("DELETE FROM builds")
        connection.execute("INSERT INTO builds VALUES (?)", (time.time_ns(),))


class _transaction:  # noqa: N801 - used as a verb, like the standard library's own
    """A transaction that takes the write lock at once, so that it cannot fail half way for want of it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_rest: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _read(root: DocumentRoot, entries: Sequence[Entry]) -> Iterator[tuple[Entry, Document]]:
    """Read the documents. One that cannot be read is indexed by its name, so that it can be found and asked for."""
    for entry in entries:
        tick_ns = _TICK_NS if entry.mtime_ns % _SECOND_NS else 2 * _SECOND_NS
        noted = entry if time.time_ns() - entry.mtime_ns > tick_ns else entry._replace(mtime_ns=-1)
        try:
            yield noted, load_document(root, entry.path.split("/"))
        except ToolError:
            title = posixpath.splitext(posixpath.basename(entry.path))[0]
            yield noted, Document(entry.path, title, "", "", DEFAULT_TYPE, {}, (), "", "")


def _forget(connection: sqlite3.Connection, rows: Sequence[int]) -> None:
    keys = [(row,) for row in rows]
    connection.executemany("DELETE FROM pages WHERE rowid = ?", keys)
    connection.executemany("DELETE FROM aliases WHERE document = ?", keys)
    connection.executemany("DELETE FROM documents WHERE id = ?", keys)


def _write(connection: sqlite3.Connection, entry: Entry, document: Document) -> None:
    known = connection.execute("SELECT id FROM documents WHERE path = ?", (entry.path,)).fetchone()
    if known is not None:
        _forget(connection, known)
    place = address(entry.path)
    row = connection.execute(
        "INSERT INTO documents (path, folded, address, name, title, doc_type, mtime_ns, size)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.path,
            folded(entry.path),
            place,
            posixpath.basename(place),
            document.title,
            document.doc_type,
            entry.mtime_ns,
            entry.size,
        ),
    ).lastrowid
    connection.execute(
        "INSERT INTO pages (rowid, title, path, body) VALUES (?, ?, ?, ?)",
        (row, document.title, entry.path, document.body.replace("\0", " ")),
    )
    connection.executemany("INSERT INTO aliases VALUES (?, ?)", [(item, row) for item in document.aliases])

"""The SQLite file behind the index: FTS5 for words, vectors in a table."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock

from failsoft.tools.docs.search.connection import ConnectionPool, Scope, ScoredRow
from failsoft.tools.docs.semantic.vectors import Matrices

__all__ = ["SCHEMA_VERSION", "ForeignIndexError", "SqliteConnection", "Store"]

SCHEMA_VERSION = 6
_APPLICATION_ID = 0x66736478
"""`fsdx` in ASCII: marks the file as an index of failsoft."""
_BUSY_S = 5.0

_TOKENIZERS = {"english": "porter unicode61 remove_diacritics 2", "none": "unicode61 remove_diacritics 2"}
"""By language."""
_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folded TEXT NOT NULL, address TEXT NOT NULL,
    name TEXT NOT NULL, title TEXT NOT NULL, doc_type TEXT NOT NULL,
    level TEXT NOT NULL, changed_ns INTEGER NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL
);
CREATE INDEX documents_folded ON documents (folded);
CREATE INDEX documents_address ON documents (address);
CREATE INDEX documents_name ON documents (name);
CREATE INDEX documents_doc_type ON documents (doc_type, path);
CREATE TABLE aliases (address TEXT NOT NULL, document INTEGER NOT NULL);
CREATE INDEX aliases_address ON aliases (address);
CREATE INDEX aliases_document ON aliases (document);
CREATE TABLE vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, model TEXT NOT NULL,
    vector BLOB NOT NULL);
CREATE INDEX vectors_document ON vectors (document, model);
CREATE TABLE builds (finished_ns INTEGER NOT NULL);
CREATE VIRTUAL TABLE pages USING fts5 (title, path, lead, body, tokenize = "{{tokenizer}}");
CREATE VIRTUAL TABLE words USING fts5vocab (pages, row);
INSERT INTO pages (pages, rank) VALUES ('rank', 'bm25(10.0, 4.0, 4.0, 1.0)');
COMMIT;
"""  # noqa: S608 - two numbers of our own


class ForeignIndexError(sqlite3.DatabaseError):
    """The file is a database, but not one of ours or not of this version."""


class SqliteConnection(sqlite3.Connection):
    """A connection to the file; see `IndexConnection`."""

    matrices: Matrices

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction that takes the write lock at once, so that it cannot fail half way for want of it."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def add_page(self, row: int, title: str, path: str, lead: str, body: str) -> None:
        """Index the text of a document."""
        self.execute(
            "INSERT INTO pages (rowid, title, path, lead, body) VALUES (?, ?, ?, ?, ?)",
            (row, title, path, lead.replace("\0", " "), body.replace("\0", " ")),
        )

    def remove_page(self, row: int) -> None:
        """Remove the text of a document from the index."""
        self.execute("DELETE FROM pages WHERE rowid = ?", (row,))

    def count(self, expression: str, scope: Scope) -> int:
        """Return how many documents match."""
        source, values = _source(scope)
        return int(self.execute(f"SELECT count(*) {source}", (expression, *values)).fetchone()[0])

    def ranked(self, expression: str, scope: Scope, limit: int) -> dict[int, float]:
        """Return the best matches by BM25, best first: score by row."""
        source, values = _source(scope)
        sql = f"SELECT pages.rowid, rank {source} ORDER BY rank LIMIT ?"
        return {row: -score for row, score in self.execute(sql, (expression, *values, limit))}

    def occurs(self, word: str) -> bool:
        """Return whether a document has the word."""
        quoted = word.replace('"', "")
        found = self.execute("SELECT 1 FROM pages WHERE pages MATCH ? LIMIT 1", (f'"{quoted}"',))
        return found.fetchone() is not None

    def add_vectors(self, row: int, model: str, vectors: Sequence[Sequence[float]]) -> None:
        """Store the vectors of a document."""
        rows = [(row, model, array("f", vector).tobytes()) for vector in vectors]
        self.executemany("INSERT INTO vectors (document, model, vector) VALUES (?, ?, ?)", rows)

    def nearest(self, model: str, vector: Sequence[float], scope: Scope, limit: int) -> list[ScoredRow]:
        """Return the documents with the passage that is nearest to the vector, by cosine."""
        return self.matrices.nearest(self, model, vector, scope, limit)


def _source(scope: Scope) -> tuple[str, list[str]]:
    """Return tables and conditions, and the values behind the expression. Only filters join `documents`."""
    if not scope.is_narrowed:
        return "FROM pages WHERE pages MATCH ?", []
    where, values = scope.where()
    return f"FROM pages JOIN documents ON documents.id = pages.rowid WHERE pages MATCH ? AND {where}", values


class Store:
    """Connections to one file, or to one database in memory.

    Args:
        file: Where the index is kept; None keeps it in memory, with a single connection that threads take in turn.
        language: Whose words are stemmed, `english` or `none`.
    """

    def __init__(self, file: Path | None, language: str = "english") -> None:
        self.file = file
        self._schema = _SCHEMA.format(tokenizer=_TOKENIZERS[language])
        self._alone = threading.Lock()
        self._inode: int | None = None
        self._matrices = Matrices()
        self._pool = ConnectionPool(self._open, _is_reset, SqliteConnection.close)

    def process_lock(self) -> BaseFileLock | None:
        """Return the lock that the processes share who use this file; None in memory."""
        return None if self.file is None else FileLock(f"{self.file}.lock", thread_local=False)

    @contextmanager
    def connection(self) -> Iterator[SqliteConnection]:
        """Lend a connection to the calling thread.

        Raises:
            sqlite3.Error: The file cannot be opened, or is not ours.
        """
        with self._alone if self.file is None else contextlib.nullcontext(), self._pool.lend() as connection:
            yield connection

    def create(self) -> None:
        """Make the file ready: nothing to do if it is ours, the schema if it is new. Call it under `process_lock`.

        Raises:
            sqlite3.Error: The file is damaged, not ours, or cannot be written.
        """
        if self.file is None:
            return
        connection = sqlite3.connect(self.file, timeout=_BUSY_S, isolation_level=None)
        with contextlib.closing(connection):
            if _is_empty(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(self._schema)
            _recognise(connection)

    def discard(self) -> None:
        """Delete the file, unless another process has replaced it. Call it under `process_lock`."""
        inode = self._inode
        self.close()
        if self.file is None or (inode is not None and inode != _inode_of(self.file)):
            return
        for ending in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.file}{ending}")  # noqa: PTH108 - the names differ by their ending only

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        self._inode = None
        self._pool.close()

    def _open(self) -> SqliteConnection:
        where = ":memory:" if self.file is None else f"{self.file.as_uri()}?mode=rw"
        connection = sqlite3.connect(
            where,
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
            uri=self.file is not None,
            factory=SqliteConnection,
        )
        connection.matrices = self._matrices
        try:
            if self.file is None:
                connection.executescript(self._schema)
            else:
                self._inode = _inode_of(self.file)
                _recognise(connection)
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


def _is_reset(connection: sqlite3.Connection) -> bool:
    try:
        if connection.in_transaction:
            connection.rollback()
    except sqlite3.Error:
        return False
    return True


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()[0])


def _recognise(connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) != (_APPLICATION_ID, SCHEMA_VERSION):
        msg = "the file is not an index of this version"
        raise ForeignIndexError(msg)


def _inode_of(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None

"""The SQLite file behind the index: opened, recognised, thrown away when it is damaged; connections for threads."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock

__all__ = ["SCHEMA_VERSION", "ForeignFileError", "Store"]

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x66736478
"""`fsdx` in ASCII: tells our file from another program's."""
_BUSY_S = 5.0
_IDLE_AT_MOST = 4

_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folded TEXT NOT NULL, address TEXT NOT NULL,
    name TEXT NOT NULL, title TEXT NOT NULL, doc_type TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE INDEX documents_folded ON documents (folded);
CREATE INDEX documents_address ON documents (address);
CREATE INDEX documents_name ON documents (name);
CREATE INDEX documents_doc_type ON documents (doc_type, path);
CREATE TABLE aliases (address TEXT NOT NULL, document INTEGER NOT NULL);
CREATE INDEX aliases_address ON aliases (address);
CREATE INDEX aliases_document ON aliases (document);
CREATE TABLE builds (finished_ns INTEGER NOT NULL);
CREATE VIRTUAL TABLE pages USING fts5 (title, path, body, tokenize = "unicode61 remove_diacritics 2");
INSERT INTO pages (pages, rank) VALUES ('rank', 'bm25(10.0, 4.0, 1.0)');
COMMIT;
"""  # noqa: S608 - two numbers of our own


class ForeignFileError(sqlite3.DatabaseError):
    """The file is a database, but not one of ours or not of this version."""


class Store:
    """Connections to one file, or to one database in memory.

    Args:
        file: Where the index is kept; None keeps it in memory, with a single connection that threads take in turn.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self._mutex = threading.Lock()
        self._alone = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._generation = 0
        self._inode: int | None = None
        weakref.finalize(self, _close_all, self._idle)

    def process_lock(self) -> BaseFileLock | None:
        """Return the lock that the processes share who use this file; None in memory."""
        return None if self.file is None else FileLock(f"{self.file}.lock", thread_local=False)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection to the calling thread.

        Raises:
            sqlite3.Error: The file cannot be opened, or is not ours.
        """
        with self._alone if self.file is None else contextlib.nullcontext():
            with self._mutex:
                generation = self._generation
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._open()
            try:
                yield connection
            finally:
                self._give_back(connection, generation)

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
                connection.executescript(_SCHEMA)
            _recognise(connection)

    def discard(self) -> None:
        """Throw the file away, unless another process has put a new one in its place. Call it under `process_lock`."""
        inode = self._inode
        self.close()
        if self.file is None or (inode is not None and inode != _inode_of(self.file)):
            return
        for ending in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.file}{ending}")  # noqa: PTH108 - the names differ by their ending only

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        with self._mutex:
            self._generation += 1
            self._inode = None
            _close_all(self._idle)

    def _open(self) -> sqlite3.Connection:
        where = ":memory:" if self.file is None else f"{self.file.as_uri()}?mode=rw"
        connection = sqlite3.connect(
            where, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=self.file is not None
        )
        try:
            if self.file is None:
                connection.executescript(_SCHEMA)
            else:
                self._inode = _inode_of(self.file)
                _recognise(connection)
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        usable = _is_reset(connection)
        with self._mutex:
            keep = usable and generation == self._generation and len(self._idle) < _IDLE_AT_MOST
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


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
        raise ForeignFileError(msg)


def _inode_of(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None

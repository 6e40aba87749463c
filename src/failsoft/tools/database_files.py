"""SQLite files in the user's cache folder, shared by threads and processes, and pools of connections."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from filelock import BaseFileLock


C = TypeVar("C")
S = TypeVar("S", bound=sqlite3.Connection)
_IDLE_AT_MOST = 4


class ConnectionPool(Generic[C]):
    """A few connections, lent to threads.

    Args:
        make: Opens a connection.
        reset: Makes a returned connection ready for the next thread; False if it cannot be used again.
        close: Closes a connection.
    """

    def __init__(self, make: Callable[[], C], reset: Callable[[C], bool], close: Callable[[C], None]) -> None:
        self._make = make
        self._reset = reset
        self._close = close
        self._mutex = threading.Lock()
        self._idle: list[C] = []
        self._generation = 0
        weakref.finalize(self, _close_all, self._idle, close)

    @contextmanager
    def lend(self) -> Iterator[C]:
        """Lend a connection for the block; what `make` raises passes through."""
        with self._mutex:
            generation = self._generation
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._make()
        try:
            yield connection
        finally:
            usable = self._reset(connection)
            with self._mutex:
                keep = usable and generation == self._generation and len(self._idle) < _IDLE_AT_MOST
                if keep:
                    self._idle.append(connection)
            if not keep:
                self._close(connection)

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        with self._mutex:
            self._generation += 1
            _close_all(self._idle, self._close)


def _close_all(connections: list[C], close: Callable[[C], None]) -> None:
    while connections:
        close(connections.pop())


LOCK_WAIT_S = 60.0
"""How long to wait for a process that is building the same file."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG})


class ForeignFileError(sqlite3.DatabaseError):
    """The file is a database, but not of this kind, not of this version, or not complete."""


class FileKind(NamedTuple):
    """What tells a file of ours from others.

    Args:
        application_id: Four ASCII characters as a number, SQLite's mark of an application.
        version: Of the schema and the content.
    """

    application_id: int
    version: int

    def marks(self) -> str:
        """Return the statements that mark a file."""
        return f"PRAGMA user_version = {self.version}; PRAGMA application_id = {self.application_id};"

    def recognize(self, connection: sqlite3.Connection) -> None:
        """Raise unless the file is marked.

        Raises:
            ForeignFileError: It is not.
        """
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if found != [self.application_id, self.version]:
            msg = "the file is not a database of this kind and version"
            raise ForeignFileError(msg)


class DatabaseFile(ABC, Generic[S]):
    """One file, and a few connections to it.

    Args:
        file: Where it is; it need not exist yet.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._opened: object = None
        self._pool = ConnectionPool(self._open, is_reset, sqlite3.Connection.close)

    @abstractmethod
    def connect(self) -> S:
        """Open a connection; one that is not usable is closed before the error is raised.

        Raises:
            sqlite3.Error: The file cannot be opened, or is not ours.
        """

    def process_lock(self) -> BaseFileLock:
        """Return the lock that the processes share who use this file."""
        from filelock import FileLock  # noqa: PLC0415 - 20 ms that no server needs to start

        return FileLock(f"{self.file}.lock", thread_local=False)

    @contextmanager
    def connection(self) -> Iterator[S]:
        """Lend a connection to the calling thread.

        Raises:
            sqlite3.Error: The file cannot be opened, or is not ours.
        """
        with self._pool.lend() as connection:
            yield connection

    def discard(self) -> None:
        """Delete the file, unless another process has replaced it. Call it under `process_lock`."""
        opened = self._opened
        self.close()
        if opened is not None and opened != self.identity():
            return
        for ending in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.file}{ending}")  # noqa: PTH108 - the names differ by their ending only

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        self._opened = None
        self._pool.close()

    def identity(self) -> object:
        """Return what changes when the file is replaced; None if there is none."""
        try:
            return self.file.stat().st_ino
        except OSError:
            return None

    def _open(self) -> S:
        self._opened = self.identity()
        return self.connect()


def cache_folder(cache_dir: Path | None, name: str) -> Path:
    """Return the folder of a toolset in the given cache folder, by default the user's."""
    if cache_dir is None:
        from platformdirs import user_cache_path  # noqa: PLC0415 - not needed where the folder is given

        cache_dir = user_cache_path("failsoft")
    return cache_dir.absolute() / name


def is_damage(error: sqlite3.Error, *also: int) -> bool:
    """Return whether the error says that the file itself is damaged, not only out of reach.

    Args:
        error: What SQLite raised.
        also: Further primary result codes that count as damage.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, ForeignFileError) or code in _DAMAGE or code in also


def is_reset(connection: sqlite3.Connection) -> bool:
    """Roll back what was left of a transaction; return whether that worked."""
    try:
        if connection.in_transaction:
            connection.rollback()
    except sqlite3.Error:
        return False
    return True

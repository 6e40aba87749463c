"""The database file on disk, built in a temporary file and renamed atomically when complete."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout as FileLockTimeout

from failsoft.tools.flux.database.building import SCHEMA_VERSION, ForeignDatabaseError, fill, recognize
from failsoft.tools.flux.database.tables import Tables

__all__ = ["PlaceError", "Storage", "is_damage", "is_full"]

_BUILD_WAIT_S = 60.0
"""How long to wait for a process that is building the same file."""
_IDLE_AT_MOST = 8
_DAMAGE = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
)


class PlaceError(Exception):
    """The folder of the database cannot be used; the cause says why."""


class Storage:
    """One database file, never changed once it is there; connections to it are lent to threads.

    Args:
        tables: What it is built from; their key is part of its name.
        cache_dir: The folder of such files; by default in the user's cache folder.
    """

    def __init__(self, tables: Tables, cache_dir: Path | None) -> None:
        self._tables = tables
        self.file = _folder(cache_dir) / f"{tables.key}-v{SCHEMA_VERSION}.sqlite3"
        self._mutex = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._generation = 0
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection to the calling thread.

        Raises:
            sqlite3.Error: The file cannot be opened, or is not ours.
        """
        with self._mutex:
            generation = self._generation
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._open()
        try:
            yield connection
        finally:
            with self._mutex:
                keep = generation == self._generation and len(self._idle) < _IDLE_AT_MOST
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()

    def ensure(self) -> None:
        """Build the file unless it exists and is valid; waits for another process that is building it.

        Raises:
            filelock.Timeout: That process takes longer than a minute.
            PlaceError, sqlite3.Error, OSError: The file cannot be written.
            Exception: Anything, if the tables are not what they should be.
        """
        if self._is_good():
            return
        lock = FileLock(f"{self.file}.lock", timeout=_BUILD_WAIT_S)
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = lock.acquire()
        except FileLockTimeout:
            raise
        except OSError as error:
            raise PlaceError from error
        with taken:
            if not self._is_good():
                self._build()

    def discard(self, broken: object) -> None:
        """Remove a damaged file, unless another thread or process has put a new one in its place already."""
        self.close()
        with FileLock(f"{self.file}.lock", timeout=_BUILD_WAIT_S), contextlib.suppress(FileNotFoundError):
            if broken is None or broken == self.stamp():
                self.file.unlink()

    def stamp(self) -> tuple[int, int] | None:
        """Return the identity of the file, which changes when it is replaced; None if there is none."""
        try:
            status = self.file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns  # inode numbers are reused

    def close(self) -> None:
        """Close the connections: idle ones now, lent ones when they come back."""
        with self._mutex:
            self._generation += 1
            _close_all(self._idle)

    def _build(self) -> None:
        # The name is the lock holder's alone, so what a process left that was killed meanwhile is overwritten.
        partial = self.file.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        try:
            with contextlib.closing(sqlite3.connect(partial, isolation_level=None)) as connection:
                connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
                fill(connection, self._tables)
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            partial.replace(self.file)
            self._remove_predecessors()
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def _remove_predecessors(self) -> None:
        """Remove files built from earlier versions of the same source; open connections to them stay valid."""
        source = self._tables.key.partition("-")[0]
        for file in self.file.parent.glob(f"{source}-*-v{SCHEMA_VERSION}.sqlite3"):
            if file != self.file:
                file.unlink(missing_ok=True)

    def _is_good(self) -> bool:
        try:
            with contextlib.closing(self._open()) as connection:
                # A thorough look costs as much as half the build; what it would find is found when it is read.
                return os.path.getsize(self.file) == _size(connection)  # noqa: PTH202 - the same, and shorter
        except (sqlite3.Error, OSError):
            return False

    def _open(self) -> sqlite3.Connection:
        # `immutable`: no locks are taken and no changes looked for, since the file is replaced and never written to.
        where = f"{self.file.as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(where, isolation_level=None, check_same_thread=False, uri=True)
        try:
            recognize(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the error means that the file is damaged or missing."""
    return isinstance(error, ForeignDatabaseError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def is_full(error: BaseException) -> bool:
    """Return whether the error means that the disk is full."""
    import errno  # noqa: PLC0415 - only failures need it

    if isinstance(error, PlaceError) and error.__cause__ is not None:
        error = error.__cause__
    is_sqlite = isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return is_sqlite or (isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT})


def _size(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size: int = pages * connection.execute("PRAGMA page_size").fetchone()[0]
    return size


def _folder(cache_dir: Path | None) -> Path:
    if cache_dir is None:
        from platformdirs import user_cache_path  # noqa: PLC0415 - not needed where the folder is given

        cache_dir = user_cache_path("failsoft")
    return cache_dir.absolute() / "flux"


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()

"""The database file on disk, built in a temporary file and renamed atomically when complete."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from filelock import Timeout as FileLockTimeout

from failsoft.tools.database_files import LOCK_WAIT_S, DatabaseFile, cache_folder
from failsoft.tools.flux.database.building import SCHEMA_VERSION, fill, recognize
from failsoft.tools.flux.database.tables import Tables


class PlaceError(Exception):
    """The folder of the database cannot be used; the cause says why."""


class Storage(DatabaseFile[sqlite3.Connection]):
    """One database file, never changed once it is there.

    Args:
        tables: What it is built from; their key is part of its name.
        cache_dir: The folder of such files; by default in the user's cache folder.
    """

    def __init__(self, tables: Tables, cache_dir: Path | None) -> None:
        super().__init__(cache_folder(cache_dir, "flux") / f"{tables.key}-v{SCHEMA_VERSION}.sqlite3")
        self._tables = tables

    def ensure(self) -> None:
        """Build the file unless it exists and is valid; waits for another process that is building it.

        Raises:
            filelock.Timeout: That process takes longer than a minute.
            PlaceError, sqlite3.Error, OSError: The file cannot be written.
            Exception: Anything, if the tables are not what they should be.
        """
        if self._is_good():
            return
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = self.process_lock().acquire(timeout=LOCK_WAIT_S)
        except FileLockTimeout:
            raise
        except OSError as error:
            raise PlaceError from error
        with taken:
            if not self._is_good():
                self._build()

    def identity(self) -> object:
        """Return what changes when the file is replaced; None if there is none."""
        try:
            status = self.file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns  # inode numbers are reused

    def connect(self) -> sqlite3.Connection:
        """Open a connection; see `DatabaseFile`."""
        # `immutable`: no locks are taken and no changes looked for, since the file is replaced and never written to.
        where = f"{self.file.as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(where, isolation_level=None, check_same_thread=False, uri=True)
        try:
            recognize(connection)
        except BaseException:
            connection.close()
            raise
        return connection

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
            with contextlib.closing(self.connect()) as connection:
                # A thorough look costs as much as half the build; what it would find is found when it is read.
                return os.path.getsize(self.file) == _size(connection)  # noqa: PTH202 - the same, and shorter
        except (sqlite3.Error, OSError):
            return False


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

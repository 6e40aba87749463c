"""`SqliteFile`: an SQLite database in WAL mode with a dedicated thread that batches operations into transactions."""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from failsoft.framework.files import others_may_write, protected_files
from failsoft.framework.records import StoreLost, UnreadableValue
from failsoft.framework.safe.author_reports import logger

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], Any]

_APPLICATION_ID = 0x46534F46
_VERSION = 1
_BUSY_MS = 100
_BATCH = 64
_SWEEP_EVERY_S = 5.0
_SWEPT_AT_ONCE = 1_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, value TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS record_until ON record (until);
CREATE TABLE IF NOT EXISTS account (
    owner TEXT PRIMARY KEY, records INTEGER NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS record_added AFTER INSERT ON record WHEN NEW.owner <> '' BEGIN
    INSERT INTO account VALUES (NEW.owner, 1, length(NEW.key) + length(NEW.value))
    ON CONFLICT (owner) DO UPDATE SET records = records + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS record_changed AFTER UPDATE OF value ON record WHEN NEW.owner <> '' BEGIN
    UPDATE account SET bytes = bytes + length(NEW.value) - length(OLD.value) WHERE owner = NEW.owner;
END;
CREATE TRIGGER IF NOT EXISTS record_removed AFTER DELETE ON record WHEN OLD.owner <> '' BEGIN
    UPDATE account SET records = records - 1, bytes = bytes - length(OLD.key) - length(OLD.value)
    WHERE owner = OLD.owner;
    DELETE FROM account WHERE owner = OLD.owner AND records <= 0;
END;
"""
_MARKS = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_VERSION};"


@dataclass(frozen=True, slots=True)
class _SqliteJob:
    work: Work
    writes: bool
    until: float
    """The deadline for getting the file's lock, on the monotonic clock."""
    done: Future[Any]


class SqliteFile:
    """A database file, opened by the first operation. Operations run in its thread, never on the event loop.

    Queued operations share one transaction, so a burst of calls pays for one commit. WAL with `synchronous=NORMAL`: a
    committed operation survives `kill -9`; a power failure may lose the last ones but never corrupts the file.

    Args:
        path: The file; its folder is created with mode 0700.
        patience_s: How long an operation waits while other processes hold the file, in seconds.
    """

    def __init__(self, path: Path, *, patience_s: float = 5.0) -> None:
        self.path = path
        protected_files.add(self, path, kind="family")
        self._patience_s = patience_s
        self._jobs: queue.SimpleQueue[_SqliteJob | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._swept_at = 0.0
        self._reported = ""

    async def run(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = True) -> T:
        """Run work in the thread and return its result; `writes`: in a transaction that excludes other writers.

        Raises:
            StoreLost: The file cannot be used, or is held by another process for too long. Nothing was changed.
        """
        job = _SqliteJob(work, writes, time.monotonic() + self._patience_s, Future())
        with self._lock:
            if self._thread is None:
                self._jobs = queue.SimpleQueue()
                given = (self._jobs, self._ending)
                self._thread = threading.Thread(target=self._serve, args=given, name="failsoft-state", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        # Cancelling the caller must not undo what the thread may be doing, so the thread's future is shielded.
        return await asyncio.wrap_future(job.done)

    async def close(self) -> None:
        """Finish queued operations, stop the thread and close the file; the next operation reopens it."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            self._ending = thread
            self._jobs.put(None)
        await asyncio.to_thread(thread.join)

    def _serve(self, queued: queue.SimpleQueue[_SqliteJob | None], ending: threading.Thread | None) -> None:
        """Run jobs until `None` is received, once the thread before this one has ended: they share the connection."""
        if ending is not None:
            ending.join()
        is_over = False
        while not is_over:
            batch = [queued.get()]
            with suppress(queue.Empty):
                while len(batch) < _BATCH and batch[-1] is not None:
                    batch.append(queued.get_nowait())
            is_over = batch[-1] is None
            jobs = [job for job in batch if job is not None and job.done.set_running_or_notify_cancel()]
            if jobs:
                self._do(jobs)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _do(self, jobs: list[_SqliteJob]) -> None:
        """Run jobs in one transaction; if one of them fails, run each in its own transaction."""
        try:
            results = self._transact(jobs)
        except BaseException as error:  # noqa: BLE001 - raised in the callers: the thread must not end
            if len(jobs) > 1:
                for job in jobs:
                    self._do([job])
            else:
                jobs[0].done.set_exception(self._translated(error))
            return
        for job, result in zip(jobs, results, strict=True):
            job.done.set_result(result)

    def _transact(self, jobs: list[_SqliteJob]) -> list[Any]:
        connection = self._connection or self._open()
        if self._on_disk() != self._identity:  # writes to a file without a name would be lost
            msg = "it was removed or replaced while it was in use; what it held is forgotten unless it is put back"
            raise StoreLost(msg, is_lasting=True)
        writes = any(job.writes for job in jobs)
        if not writes:
            return [job.work(connection) for job in jobs]
        self._begin(connection, min(job.until for job in jobs))
        try:
            results = [job.work(connection) for job in jobs]
            self._sweep(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return results

    @staticmethod
    def _begin(connection: sqlite3.Connection, until: float) -> None:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= until:
                    raise
            else:
                return

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Delete a batch of expired records every few seconds."""
        now = time.time()
        if 0.0 <= now - self._swept_at < _SWEEP_EVERY_S:
            return
        expired = "SELECT key FROM record WHERE until <= ? ORDER BY until LIMIT ?"
        removed = connection.execute(f"DELETE FROM record WHERE key IN ({expired})", (now, _SWEPT_AT_ONCE)).rowcount  # noqa: S608 - no text from outside
        if removed < _SWEPT_AT_ONCE:
            self._swept_at = now

    def _open(self) -> sqlite3.Connection:
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Created here because sqlite3 would make it world-readable; SQLite gives its other files the same mode.
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        if others_may_write(self.path):
            msg = "its group or other users may write it, so that they decide what counts as done: `chmod go-w` it"
            raise StoreLost(msg, is_lasting=True)
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1_000)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._identity = self._on_disk()
        self._reported = ""
        return connection

    def _on_disk(self) -> tuple[int, int]:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_dev, found.st_ino

    def _prepare(self, connection: sqlite3.Connection) -> None:
        until = time.monotonic() + self._patience_s
        while True:
            try:
                _check_kind(connection)
                if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                    msg = "its folder does not allow SQLite's WAL mode"
                    raise StoreLost(msg, is_lasting=True)
                connection.execute("PRAGMA synchronous = NORMAL")
                if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} {_MARKS} COMMIT;")
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= until:
                    raise
            else:
                return

    def _translated(self, error: BaseException) -> BaseException:
        """Return the error for the caller; a failure of the file is logged once until it works again."""
        if isinstance(error, UnreadableValue):
            return error
        if isinstance(error, (OSError, sqlite3.Error)):
            lost = what_is_wrong(error)
        elif isinstance(error, StoreLost):
            lost = error
        else:
            return error
        if lost.is_lasting and self._connection is not None:
            self._connection.close()  # reopen the file once it is repaired or replaced
            self._connection = None
        if self._reported != str(lost):
            self._reported = str(lost)
            logger.error("The state store {} cannot be used: {}", self.path, lost)
        return lost


def _check_kind(connection: sqlite3.Connection) -> None:
    """Raise `StoreLost` for a file of another program or of a newer version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION and application == _APPLICATION_ID:
        msg = f"a newer version of failsoft has made it (format {version}; this one reads {_VERSION})"
        raise StoreLost(msg, is_lasting=True)
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != _APPLICATION_ID and not is_empty:
        msg = "it is a database of another program"
        raise StoreLost(msg, is_lasting=True)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


_LASTING = {
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database, or it is damaged",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_READONLY: "it is not writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: it, or its folder, is not readable or not writable",
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_IOERR: "its disk reports an error",
    sqlite3.SQLITE_PERM: "access to it is denied",
}


def what_is_wrong(error: OSError | sqlite3.Error) -> StoreLost:
    """Return the `StoreLost` that describes a failure of the file."""
    if isinstance(error, OSError):
        return StoreLost(error.strerror or type(error).__name__, is_lasting=True)
    if _is_busy(error):
        return StoreLost("another process has locked it")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return StoreLost(_LASTING.get(code, type(error).__name__), is_lasting=code in _LASTING)

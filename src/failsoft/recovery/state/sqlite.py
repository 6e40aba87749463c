"""`SqliteBackend`: keys in one SQLite file, shared by the processes of one machine; one thread batches its writes."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from failsoft.framework.clock import boot_id, elapsed_s
from failsoft.framework.files import other_writers, protected_files
from failsoft.framework.state.backend import (
    NOTHING,
    UNREADABLE,
    Held,
    Record,
    StoreLost,
    Write,
    age_of,
)
from failsoft.recovery.state.sqlite_format import (
    agreed_offset,
    is_busy,
    prepare,
    prepare_to_read,
    require_room,
    what_is_wrong,
    when_free,
)

T = TypeVar("T")
_BUSY_MS = 100
_BATCH = 64
_SWEEP_EVERY_S = 5.0
_SWEPT_AT_ONCE = 1_000
_NO_FILE = 0, 0
_READ = "SELECT version, CAST(value AS BLOB) FROM record WHERE key = ? AND until > ?"
_FIND = (
    "SELECT key, CAST(value AS BLOB), until, version FROM record WHERE substr(key, 1, ?) = ? AND until > ? ORDER BY key"
)
_PUT = """
INSERT INTO record (key, owner, value, until, version) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, until = excluded.until, version = excluded.version
"""


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    writes: bool
    look: Callable[[sqlite3.Connection], Any] | None
    """Returns the result without a lock, or None if the work has to be done."""
    until: float
    """The deadline for getting the file's lock, on the monotonic clock."""
    done: Future[Any]


class SqliteBackend:
    """See `Backend`. The file is opened by the first operation; operations run in a thread, never on the event loop.

    Queued writes share one transaction, so a burst of calls pays for one commit. WAL with `synchronous=NORMAL`: what
    was answered survives `kill -9`; a power failure may lose the last writes but never corrupts the file. Reads need no
    lock, so that they go on while another process writes, the disk is full, or the file is not writable.

    Args:
        path: The file; its folder is created with mode 0700.
        patience_s: How long a write waits while other processes hold the file, in seconds.
    """

    is_local = False
    is_of_machine = True

    def __init__(self, path: Path, *, patience_s: float = 5.0) -> None:
        self.path = path
        self.default_root = os.path.realpath(".")
        protected_files.add(self, path, kind="family")
        self._patience_s = patience_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_read_only, self._identity = False, _NO_FILE
        self._wal, self._wal_identity = path.with_name(path.name + "-wal"), _NO_FILE
        self._swept_at = 0.0
        self._ahead_s = time.time() - elapsed_s()

    def clock(self) -> float:
        """Return the time in seconds that all users of the file share, and no jump of the system time changes."""
        return elapsed_s() + self._ahead_s

    async def ping(self) -> None:
        """Open the file, if it is not open."""
        await self._run(lambda connection: connection.execute("SELECT 1 FROM record LIMIT 1").fetchone(), writes=True)

    async def read(self, key: str) -> Held:
        """See `Backend`."""
        return await self._run(lambda connection: _held(connection, key, self.clock()), writes=False)

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        """See `Backend`."""
        text = None if write.value is None else json.dumps(write.value)

        def look(connection: sqlite3.Connection) -> Held | None:
            held = _held(connection, key, self.clock())
            return None if held.version in {version, write.version} else held

        def work(connection: sqlite3.Connection) -> Held | None:
            return _swapped(connection, key, version, write, text, self.clock())

        return await self._run(work, writes=True, look=look)

    async def find(self, prefix: str) -> list[Record]:
        """See `Backend`."""

        def records(connection: sqlite3.Connection) -> list[Record]:
            now = self.clock()
            found: list[Record] = []
            for key, value, until, version in connection.execute(_FIND, (len(prefix), prefix, now)):
                with suppress(ValueError, RecursionError):
                    found.append(Record(key, json.loads(value), max(0.0, until - now), age_of(version, now)))
            return found

        return await self._run(records, writes=False)

    async def fullest(self) -> int:
        """See `Backend`; a file that is not open is not opened for it."""
        if self._thread is None:
            return 0
        most = "SELECT max(bytes) FROM account"
        found = await self._run(lambda connection: connection.execute(most).fetchone()[0], writes=False)
        return int(found or 0)

    async def close(self) -> None:
        """Finish queued operations, stop the thread and close the file; the next operation reopens it."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            self._ending = thread
            self._jobs.put(None)
        await asyncio.to_thread(thread.join)

    async def _run(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        writes: bool,
        look: Callable[[sqlite3.Connection], T] | None = None,
    ) -> T:
        """Run work in the thread and return its result; `writes`: in a transaction that excludes other writers.

        Raises:
            StoreLost: The file cannot be used, or is held by another process for too long. Nothing was changed.
        """
        job = _Job(work, writes, look, time.monotonic() + self._patience_s, Future())
        with self._lock:
            if self._thread is None:
                self._jobs = queue.SimpleQueue()
                given = (self._jobs, self._ending)
                self._thread = threading.Thread(target=self._serve, args=given, name="failsoft-state", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        # Cancelling the caller must not undo what the thread may be doing, so the thread's future is shielded.
        return await asyncio.wrap_future(job.done)

    def _serve(self, queued: queue.SimpleQueue[_Job | None], ending: threading.Thread | None) -> None:
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
            if writing := [job for job in jobs if not self._is_done_without_lock(job)]:
                self._do(writing)
        self._disconnect()

    def _is_done_without_lock(self, job: _Job) -> bool:
        """Do a job that needs no lock; return whether it is done."""
        look = job.look if job.writes else job.work
        if look is None:
            return False
        try:
            result = look(self._connected(writes=False))
        except BaseException as error:  # noqa: BLE001 - raised in the caller: the thread must not end
            if job.writes:
                return False
            job.done.set_exception(self._translated(error))
            return True
        if result is None and job.writes:
            return False
        job.done.set_result(result)
        return True

    def _do(self, jobs: list[_Job]) -> None:
        """Run jobs in one transaction; if one of them fails, run each in its own transaction."""
        try:
            results = self._transact(jobs)
        except BaseException as error:  # noqa: BLE001 - raised in the callers: the thread must not end
            if isinstance(error, sqlite3.OperationalError) and is_busy(error):
                self._give_up(jobs, error)
            elif len(jobs) > 1:
                for job in jobs:
                    self._do([job])
            else:
                jobs[0].done.set_exception(self._translated(error))
            return
        for job, result in zip(jobs, results, strict=True):
            job.done.set_result(result)

    def _give_up(self, jobs: list[_Job], error: sqlite3.OperationalError) -> None:
        """Fail the jobs that have waited for the lock for long enough; do the others."""
        now = time.monotonic()
        if waiting := [job for job in jobs if job.until > now]:
            self._do(waiting)
        for job in jobs:
            if job.until <= now:
                job.done.set_exception(self._translated(error))

    def _transact(self, jobs: list[_Job]) -> list[Any]:
        connection = self._connected(writes=True)
        until = min(job.until for job in jobs)
        when_free(lambda: connection.execute("BEGIN IMMEDIATE"), until)
        try:
            results = [job.work(connection) for job in jobs]
            self._sweep(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return results

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Delete a batch of expired records every few seconds."""
        now = self.clock()
        if now - self._swept_at < _SWEEP_EVERY_S:
            return
        expired = "SELECT key FROM record WHERE until <= ? ORDER BY until LIMIT ?"
        removed = connection.execute(f"DELETE FROM record WHERE key IN ({expired})", (now, _SWEPT_AT_ONCE)).rowcount  # noqa: S608 - no text from outside
        if removed < _SWEPT_AT_ONCE:
            self._swept_at = now

    def _connected(self, *, writes: bool) -> sqlite3.Connection:
        if writes and self._is_read_only:
            self._disconnect()
        if self._connection is None:
            try:
                self._open()
            except (sqlite3.OperationalError, OSError):
                if writes or not self._open_to_read():
                    raise
        if _identity(self.path) != self._identity:  # writes to a file without a name would be lost
            self._put_wal_aside()
            msg = "it was removed or replaced while it was in use; what it held is forgotten unless it is put back"
            raise StoreLost(msg, fault="damaged")
        assert self._connection is not None  # noqa: S101 - for the type checker
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Created here because sqlite3 would make it world-readable; SQLite gives its other files the same mode.
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._require_own()
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1_000)
        try:
            when_free(lambda: self._prepare(connection), time.monotonic() + self._patience_s)
        except BaseException:
            connection.close()
            raise
        self._use(connection, is_read_only=False)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        prepare(connection)
        self._ahead_s = agreed_offset(connection, boot_id(), self._ahead_s, writes=True)

    def _open_to_read(self) -> bool:
        """Open a file that takes no writes, if possible without the files beside it; return whether that worked."""
        has_newer = self._wal.exists() and self._wal.stat().st_size > 0  # the last writes, without which keys seem new
        for mode in ("mode=ro",) if has_newer else ("mode=ro", "mode=ro&immutable=1"):
            try:
                connection = sqlite3.connect(f"{self.path.as_uri()}?{mode}", uri=True, check_same_thread=False)
            except sqlite3.Error:
                continue
            try:
                prepare_to_read(connection)
                self._ahead_s = agreed_offset(connection, boot_id(), self._ahead_s, writes=False)
            except sqlite3.Error:
                connection.close()
            else:
                self._use(connection, is_read_only=True)
                return True
        return False

    def _require_own(self) -> None:
        is_file = stat.S_ISREG(self.path.stat().st_mode)  # to open a pipe would wait for its other end
        if reason := other_writers(self.path, self.path) if is_file else "it is not a regular file":
            raise StoreLost(reason, fault="denied")

    def _use(self, connection: sqlite3.Connection, *, is_read_only: bool) -> None:
        self._connection, self._is_read_only = connection, is_read_only
        self._identity, self._wal_identity = _identity(self.path), _identity(self._wal)

    def _put_wal_aside(self) -> None:
        """Rename the last writes of a file that was replaced: SQLite would take them for those of the new one."""
        if self._wal_identity != _NO_FILE and _identity(self._wal) == self._wal_identity:
            self._wal.rename(self._wal.with_name(f"{self._wal.name}.{self._identity[1]}"))
            self.path.with_name(self.path.name + "-shm").unlink(missing_ok=True)

    def _translated(self, error: BaseException) -> BaseException:
        """Return the error for the caller; a failure of the file names it."""
        if not isinstance(error, (OSError, sqlite3.Error, StoreLost)):
            return error
        lost = error if isinstance(error, StoreLost) else what_is_wrong(error, self.path)
        if lost.fault in {"damaged", "denied"}:
            self._disconnect()  # reopen the file once it is repaired or replaced
        return type(lost)(f"{self.path}: {lost}", fault=lost.fault)


def _identity(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return _NO_FILE
    return found.st_dev, found.st_ino


def _held(connection: sqlite3.Connection, key: str, now: float) -> Held:
    row = connection.execute(_READ, (key, now)).fetchone()
    try:
        return Held(NOTHING, None) if row is None else Held(row[0], json.loads(row[1]))
    except (ValueError, RecursionError):
        return Held(row[0], UNREADABLE)


def _swapped(
    connection: sqlite3.Connection, key: str, version: str, write: Write, text: str | None, now: float
) -> Held | None:
    row = connection.execute(_READ, (key, now)).fetchone()
    there = NOTHING if row is None else row[0]
    if there == write.version:  # this very write, whose answer was lost
        return None
    if there != version:
        return _held(connection, key, now)
    if text is None:
        connection.execute("DELETE FROM record WHERE key = ?", (key,))
        return None
    connection.execute("DELETE FROM record WHERE key = ? AND until <= ?", (key, now))
    if write.account is not None and (row is None or not write.may_grow):
        require_room(connection, key, text, write.account, now, before=None if row is None else row[1])
    owner = "" if write.account is None else write.account.owner
    connection.execute(_PUT, (key, owner, text, now + write.ttl_s, write.version))
    return None

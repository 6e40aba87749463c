"""`AuditLog`: takes entries from any number of calls, and writes what has gathered with one trip to the disk.

A trip takes milliseconds, so it never happens on the event loop: a thread of its own writes, and while it waits for the
disk the next entries gather. The thread starts with the first entry.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from loguru import logger

from failsoft.framework.audit.head_file import HeadFile
from failsoft.framework.audit.locking import NotWritten
from failsoft.framework.audit.log_file import LogFile
from failsoft.framework.audit.reading import newest, tail
from failsoft.framework.audit.sealing import Seal
from failsoft.framework.audit.segments import segments
from failsoft.framework.audit.verify import Verdict, default_head, verify
from failsoft.framework.errors import AuditLockFailed, AuditLogFailed

if TYPE_CHECKING:
    from failsoft.framework.settings import Settings

__all__ = ["AuditLog"]

_BATCH_AT_MOST = 1_000
_WAITING_AT_MOST = 10_000
_AT_EXIT_S = 5.0
_FOR_THE_LOCK = 0.8
"""The share of the waiting time that may be spent on the lock; the rest is for the disk."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """One entry on its way to the disk, and who waits for it; without facts, somebody waits for the log itself."""

    facts: Mapping[str, Any] | None
    since: float
    loop: asyncio.AbstractEventLoop | None = None
    written: asyncio.Future[NotWritten | None] | None = None


@dataclass(slots=True, eq=False)
class _Writer:
    """The thread and what it works on; a forked process needs another one."""

    file: LogFile
    inbox: queue.SimpleQueue[_Waiting | None] = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None
    pid: int = field(default_factory=os.getpid)


class AuditLog:
    """An append-only log of failures, shared by all processes that are given its path.

    Args:
        path: The log; its folder has to exist.
        key: With it, entries are sealed by HMAC-SHA256. It never changes within one log.
        max_bytes: A file that has grown to so many bytes is put aside, and the chain goes on in a new one.
        head_path: Where the end of the chain is kept; by default beside the log, with `.head` behind its name.
        wait_s: How long a call waits for its entry, in seconds: for other processes, and for the disk.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        key: bytes | None = None,
        max_bytes: int = 16 * 1024 * 1024,
        head_path: Path | str | None = None,
        wait_s: float = 5.0,
    ) -> None:
        self.path = Path(path).absolute()
        self._key = key
        self._seal = Seal(key)
        self._head_path = Path(head_path).absolute() if head_path is not None else default_head(self.path)
        self._max_bytes = max_bytes
        self._wait_s = wait_s
        self._no_answer = NotWritten(f"the disk did not answer within {wait_s:g} seconds")
        self._lock = threading.Lock()
        self._closed = False
        self._writer = self._new_writer()

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """Return the log that the settings ask for; None if they ask for none."""
        if settings.audit_path is None:
            return None
        key = settings.audit_key
        return cls(
            settings.audit_path,
            key=key.get_secret_value().encode() if key is not None else None,
            max_bytes=settings.audit_max_bytes,
            head_path=settings.audit_head_path,
            wait_s=settings.audit_wait_s,
        )

    async def record(self, facts: Mapping[str, Any]) -> None:
        """Write an entry, and return when it is on disk.

        Args:
            facts: A JSON tree that holds nothing secret; `seq`, `prev`, `alg` and `hash` are added.

        Raises:
            AUDIT_LOG_FAILED: It could not be written.
            AUDIT_LOCK_FAILED: Another process held the log for too long.
        """
        await self._wait_for(facts)

    async def open(self) -> None:
        """Look through the log and mend a torn end, so that the first failure need not wait for that.

        Raises:
            AUDIT_LOG_FAILED: It is damaged, or cannot be written.
            AUDIT_LOCK_FAILED: Another process held it for too long.
        """
        await self._wait_for(None)

    async def _wait_for(self, facts: Mapping[str, Any] | None) -> None:
        loop = asyncio.get_running_loop()
        written: asyncio.Future[NotWritten | None] = loop.create_future()
        self._submit(_Waiting(facts, time.monotonic(), loop, written))
        timer = loop.call_later(self._wait_s, _settle, (written,), self._no_answer)
        try:
            refused = await written
        finally:
            timer.cancel()
        if refused is not None:
            raise _typed(refused) from refused.__cause__

    def note(self, facts: Mapping[str, Any]) -> None:
        """Have an entry written without waiting for it: for what nobody is told of, as a call that was cancelled."""
        self._submit(_Waiting(facts, time.monotonic()))

    def check(self) -> None:
        """Look through the log as it is, and mend a torn end: `open` for those who have no event loop.

        Raises:
            AUDIT_LOG_FAILED: It is damaged, or cannot be written.
            AUDIT_LOCK_FAILED: Another process held it for too long.
        """
        file = self._new_file()
        try:
            file.append((), time.monotonic() + self._wait_s)
        except NotWritten as refused:
            raise _typed(refused) from refused.__cause__
        finally:
            file.close()

    def tail(self, limit: int = 20) -> list[dict[str, Any]]:
        """Return the last entries, oldest first. Reads files: not for the event loop.

        Raises:
            OSError: A file is there and cannot be read.
        """
        return tail(self.path, limit)

    def newest(self, field: str, value: str, *, limit: int, bytes_at_most: int) -> tuple[list[dict[str, Any]], bool]:
        """Return the last entries with a value in a field, oldest first, and whether there may be more before them.

        Reads files: not for the event loop.

        Args:
            field: A key of entries.
            value: What it has to be.
            limit: Entries at most.
            bytes_at_most: How much of the log is looked through, from its end.

        Raises:
            OSError: A file is there and cannot be read.
        """
        return newest(self.path, field, value, limit=limit, bytes_at_most=bytes_at_most)

    def verify(self) -> Verdict:
        """Return whether the log is as it was written. Reads all of it: not for the event loop.

        Raises:
            OSError: A file is there and cannot be read.
        """
        return verify(self.path, key=self._key, head_path=self._head_path)

    def size_bytes(self) -> int:
        """Return how much there is to read, files that were put aside included."""
        return sum(file.stat().st_size for file in (self.path, *segments(self.path)) if file.exists())

    def close(self, timeout_s: float = 10.0) -> bool:
        """Write what waits, and take no more. Return whether everything was written within the limit in seconds."""
        with self._lock:
            first, self._closed = not self._closed, True
            writer = self._writer
        if writer.thread is None or writer.pid != os.getpid():
            return True
        if first:
            writer.inbox.put(None)
        writer.thread.join(timeout_s)
        if writer.thread.is_alive():
            return False
        atexit.unregister(self._close_at_exit)
        return True

    def _submit(self, entry: _Waiting) -> None:
        with self._lock:
            if self._writer.pid != os.getpid():  # a fork took no thread along, and its lock would be its parent's
                self._writer = self._new_writer()
            writer = self._writer
            if self._closed:
                raise AuditLogFailed(reason="it was closed")
            if writer.inbox.qsize() >= _WAITING_AT_MOST:
                raise AuditLogFailed(reason="too many entries wait to be written")
            if writer.thread is None:
                self._start(writer)
            writer.inbox.put(entry)

    def _start(self, writer: _Writer) -> None:
        thread = threading.Thread(target=_write_all, args=(writer, self._wait_s), name="failsoft-audit", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise AuditLogFailed(reason="the system gives no more threads") from error
        writer.thread = thread
        atexit.register(self._close_at_exit)

    def _close_at_exit(self) -> None:
        self.close(_AT_EXIT_S)

    def _new_writer(self) -> _Writer:
        return _Writer(self._new_file())

    def _new_file(self) -> LogFile:
        head = HeadFile(self._head_path, self._seal)
        return LogFile(self.path, seal=self._seal, head=head, max_bytes=self._max_bytes)


def _typed(refused: NotWritten) -> AuditLogFailed | AuditLockFailed:
    kind = AuditLockFailed if refused.is_locked else AuditLogFailed
    return kind(reason=refused.reason)


def _write_all(writer: _Writer, wait_s: float) -> None:
    """Write until told to end: what has gathered while the disk was busy goes with the next trip."""
    is_over = False
    while not is_over:
        batch: list[_Waiting] = []
        entry = writer.inbox.get()
        while True:
            if entry is None:
                is_over = True
                break
            batch.append(entry)
            if len(batch) == _BATCH_AT_MOST or writer.inbox.empty():
                break
            entry = writer.inbox.get()
        if batch:
            _serve(writer.file, batch, wait_s)
        del batch, entry  # an idle thread must not keep the last calls' facts
    writer.file.close()


def _serve(file: LogFile, batch: list[_Waiting], wait_s: float) -> None:
    """Write a batch and tell everybody; where one entry cannot even be put into words, each goes alone."""
    refused = _write(file, batch, wait_s)
    if refused is not None and isinstance(refused.__cause__, (TypeError, ValueError)) and len(batch) > 1:
        for entry in batch:
            _answer([entry], _write(file, [entry], wait_s))
    else:
        _answer(batch, refused)


def _write(file: LogFile, batch: list[_Waiting], wait_s: float) -> NotWritten | None:
    try:
        facts = [entry.facts for entry in batch if entry.facts is not None]
        file.append(facts, batch[0].since + _FOR_THE_LOCK * wait_s)
    except NotWritten as refused:
        return refused
    except Exception as error:  # noqa: BLE001 - the thread must go on: later entries may be fine
        broken = NotWritten("the server itself failed while it wrote")
        broken.__cause__ = error
        return broken
    return None


def _answer(batch: list[_Waiting], refused: NotWritten | None) -> None:
    """Tell everybody who waits, each loop once; of the others a refusal is only logged."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[NotWritten | None]]] = {}
    for entry in batch:
        if entry.loop is not None and entry.written is not None:
            by_loop.setdefault(entry.loop, []).append(entry.written)
        elif refused is not None:
            operation = (entry.facts or {}).get("operation")
            logger.error("An audit entry was not written", reason=refused.reason, operation=operation)
    for loop, futures in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, futures, refused)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _settle(futures: Sequence[asyncio.Future[NotWritten | None]], refused: NotWritten | None) -> None:
    for future in futures:
        if not future.done():
            future.set_result(refused)

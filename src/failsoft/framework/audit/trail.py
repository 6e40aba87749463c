"""`AuditLog`: writes entries of concurrent calls in batches, one fsync each (group commit).

An fsync takes milliseconds, so a writer thread does it, off the event loop; entries that arrive meanwhile form the next
batch. The thread starts with the first entry.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from failsoft.framework.audit.chain import Head, Seal
from failsoft.framework.audit.keeping import Keeping
from failsoft.framework.audit.log_file import LogFile
from failsoft.framework.audit.places import STATE, HeadFile, NotWritten, default_head, default_key_file, key_from
from failsoft.framework.audit.reading import newest, segments
from failsoft.framework.audit.verify import Verification, verify
from failsoft.framework.errors import AuditLockFailed, AuditLogFailed
from failsoft.framework.files import protected_files, require_posix
from failsoft.framework.safe.author_reports import logger

if TYPE_CHECKING:
    from failsoft.framework.settings import Settings

_BATCH_AT_MOST, _WAITING_AT_MOST = 1_000, 10_000
_AT_EXIT_S = 5.0
_LOCK_SHARE = 0.8
"""Share of the time limit for acquiring the lock; the rest is for the disk."""


@dataclass(slots=True, eq=False)
class _QueuedEntry:
    """A queued entry and the future that awaits it; without facts, a request to open the log."""

    facts: Mapping[str, Any] | None
    since: float
    loop: asyncio.AbstractEventLoop | None = None
    written: asyncio.Future[NotWritten | None] | None = None


@dataclass(slots=True, eq=False)
class _WriterThread:
    """The writer thread, its queue and file; a forked process needs its own."""

    file: LogFile
    inbox: queue.SimpleQueue[_QueuedEntry | None] = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None
    pid: int = field(default_factory=os.getpid)


class AuditLog:
    """An append-only log of failures, which several processes can share.

    Args:
        path: The log; its folder has to exist.
        key: The HMAC-SHA256 key, fixed for one log; by default that of `key_file`.
        key_file: The file of the key; by default one in the user's state folder, generated when first needed.
        max_bytes: A file of this size is rotated; the chain continues in a new file.
        head_path: The file of the chain's head; by default, or as `state:`, in the user's state folder.
        wait_s: How long a call waits for its entry, in seconds: for the lock and for the disk.
        keep_days: How long entries are kept at least, in days, with a rotation every day; None keeps them forever.
        keep_bytes: The most bytes of rotated files that are kept; None keeps them all.
        archive: Where files move to that are not kept; None deletes them.
    """

    def __init__(  # noqa: PLR0913 - keyword-only except the first
        self,
        path: Path | str,
        *,
        key: bytes | None = None,
        key_file: Path | str | None = None,
        max_bytes: int = 16 * 1024 * 1024,
        head_path: Path | str | None = None,
        wait_s: float = 5.0,
        keep_days: float | None = None,
        keep_bytes: int | None = None,
        archive: Path | str | None = None,
    ) -> None:
        require_posix("An audit log needs")
        self.path = Path(path).absolute()
        kept_key = None if key_file is None else Path(key_file).absolute()
        self._key: bytes | Callable[[], bytes] = key if key is not None else partial(key_from, kept_key)
        self._seal = Seal(self._key)
        is_default = head_path is None or str(head_path) == STATE
        self._head_path = default_head(self.path) if is_default else Path(str(head_path)).absolute()
        protected_files.add(self, self.path, self._head_path, kind="family")
        protected_files.add(self, default_key_file().parent, kind="tree")
        protected_files.add(self, kept_key or default_key_file())
        self._max_bytes = max_bytes
        self._keeping = Keeping(keep_days, keep_bytes, None if archive is None else Path(archive).absolute())
        protected_files.add(self, *filter(None, [self._keeping.archive]), kind="tree")
        self._wait_s = wait_s
        self._no_answer = NotWritten(f"the disk did not answer within {wait_s:g} seconds")
        self.fault = ""
        """Why the last entry that a call waited for was not written; empty if it was."""
        self._lock = threading.Lock()
        self._closed = False
        self._writer = _WriterThread(self._new_file())

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        """Return the log of the settings; None if they name none."""
        if settings.audit_path is None:
            return None
        key = settings.audit_key
        return cls(
            settings.audit_path,
            key=key.get_secret_value().encode() if key is not None else None,
            key_file=settings.audit_key_file,
            max_bytes=settings.audit_max_bytes,
            head_path=settings.audit_head_path,
            wait_s=settings.audit_wait_s,
            keep_days=settings.audit_keep_days,
            keep_bytes=settings.audit_keep_bytes,
            archive=settings.audit_archive,
        )

    async def record(self, facts: Mapping[str, Any]) -> None:
        """Write an entry, and return when it is on disk.

        Args:
            facts: A JSON tree without secrets; `seq`, `prev`, `alg` and `hash` are added.

        Raises:
            AUDIT_LOG_FAILED: It could not be written.
            AUDIT_LOCK_FAILED: Another process held the log for too long.
        """
        await self._wait_for(facts)

    async def open(self) -> None:
        """Check the log and repair a torn last line, so that the first failure does not wait for it.

        Raises:
            AUDIT_LOG_FAILED: It is damaged, or cannot be written.
            AUDIT_LOCK_FAILED: Another process held it for too long.
        """
        await self._wait_for(None)

    async def _wait_for(self, facts: Mapping[str, Any] | None) -> None:
        loop = asyncio.get_running_loop()
        written: asyncio.Future[NotWritten | None] = loop.create_future()
        self._submit(_QueuedEntry(facts, time.monotonic(), loop, written))
        timer = loop.call_later(self._wait_s, _resolve, (written,), self._no_answer)
        try:
            refused = await written
        finally:
            timer.cancel()
        self._note_fault("" if refused is None else refused.reason)
        if refused is not None:
            raise _typed(refused) from refused.__cause__

    def _note_fault(self, fault: str) -> None:
        """Keep why nothing could be written, or that it could; log only the change."""
        before, self.fault = self.fault, fault
        if fault and not before:
            logger.bind(event="audit_failed", reason=fault).error("The audit log cannot be written")
        elif before and not fault:
            logger.info("The audit log can be written again")

    def note(self, facts: Mapping[str, Any]) -> None:
        """Queue an entry without waiting for it: for events without a response, such as a cancelled call."""
        self._submit(_QueuedEntry(facts, time.monotonic()))

    def check(self) -> None:
        """Check the log and repair a torn last line: `open` for code without an event loop.

        Raises:
            AUDIT_LOG_FAILED: It is damaged, or cannot be written.
            AUDIT_LOCK_FAILED: Another process held it for too long.
        """
        with self._file_of_its_own() as (file, until):
            file.append((), until)

    def archive(self, *, lost: Head | None = None) -> list[Path]:
        """Close the files written so far with a signed checkpoint, and return them; they may be moved away.

        Reads and writes files: not for the event loop.

        Args:
            lost: The end of a missing beginning, or `BEGINNING` if the head is gone; the loss is recorded.

        Raises:
            AUDIT_LOG_FAILED: It is damaged, or cannot be written.
            AUDIT_LOCK_FAILED: Another process held it for too long.
        """
        with self._file_of_its_own() as (file, until):
            return file.archive(until, lost=lost)

    def newest(self, field: str, value: str, *, limit: int, bytes_at_most: int) -> tuple[list[dict[str, Any]], bool]:
        """Return the last entries with a value in a field, oldest first, and whether there may be more before them.

        Reads files: not for the event loop.

        Args:
            field: A key of entries.
            value: The value to match.
            limit: Maximum number of entries.
            bytes_at_most: Bytes to search, from the end of the log.

        Raises:
            OSError: A file cannot be read.
        """
        return newest(self.path, field, value, limit=limit, bytes_at_most=bytes_at_most)

    def verify(self) -> Verification:
        """Verify the whole log. Reads all of it: not for the event loop.

        Raises:
            OSError: A file is there and cannot be read.
        """
        return verify(self.path, key=self._key, head_path=self._head_path)

    def size_bytes(self) -> int:
        """Return the size of the log, including rotated files."""
        return sum(file.stat().st_size for file in (self.path, *segments(self.path)) if file.exists())

    def close(self, timeout_s: float = 10.0) -> bool:
        """Write queued entries and accept no more; return whether all were written within the limit, in seconds."""
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

    def _submit(self, entry: _QueuedEntry) -> None:
        with self._lock:
            if self._writer.pid != os.getpid():  # a fork has no threads, and shares the lock of its parent
                self._writer = _WriterThread(self._new_file())
            writer = self._writer
            if self._closed:
                raise AuditLogFailed(reason="it was closed")
            if writer.inbox.qsize() >= _WAITING_AT_MOST:
                raise AuditLogFailed(reason="too many entries wait to be written")
            if writer.thread is None:
                self._start(writer)
            writer.inbox.put(entry)

    def _start(self, writer: _WriterThread) -> None:
        thread = threading.Thread(target=_write_all, args=(writer, self._wait_s), name="failsoft-audit", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise AuditLogFailed(reason="the system gives no more threads") from error
        writer.thread = thread
        atexit.register(self._close_at_exit)

    def _close_at_exit(self) -> None:
        self.close(_AT_EXIT_S)

    @contextmanager
    def _file_of_its_own(self) -> Iterator[tuple[LogFile, float]]:
        """Yield the log for the caller's thread, and until when it may wait."""
        file = self._new_file()
        try:
            yield file, time.monotonic() + self._wait_s
        except NotWritten as refused:
            raise _typed(refused) from refused.__cause__
        finally:
            file.close()

    def _new_file(self) -> LogFile:
        head = HeadFile(self._head_path, self._seal)
        return LogFile(self.path, seal=self._seal, head=head, max_bytes=self._max_bytes, keeping=self._keeping)


def _typed(refused: NotWritten) -> AuditLogFailed | AuditLockFailed:
    kind = AuditLockFailed if refused.is_locked else AuditLogFailed
    return kind(reason=refused.reason)


def _write_all(writer: _WriterThread, wait_s: float) -> None:
    """Write batches until None is queued; entries that arrived during a write form the next batch."""
    is_over = False
    while not is_over:
        batch: list[_QueuedEntry] = []
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
            _write_batch(writer.file, batch, wait_s)
        del batch, entry  # an idle thread must not keep the last calls' facts
    writer.file.close()


def _write_batch(file: LogFile, batch: list[_QueuedEntry], wait_s: float) -> None:
    """Write a batch and resolve its futures; if an entry cannot be serialized, each is written by itself."""
    refused = _write(file, batch, wait_s)
    if refused is not None and isinstance(refused.__cause__, (TypeError, ValueError)) and len(batch) > 1:
        for entry in batch:
            _answer([entry], _write(file, [entry], wait_s))
    else:
        _answer(batch, refused)


def _write(file: LogFile, batch: list[_QueuedEntry], wait_s: float) -> NotWritten | None:
    try:
        facts = [entry.facts for entry in batch if entry.facts is not None]
        file.append(facts, batch[0].since + _LOCK_SHARE * wait_s)
    except NotWritten as refused:
        return refused
    except Exception as error:  # noqa: BLE001 - the thread must go on: later entries may be fine
        broken = NotWritten("the server itself failed while it wrote")
        broken.__cause__ = error
        return broken
    return None


def _answer(batch: list[_QueuedEntry], refused: NotWritten | None) -> None:
    """Resolve the futures, once per event loop; for entries without one a failure is only logged."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[NotWritten | None]]] = {}
    for entry in batch:
        if entry.loop is not None and entry.written is not None:
            by_loop.setdefault(entry.loop, []).append(entry.written)
        elif refused is not None:
            operation = (entry.facts or {}).get("operation")
            logger.error("An audit entry was not written", reason=refused.reason, operation=operation)
    for loop, futures in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, futures, refused)
        except RuntimeError:  # the loop is closed
            continue


def _resolve(futures: Sequence[asyncio.Future[NotWritten | None]], refused: NotWritten | None) -> None:
    for future in futures:
        if not future.done():
            future.set_result(refused)

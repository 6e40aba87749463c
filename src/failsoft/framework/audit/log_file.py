"""Append-only log file: lines are appended under a lock and synced before they are acknowledged.

Not thread-safe: one writer thread per process owns it, and the lock keeps the processes apart.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from failsoft.framework.audit.chain import BEGINNING, BadLine, Head, Seal, checkpoint, log_event
from failsoft.framework.audit.keeping import AT_ONCE, Keeping
from failsoft.framework.audit.places import HeadFile, NotWritten, is_at, lock, reason_of, refusing, sync_folder, unlock
from failsoft.framework.audit.reading import Scan, end_of, lines_of, segment_name, segments
from failsoft.framework.files import OPEN_FLAGS, give_to_folder_owner
from failsoft.framework.safe.author_reports import logger

_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_to_disk: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
_RESTLESS = "its file is replaced again and again"
_NO_FILE = "it is not a regular file"

_UNTIL_RECORDED = (
    "nothing is written to it until `failsoft audit archive PATH --accept-loss`, with the path of the log, has "
    "recorded the loss"
)
_NO_HEAD = f"its head is gone, so that entries cut from its end would not show; {_UNTIL_RECORDED}"


class LogFile:
    """Appends entries to one log.

    Args:
        path: The file; its folder has to exist.
        seal: Makes and checks lines.
        head: The stored head of the chain.
        max_bytes: A file that has reached this size is rotated before the next entry.
        keeping: Which rotated files are kept.
    """

    def __init__(
        self,
        path: Path,
        *,
        seal: Seal,
        head: HeadFile,
        max_bytes: int,
        keeping: Keeping = Keeping(),  # noqa: B008 - immutable
    ) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._seal = seal
        self._head_file = head
        self._max_bytes = max_bytes
        self._keeping = keeping
        self._began_at = float("inf")
        self._is_swept = not keeping.is_limited
        self._expired: list[Path] = []
        self._fd: int | None = None
        self._good_bytes = 0
        self._head = BEGINNING
        self._repairs: list[dict[str, Any]] = []
        self._accepts_loss = False
        self._dead = ""
        self._head_fails = False

    def append(self, batch: Sequence[Mapping[str, Any]], until: float) -> None:
        """Append the entries, and return once they are synced to disk.

        Args:
            batch: The facts of each entry. An empty batch checks the log and repairs a torn last line.
            until: When to stop waiting for the lock, on the monotonic clock, in seconds.

        Raises:
            NotWritten: No entry is acknowledged. After a disk error some may have been written.
        """
        with refusing():
            if self._dead:
                raise NotWritten(self._dead)
            fd = self._begin(until)
            try:
                self._expire()
                head = self._write(fd, batch)
                self._remove_expired(fd)
            finally:
                self._unlock()
            # Without the lock: other processes may append meanwhile, and one fsync covers their lines too.
            self._sync(fd)
            self._store_head(head, until)

    def archive(self, until: float, *, lost: Head | None = None) -> list[Path]:
        """Rotate the log, close all rotated files, and return them, oldest first.

        The log continues in a new file with a checkpoint as its first entry; the closed files may be moved away.

        Args:
            until: When to stop waiting for the lock, on the monotonic clock, in seconds.
            lost: The end of a missing beginning, or `BEGINNING` if the head is gone: the checkpoint records the loss.

        Raises:
            NotWritten: Nothing was closed.
        """
        accepts_loss = lost is not None
        with refusing():
            fd = self._begin(until, accepts_loss=accepts_loss)
            try:
                if self._good_bytes:
                    self._rotate(fd)
                    fd = self._begin(until, accepts_loss=accepts_loss)
                files, end = segments(self.path), self._end_of_last_segment()
                is_cut_off = accepts_loss and end is not None and end.seq < self._head.seq
                self._close(files, [*filter(None, [lost]), *([self._head] if is_cut_off else [])])
                head = self._write(fd, ())
            finally:
                self._unlock()
            self._sync(fd)
            self._store_head(head, until)
        return files

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    # Under the lock

    def _begin(self, until: float, *, accepts_loss: bool = False) -> int:
        """Lock the file at the path, catch up with its end, and return the descriptor."""
        self._accepts_loss = accepts_loss
        while True:
            fd = self._lock(until)
            try:
                self._catch_up(fd, until)
                is_over = self._good_bytes > 0 and self._keeping.is_over(self._began_at)
                if self._good_bytes < self._max_bytes and not is_over:
                    return fd
                self._rotate(fd)
            except BaseException:
                self._unlock()
                raise

    def _lock(self, until: float) -> int:
        while True:
            fd = self._fd if self._fd is not None else self._open()
            lock(fd, until)
            if is_at(self._name, fd):
                return fd
            self.close()  # it was rotated meanwhile
            if time.monotonic() > until:
                raise NotWritten(_RESTLESS)

    def _open(self) -> int:
        fd = self._fd = os.open(self.path, _OPEN, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            self.close()
            raise NotWritten(_NO_FILE)
        give_to_folder_owner(fd, self.path)
        sync_folder(self.path)
        self._good_bytes = 0
        self._is_swept = not self._keeping.is_limited
        return fd

    def _unlock(self) -> None:
        if self._fd is not None:
            unlock(self._fd)

    def _catch_up(self, fd: int, until: float) -> None:
        """Read the lines that other processes have appended, and repair a torn last line.

        Raises:
            NotWritten: The log is damaged, or its head is gone. It is left unchanged for inspection.
        """
        size = os.fstat(fd).st_size
        if self._good_bytes and size == self._good_bytes:
            return
        if size < self._good_bytes:
            raise NotWritten(_cut_off(self._head))
        scan = self._begun(size, until)
        is_new = not self._good_bytes
        torn = b""
        try:
            for line in lines_of(fd, scan.good_bytes, size):
                if line.endswith(b"\n"):
                    scan.take(line[:-1])
                else:
                    torn = line
            if torn:
                self._repair_end(fd, scan, torn)
        except BadLine as bad:
            raise NotWritten(_damaged(f"after entry {(scan.head or BEGINNING).seq} {bad}")) from None
        self._require_end(scan)
        self._head, self._good_bytes = scan.head or BEGINNING, scan.good_bytes
        if is_new:
            self._began_at = scan.began_at

    def _require_end(self, scan: Scan) -> None:
        """Compare the end of a log with the one known from elsewhere."""
        if scan.witness is None or (scan.head or BEGINNING).seq >= scan.witness.seq:
            return
        if not scan.lines:
            scan.head = scan.witness  # the file was moved away; the chain continues
        elif not self._accepts_loss:
            raise NotWritten(_cut_off(scan.witness))

    def _begun(self, size: int, until: float) -> Scan:
        """Return a scan from the last known position; from the beginning if the file is a new one."""
        if self._good_bytes:
            return Scan(self._seal, self._head, good_bytes=self._good_bytes)
        kept, end = self._read_head(), self._end_of_last_segment()
        if kept is None and (size or end is not None or self._head.seq):
            if not self._accepts_loss:
                raise NotWritten(_NO_HEAD)
        elif kept is None:
            self._begin_head(until)
        witness = self._head if kept is None or kept.seq < self._head.seq else kept
        return Scan(self._seal, end, witness if witness.seq else None)

    def _read_head(self) -> Head | None:
        try:
            return self._head_file.read()
        except BadLine as bad:
            raise NotWritten(_damaged(f"its head file is of no use: {bad}")) from None

    def _begin_head(self, until: float) -> None:
        """Write the first head of a log: from now on a missing one means that it was removed."""
        try:
            self._head_file.advance(BEGINNING, until)
        except OSError as error:
            reason = f"its head cannot be kept ({reason_of(error)})"
            raise NotWritten(reason) from error

    def _end_of_last_segment(self) -> Head | None:
        aside = segments(self.path)
        try:
            return end_of(aside[-1], self._seal) if aside else None
        except BadLine as bad:
            raise NotWritten(_damaged(f"at the end of '{aside[-1].name}' {bad}")) from None

    def _expire(self) -> None:
        """Close some of the rotated files that are not kept; a call never fails for them."""
        if self._is_swept or self._expired:
            return
        self._is_swept = True
        try:
            expired = self._keeping.expired(segments(self.path))
            if expired:
                self._close(expired)
        except (OSError, NotWritten) as error:
            logger.error("Files of the audit log stay, since they cannot be closed: {}", str(error))
            return
        self._expired, self._is_swept = expired, len(expired) < AT_ONCE

    def _remove_expired(self, fd: int) -> None:
        """Remove what was closed, once the checkpoint is on disk."""
        if self._expired:
            self._sync(fd)
            expired, self._expired = self._expired, []
            self._keeping.remove(expired)

    def _close(self, files: Sequence[Path], lost: Sequence[Head] = ()) -> None:
        """Queue a checkpoint of these files, to be written before any other entry."""
        try:
            ends = [(file, end_of(file, self._seal)) for file in files]
        except BadLine as bad:
            raise NotWritten(_damaged(f"a file that was put aside cannot be closed: {bad}")) from None
        self._repairs.append(checkpoint(ends, lost=lost))

    def _repair_end(self, fd: int, scan: Scan, torn: bytes) -> None:
        """Complete or drop a last line without a newline: its writer was killed before it was acknowledged."""
        try:
            scan.take(torn)
        except BadLine:
            os.ftruncate(fd, scan.good_bytes)
            logger.warning("The audit log ended in half an entry, which was dropped", dropped_bytes=len(torn))
            dropped_sha256 = hashlib.sha256(torn).hexdigest()
            self._repairs.append(log_event("repair", dropped_bytes=len(torn), dropped_sha256=dropped_sha256))
        else:
            os.write(fd, b"\n")

    def _rotate(self, fd: int) -> None:
        """Sync and rename the full file: after a power loss no entry may survive without those before it."""
        self._sync(fd)
        self.path.rename(segment_name(self.path, self._head.seq))
        self._is_swept = not self._keeping.is_limited
        self.close()
        sync_folder(self.path)

    def _write(self, fd: int, batch: Sequence[Mapping[str, Any]]) -> Head:
        """Append all of the entries or none, and return the new end."""
        head = self._head
        lines = []
        for facts in (*self._repairs, *batch):
            line, head = self._seal.line(facts, head)
            lines.append(line)
        data = b"".join(lines)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except BaseException:
            with suppress(OSError):  # the next writer drops the rest
                os.ftruncate(fd, self._good_bytes)
            raise
        if not self._good_bytes:
            self._began_at = self._keeping.clock()
        self._head, self._good_bytes = head, self._good_bytes + len(data)
        self._repairs.clear()
        return head

    # Without the lock

    def _sync(self, fd: int) -> None:
        try:
            _to_disk(fd)
        except OSError as error:
            # After a failed fsync the kernel may drop the pages and report success the next time: never retry.
            self._dead = f"{reason_of(error)}, so that what it holds is not certain: start the server again"
            logger.critical("The audit log is dead: the disk refused what was written", reason=reason_of(error))
            raise NotWritten(self._dead) from error

    def _store_head(self, head: Head, until: float) -> None:
        """Write the head; log a failure and continue. Without it only truncation goes undetected."""
        if not head.seq:
            return
        try:
            self._head_file.advance(head, until)
            self._head_fails = False
        except (OSError, NotWritten, BadLine) as error:
            if not self._head_fails:
                reason = reason_of(error) if isinstance(error, OSError) else str(error)
                logger.error("The head of the audit log cannot be kept: cuts would not show", reason=reason)
            self._head_fails = True


def _cut_off(head: Head) -> str:
    return f"it is damaged (entries up to {head.seq} are cut off, as in one that was restored); {_UNTIL_RECORDED}"


def _damaged(what: str) -> str:
    return f"it is damaged ({what}); nothing is written to it until a person has inspected it"

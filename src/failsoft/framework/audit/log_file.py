"""The log on disk: lines appended under a lock, on disk before anybody is told, never out of order.

Not for several threads: one writer thread a process owns it, and the lock keeps the processes apart.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from loguru import logger

from failsoft.framework.audit.head_file import HeadFile
from failsoft.framework.audit.locking import NotWritten, lock, unlock
from failsoft.framework.audit.reading import Scan, lines_of
from failsoft.framework.audit.sealing import BEGINNING, BadLine, Head, Seal, follow
from failsoft.framework.audit.segments import last_line, segment_name, segments
from failsoft.framework.clock import utc_timestamp

__all__ = ["LogFile", "reason_of"]

_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_to_disk: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
_RESTLESS = "its file is replaced again and again"
_NO_FILE = "there is something else than a file in its place"
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of disk space is used up",
    errno.EFBIG: "the file may not grow any more",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "access is denied",
    errno.EPERM: "access is denied",
    errno.ENOENT: "its folder does not exist",
    errno.ENOTDIR: "its folder does not exist",
    errno.EISDIR: "there is a folder in its place",
    errno.ELOOP: "there is a link in its place",
    errno.EIO: "the disk has failed",
}


def reason_of(error: OSError) -> str:
    """Return why a file could not be written, by errno and without a path."""
    return _REASONS.get(error.errno or 0) or f"the system says {errno.errorcode.get(error.errno or 0, 'error')}"


class LogFile:
    """Appends entries to one log.

    Args:
        path: The file; its folder has to exist.
        seal: Makes and checks lines.
        head: Where the end of the chain is kept besides.
        max_bytes: A file that has grown to this is put aside before the next entry.
        clock: Seconds that only grow.
    """

    def __init__(
        self, path: Path, *, seal: Seal, head: HeadFile, max_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._seal = seal
        self._head_file = head
        self._max_bytes = max_bytes
        self._clock = clock
        self._fd: int | None = None
        self._good_bytes = 0
        self._head = BEGINNING
        self._repairs: list[dict[str, Any]] = []
        self._dead = ""
        self._head_fails = False

    def append(self, batch: Sequence[Mapping[str, Any]], until: float) -> None:
        """Write the entries behind all others, and return once they are on disk.

        Args:
            batch: The facts of each entry. With none, the log is looked through, and a torn line at its end mended.
            until: When to give up waiting for another process, by the clock.

        Raises:
            NotWritten: None of them is acknowledged. Those that were on their way when the disk failed may be there.
        """
        with _told():
            if self._dead:
                raise NotWritten(self._dead)
            fd = self._begin(until)
            try:
                head = self._write(fd, batch)
            finally:
                self._let_go()
            # Without the lock: others may write meanwhile, and one trip to the disk takes theirs along.
            self._sync(fd)
            self._keep(head, until)

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    # Under the lock

    def _begin(self, until: float) -> int:
        """Lock the file that the path leads to, know its end, and return the file."""
        while True:
            fd = self._lock(until)
            try:
                self._catch_up(fd)
                if self._good_bytes < self._max_bytes:
                    return fd
                self._put_aside(fd)
            except BaseException:
                self._let_go()
                raise

    def _lock(self, until: float) -> int:
        while True:
            fd = self._fd if self._fd is not None else self._open()
            lock(fd, until, clock=self._clock)
            if _is_at(self._name, fd):
                return fd
            self.close()  # it was put aside while we waited
            if self._clock() > until:
                raise NotWritten(_RESTLESS)

    def _open(self) -> int:
        fd = self._fd = os.open(self.path, _OPEN, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            self.close()
            raise NotWritten(_NO_FILE)
        _sync_folder(self.path)
        self._good_bytes = 0
        return fd

    def _let_go(self) -> None:
        if self._fd is not None:
            unlock(self._fd)

    def _catch_up(self, fd: int) -> None:
        """Read what others have written since, and mend what one of them left half-written.

        Raises:
            NotWritten: The log is damaged. It stays as it is, for whoever looks into it.
        """
        size = os.fstat(fd).st_size
        if self._good_bytes and size == self._good_bytes:
            return
        if size < self._good_bytes:
            raise NotWritten(_damaged("it is shorter than it was"))
        scan = self._begun()
        torn = b""
        try:
            for line in lines_of(fd, scan.good_bytes, size):
                if line.endswith(b"\n"):
                    scan.take(line[:-1])
                else:
                    torn = line
            if torn:
                self._mend(fd, scan, torn)
        except BadLine as bad:
            raise NotWritten(_damaged(f"after entry {(scan.head or BEGINNING).seq} {bad}")) from None
        if scan.witness is not None and (scan.head or BEGINNING).seq < scan.witness.seq:
            if scan.lines:
                raise NotWritten(_damaged(f"entries after {scan.head} were cut off"))
            scan.head = scan.witness  # the file was moved away: the chain goes on all the same
        self._head, self._good_bytes = scan.head or BEGINNING, scan.good_bytes

    def _begun(self) -> Scan:
        """Return a scan from where we know the file; from its beginning, if it is another one than before."""
        if self._good_bytes:
            return Scan(self._seal, self._head, good_bytes=self._good_bytes)
        kept = self._read_head()
        witness = self._head if kept is None or kept.seq < self._head.seq else kept
        return Scan(self._seal, self._end_of_last_segment(), witness if witness.seq else None)

    def _read_head(self) -> Head | None:
        try:
            return self._head_file.read()
        except BadLine as bad:
            raise NotWritten(_damaged(f"its head file is of no use: {bad}")) from None

    def _end_of_last_segment(self) -> Head | None:
        aside = segments(self.path)
        if not aside:
            return None
        try:
            return follow(self._seal.open(last_line(aside[-1])), None)
        except BadLine as bad:
            raise NotWritten(_damaged(f"at the end of '{aside[-1].name}' {bad}")) from None

    def _mend(self, fd: int, scan: Scan, torn: bytes) -> None:
        """Complete or drop a last line without a newline: its writer was killed, and nobody was told of it."""
        try:
            scan.take(torn)
        except BadLine:
            os.ftruncate(fd, scan.good_bytes)
            logger.warning("The audit log ended in half an entry, which was dropped", dropped_bytes=len(torn))
            self._repairs.append(_repair(torn))
        else:
            os.write(fd, b"\n")

    def _put_aside(self, fd: int) -> None:
        """Rename the full file, on disk first: no later entry may survive a power loss that one before it does not."""
        self._sync(fd)
        self.path.rename(segment_name(self.path, self._head.seq))
        self.close()
        _sync_folder(self.path)

    def _write(self, fd: int, batch: Sequence[Mapping[str, Any]]) -> Head:
        """Append the entries, all of them or none, and return the new end."""
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
            with suppress(OSError):  # what is left of it is dropped by whoever writes next
                os.ftruncate(fd, self._good_bytes)
            raise
        self._head, self._good_bytes = head, self._good_bytes + len(data)
        self._repairs.clear()
        return head

    # Without the lock

    def _sync(self, fd: int) -> None:
        try:
            _to_disk(fd)
        except OSError as error:
            # The system may have forgotten the pages, and would report success the next time: never ask again.
            self._dead = f"{reason_of(error)}, so that what it holds is not certain: start the server again"
            logger.critical("The audit log is dead: the disk refused what was written", reason=reason_of(error))
            raise NotWritten(self._dead) from error

    def _keep(self, head: Head, until: float) -> None:
        """Write the head down. The entries are safe without it; only cuts would not show: say so, and go on."""
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


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the system says into `NotWritten`."""
    try:
        yield
    except OSError as error:
        raise NotWritten(reason_of(error)) from error


def _is_at(path: str, fd: int) -> bool:
    """Return whether the path still leads to the open file."""
    try:
        there = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - with every batch: a Path costs twice as much
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def _sync_folder(path: Path) -> None:
    """Put a new name on disk, where the system can do that for a folder."""
    with suppress(OSError):
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _damaged(what: str) -> str:
    return f"it is damaged ({what}), and stays as it is until somebody has looked at it"


def _repair(torn: bytes) -> dict[str, Any]:
    """Return the facts of the entry that says that half a line was dropped."""
    return {
        "event": "repair",
        "error_id": secrets.token_hex(8),
        "timestamp": utc_timestamp(),
        "tool": "failsoft",
        "operation": "audit",
        "code": None,
        "dropped_bytes": len(torn),
        "dropped_sha256": hashlib.sha256(torn).hexdigest(),
    }

"""The end of the chain, kept outside the log: a chain alone does not show that whole entries were cut from its end.

It is one record of fixed length, written in place after every batch has reached the disk. It is never ahead of the log
on disk, so a power loss leaves it behind at worst, and never raises a false alarm.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from failsoft.framework.audit.locking import lock
from failsoft.framework.audit.sealing import BadLine, Head, Seal

__all__ = ["HeadFile"]

_LENGTH = 256
_READ_WITHIN_S = 2.0
_NOT_OURS = "it is not what was written there, or was sealed with another key"


class HeadFile:
    """The end of one log.

    Args:
        path: Its file; put it where whoever could change the log cannot write.
        seal: The same as the log's, so that with a key nobody can make up an end.
    """

    def __init__(self, path: Path, seal: Seal) -> None:
        self.path = path
        self._seal = seal
        self._written: tuple[bytes, Head] | None = None

    def read(self) -> Head | None:
        """Return the end as last written; None if there is none.

        Raises:
            BadLine: It is not what was written there, or was sealed with another key.
            NotWritten: Another process held it all the time.
            OSError: The file is there and cannot be read.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            lock(fd, time.monotonic() + _READ_WITHIN_S, shared=True)
            return self._open(os.pread(fd, _LENGTH, 0))
        finally:
            os.close(fd)

    def advance(self, head: Head, until: float) -> None:
        """Write the end down, unless a later one is there already.

        Raises:
            BadLine: What is there was not written by us.
            NotWritten: Another process held it all the time.
            OSError: It cannot be written.
        """
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            lock(fd, until)
            found = os.pread(fd, _LENGTH, 0)
            last, known = self._written or (b"", None)
            if found != last:
                known = self._open(found)
            if known is None or known.seq < head.seq:
                line = self._line(head)
                os.pwrite(fd, line, 0)
                self._written = line, head
        finally:
            os.close(fd)  # and with it the lock

    def _line(self, head: Head) -> bytes:
        seal = self._seal.digest(b"head %d %s" % (head.seq, head.hash.encode()))
        text = b'{"hash":"%s","seal":"%s","seq":%d}' % (head.hash.encode(), seal.encode(), head.seq)
        return text.ljust(_LENGTH - 1) + b"\n"

    def _open(self, data: bytes) -> Head | None:
        if not data:
            return None
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            told = json.loads(data)
            head = Head(told["seq"], told["hash"])
            if self._line(head) == data:
                return head
        raise BadLine(_NOT_OURS)

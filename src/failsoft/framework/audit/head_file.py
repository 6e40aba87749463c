"""Head of a chain, kept outside its log to detect truncation, which a hash chain alone does not show.

It is one record of fixed length, written in place after each batch has been synced. It is never ahead of the log on
disk, so after a power loss it may lag behind, but never raises a false alarm.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from failsoft.framework.audit.locations import WRITABLE_BY_OTHERS, make_private
from failsoft.framework.audit.locking import lock
from failsoft.framework.audit.sealing import BadLine, Head, Seal
from failsoft.framework.services.regular_files import opened_regular, others_may_write

_LENGTH = 256
_READ_WITHIN_S = 2.0
_NOT_OURS = "it is not what was written there, or was sealed with another key"


class HeadFile:
    """The stored head of one log.

    Args:
        path: The file, in a folder that users with write access to the log cannot write.
        seal: The log's seal; without the key a head cannot be forged.
    """

    def __init__(self, path: Path, seal: Seal) -> None:
        self.path = path
        self._seal = seal
        self._written: tuple[bytes, Head] | None = None

    def read(self) -> Head | None:
        """Return the head as last written; None if there is none.

        Raises:
            BadLine: It was changed, or sealed with another key, or others than its owner may write it.
            NotWritten: Another process held the lock until the time limit.
            OSError: The file exists and cannot be read.
        """
        try:
            fd = opened_regular(self.path)
        except FileNotFoundError:
            return None
        try:
            _require_private(fd)
            lock(fd, time.monotonic() + _READ_WITHIN_S, shared=True)
            return self._open(os.pread(fd, _LENGTH, 0))
        finally:
            os.close(fd)

    def advance(self, head: Head, until: float) -> None:
        """Write the head, unless the file has a later one.

        Raises:
            BadLine: The present content is not a valid head, or others than its owner may write the file.
            NotWritten: Another process held the lock until the time limit.
            OSError: It cannot be written.
        """
        if self._written is None:
            make_private(self.path.parent)
        fd = opened_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            _require_private(fd)
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
            os.close(fd)  # releases the lock

    def _line(self, head: Head) -> bytes:
        seal = self._seal.digest(b"head %d %s" % (head.seq, head.hash.encode()))
        text = b'{"hash":"%s","seal":"%s","seq":%d}' % (head.hash.encode(), seal.encode(), head.seq)
        return text.ljust(_LENGTH - 1) + b"\n"

    def _open(self, data: bytes) -> Head | None:
        if not data:
            return None
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            found = json.loads(data)
            head = Head(found["seq"], found["hash"])
            if self._line(head) == data:
                return head
        raise BadLine(_NOT_OURS)


def _require_private(descriptor: int) -> None:
    if others_may_write(descriptor):
        raise BadLine(WRITABLE_BY_OTHERS)

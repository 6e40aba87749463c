"""Where the lines of the log leave the process: a pipe that nobody reads costs lines, and never a caller's time."""

from __future__ import annotations

import os
import selectors
import socket
import stat
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

__all__ = ["AtOnce", "LogOutlet", "at_once", "may_wait"]

_KEPT_BYTES = 1_000_000
"""What is kept of lines that the system did not take at once."""


@dataclass(frozen=True, slots=True)
class AtOnce:
    """A way to write without waiting: `send` returns how many bytes were taken, or raises BlockingIOError."""

    send: Callable[[bytes], int]
    close: Callable[[], None]


class LogOutlet:
    """Writes lines to a descriptor on behalf of callers who must not wait, such as an event loop.

    A line that the system takes at once is written by its caller, so it is not lost if the process is killed. Any other
    is kept, within a limit, for a thread that waits in its place. Beyond the limit lines are dropped, and a line that
    counts them takes their place.

    Args:
        descriptor: Where to; it stays the caller's to close.
        way: How to write to it without waiting; None leaves all of the writing to the thread.
        account: Returns the line that tells how many were lost.
        kept_bytes: The limit.
    """

    def __init__(
        self,
        descriptor: int,
        way: AtOnce | None,
        *,
        account: Callable[[int], bytes],
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        self._descriptor = os.dup(descriptor)  # whoever closes theirs must not lead us to the next file of that number
        self._way = way
        self._account = account
        self._kept_bytes = kept_bytes
        self._changed = threading.Condition()
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._lost = 0
        self._writer: threading.Thread | None = None
        self._is_broken = False
        self._is_closed = False

    def write(self, line: bytes) -> None:
        """Write the line, keep it, or count it as lost; return at once in any case."""
        with self._changed:
            if self._is_broken:
                return
            rest = line if self._pieces else line[self._sent(line) :]
            if not rest or self._is_broken:
                return
            if len(rest) == len(line) and self._held + len(line) > self._kept_bytes:
                self._lost += 1
                return
            if self._lost:
                self._keep(self._told())
            self._keep(rest)

    def close(self, limit_s: float) -> None:
        """Wait at most so many seconds until nothing is kept any more; then take no more lines."""
        with self._changed:
            if self._is_closed:
                return
            self._changed.wait_for(lambda: self._writer is None, limit_s)
            self._is_broken = self._is_closed = True
            is_idle = self._writer is None
        if self._way is not None:
            self._way.close()
        if is_idle:  # otherwise the thread still waits on it
            os.close(self._descriptor)

    def _sent(self, line: bytes) -> int:
        try:
            return 0 if self._way is None else self._way.send(line)
        except BlockingIOError:
            return 0
        except OSError:  # whoever read has left: nobody will ever see another line
            self._is_broken = True
            return 0

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._writer is None or not self._writer.is_alive():  # a forked child has the object, and no thread
            self._writer = threading.Thread(target=self._write_kept, name="failsoft-log", daemon=True)
            self._writer.start()

    def _told(self) -> bytes:
        lost, self._lost = self._lost, 0
        return self._account(lost)

    def _write_kept(self) -> None:
        while (piece := self._next()) is not None:
            try:
                self._write_out(memoryview(piece))
            except OSError:
                self._is_broken = True
            with self._changed:
                if self._is_broken:
                    self._pieces.clear()
                    self._held = 0
                else:
                    self._held -= len(self._pieces.popleft())

    def _next(self) -> bytes | None:
        with self._changed:
            if not self._pieces and self._lost and not self._is_broken:
                self._keep(self._told())
            if self._pieces:
                return self._pieces[0]
            self._writer = None
            self._changed.notify_all()
            return None

    def _write_out(self, piece: memoryview) -> None:
        while piece:
            try:
                piece = piece[os.write(self._descriptor, piece) :]
            except BlockingIOError:  # whoever started us has made the descriptor one that does not wait
                with selectors.DefaultSelector() as selector:
                    selector.register(self._descriptor, selectors.EVENT_WRITE)
                    selector.select()


def may_wait(stream: Any) -> int | None:
    """Return the descriptor of a stream whose writers may have to wait for a reader; None for files and memory."""
    try:
        descriptor: int = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


def at_once(descriptor: int) -> AtOnce | None:
    """Return the way to write to a descriptor without ever waiting, or None where the system has none.

    The flag that makes writing not wait belongs to the open pipe or terminal, which we share with whoever started us.
    So it is opened anew; a socket (systemd's journal) can be told at each write.
    """
    if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        shared = socket.socket(fileno=os.dup(descriptor))
        return AtOnce(lambda line: shared.send(line, socket.MSG_DONTWAIT), shared.close)
    with suppress(OSError):
        own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        return AtOnce(lambda line: os.write(own, line), lambda: os.close(own))
    return None

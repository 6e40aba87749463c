"""Non-blocking log writer: a full pipe loses lines instead of blocking callers."""

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

__all__ = ["LogWriter", "NonBlockingWrites", "at_once", "may_wait"]

_KEPT_BYTES = 1_000_000
"""Buffer size for lines that the system did not accept at once, in bytes."""


@dataclass(frozen=True, slots=True)
class NonBlockingWrites:
    """Non-blocking writes to a descriptor: `send` returns the number of bytes written, or raises BlockingIOError."""

    send: Callable[[bytes], int]
    close: Callable[[], None]


class LogWriter:
    """Writes lines to a descriptor without blocking the caller, such as an event loop.

    A line that the system accepts at once is written by its caller, so it is not lost if the process is killed. Other
    lines are buffered, up to a limit, and written by a thread. Beyond the limit lines are dropped, and replaced by one
    line with their number.

    Args:
        descriptor: The descriptor; the caller has to close it.
        way: Non-blocking writes to it; with None the thread does all of the writing.
        account: Returns the line that reports how many lines were lost.
        kept_bytes: The limit, in bytes.
    """

    def __init__(
        self,
        descriptor: int,
        way: NonBlockingWrites | None,
        *,
        account: Callable[[int], bytes],
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        self._descriptor = os.dup(descriptor)  # the caller may close its own, and the number be reused
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
        """Write the line, buffer it, or count it as lost; never blocks."""
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
                self._keep(self._loss_line())
            self._keep(rest)

    def close(self, limit_s: float) -> None:
        """Wait until the buffer is empty, at most `limit_s` seconds; then accept no more lines."""
        with self._changed:
            if self._is_closed:
                return
            self._changed.wait_for(lambda: self._writer is None, limit_s)
            self._is_broken = self._is_closed = True
            is_idle = self._writer is None
        if self._way is not None:
            self._way.close()
        if is_idle:  # otherwise the thread still uses it
            os.close(self._descriptor)

    def _sent(self, line: bytes) -> int:
        try:
            return 0 if self._way is None else self._way.send(line)
        except BlockingIOError:
            return 0
        except OSError:  # the reader has closed the pipe
            self._is_broken = True
            return 0

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._writer is None or not self._writer.is_alive():  # a forked child has no thread
            self._writer = threading.Thread(target=self._write_kept, name="failsoft-log", daemon=True)
            self._writer.start()

    def _loss_line(self) -> bytes:
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
                self._keep(self._loss_line())
            if self._pieces:
                return self._pieces[0]
            self._writer = None
            self._changed.notify_all()
            return None

    def _write_out(self, piece: memoryview) -> None:
        while piece:
            try:
                piece = piece[os.write(self._descriptor, piece) :]
            except BlockingIOError:  # the parent has set O_NONBLOCK on the descriptor
                with selectors.DefaultSelector() as selector:
                    selector.register(self._descriptor, selectors.EVENT_WRITE)
                    selector.select()


def may_wait(stream: Any) -> int | None:
    """Return the descriptor of a stream whose writes may block (pipe, socket, terminal); None for others."""
    try:
        descriptor: int = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode) else None


def at_once(descriptor: int) -> NonBlockingWrites | None:
    """Return non-blocking writes to a descriptor, or None where the system has none.

    O_NONBLOCK belongs to the open file description, which other processes share. So a pipe or terminal is opened anew;
    a socket (systemd's journal) takes a flag with each write.
    """
    if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        shared = socket.socket(fileno=os.dup(descriptor))
        return NonBlockingWrites(lambda line: shared.send(line, socket.MSG_DONTWAIT), shared.close)
    with suppress(OSError):
        own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        return NonBlockingWrites(lambda line: os.write(own, line), lambda: os.close(own))
    return None

"""Writes lines to a pipe, socket or terminal from a thread, so that no event loop waits for a slow reader."""

from __future__ import annotations

import os
import queue
import selectors
import stat
import threading
from collections.abc import Callable
from typing import Any

_KEPT_BYTES = 1_000_000
"""Bytes of lines that wait to be written; more lines are lost."""


class LogWriter:
    """Writes lines to a descriptor from a thread, so that no caller, such as an event loop, waits for the reader.

    Lines beyond the limit are dropped, and replaced by one line with their number.

    Args:
        descriptor: The descriptor; the caller has to close it.
        account: Returns the line that reports how many lines were lost.
        kept_bytes: The limit, in bytes.
    """

    def __init__(self, descriptor: int, *, account: Callable[[int], bytes], kept_bytes: int = _KEPT_BYTES) -> None:
        self._descriptor = os.dup(descriptor)  # the caller may close its own, and the number be reused
        self._account = account
        self._kept_bytes = kept_bytes
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._held = self._lost = 0
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Queue the line, or count it as lost; never blocks."""
        if self._pid != os.getpid():  # a fork has no threads, and the lines are its parent's
            self._begin()
        with self._lock:
            if self._is_closed:
                return
            if self._held + len(line) > self._kept_bytes:
                self._lost += 1
                return
            self._report_loss()
            self._put(line)

    def close(self, limit_s: float) -> None:
        """Write what is queued, for at most `limit_s` seconds, and accept no more lines."""
        if self._is_closed or self._pid != os.getpid():
            return
        with self._lock:
            self._report_loss()
            self._is_closed = True
            self._lines.put(None)
        if self._thread is None:
            os.close(self._descriptor)
        else:
            self._thread.join(limit_s)

    def _report_loss(self) -> None:
        lost, self._lost = self._lost, 0
        if lost:
            self._put(self._account(lost))

    def _put(self, line: bytes) -> None:
        self._held += len(line)
        self._lines.put(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="failsoft-log", daemon=True)
            self._thread.start()

    def _write_all(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                self._write_out(memoryview(line))
                with self._lock:
                    self._held -= len(line)
                    if self._lines.empty():
                        self._report_loss()
        except OSError:  # the reader has closed the pipe
            self._is_closed = True
        finally:
            os.close(self._descriptor)

    def _write_out(self, rest: memoryview) -> None:
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
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

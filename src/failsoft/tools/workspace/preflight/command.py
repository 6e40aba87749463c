"""Run a preflight command as a process with bounded output, and end it with all its children.

It runs in a session of its own, so its children are in its process group unless they leave it on purpose. The group is
ended before its leader is reaped, so its id cannot have been reused.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Literal, TypeAlias

from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

End: TypeAlias = Literal["exit", "signal", "timeout", "cancelled", "not_started", "lost"]
_CHUNK_BYTES = 65_536
_HEAD_BYTES = 4_000
_TAIL_BYTES = 16_000
_LOOK_S = 0.1
"""How often the leader is polled on systems without pidfd."""
_CHUNKS_AT_MOST = 64
"""Chunks read after the end of the group: a process that left the group may go on writing."""
_SHOWN_AT_MOST = 200


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command.

    Args:
        end: How it ended; `lost` where the system did not say, because the server ignores the ends of its children.
        code: Its exit status, or the number of the signal that ended it; of one that did not start, the errno.
        duration_s: In seconds.
        output: Both of its output streams; the middle of a long one is omitted.
        output_bytes: How much it wrote.
    """

    end: End
    code: int
    duration_s: float
    output: str
    output_bytes: int


class Command:
    """A command that can be ended from another thread at any time.

    Args:
        arguments: The program, searched in the `PATH` of the environment, and its arguments. No shell is used.
        folder: Where it runs.
        environment: All variables that it sees.
    """

    def __init__(self, arguments: Sequence[str], *, folder: str, environment: Mapping[str, str]) -> None:
        self._arguments = list(arguments)
        self._folder = folder
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_reaped = False
        self._is_ended = False

    def run(self, limit_s: float) -> Ran:
        """Run it to its end, at most for so many seconds. It blocks: call it in a worker thread.

        Processes that the command has left in its group are ended, too.
        """
        began = time.monotonic()
        try:
            process = self._start()
        except (OSError, ValueError) as error:
            return Ran("not_started", getattr(error, "errno", None) or 0, 0.0, "", 0)
        if process is None:
            return Ran("cancelled", 0, 0.0, "", 0)
        kept = _Kept()
        stream = process.stdout
        assert stream is not None  # noqa: S101 - stdout is a pipe
        try:
            in_time = _follow(process.pid, stream, kept, began + limit_s)
        finally:
            code = self._end_all(process, stream, kept)
        return Ran(self._end_of(code, in_time=in_time), abs(code or 0), time.monotonic() - began, *kept.ends())

    def end(self) -> None:
        """End the command and its children now, or prevent its start."""
        with self._lock:
            self._is_ended = True
            self._kill()

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_ended:
                return None
            self._process = subprocess.Popen(  # noqa: S603 - the command is from the settings, without a shell
                self._arguments,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            return self._process

    def _end_all(self, process: subprocess.Popen[bytes], stream: IO[bytes], kept: _Kept) -> int | None:
        """End what is left of the group, read the rest, and return the status; None where the system has none."""
        with self._lock:
            self._kill()
        for _ in range(_CHUNKS_AT_MOST):
            if _read(stream, kept) != "some":
                break
        stream.close()
        # Outside the lock, so that `end` never waits; the id is not reused before the process is reaped.
        is_there = _has_ended(process.pid, wait=True) != "lost"
        with self._lock:
            self._is_reaped = True
            code = process.wait()
        return code if is_there else None

    def _end_of(self, code: int | None, *, in_time: bool) -> End:
        if self._is_ended:
            return "cancelled"
        if code is None:
            return "lost"
        return "timeout" if not in_time else "signal" if code < 0 else "exit"

    def _kill(self) -> None:
        if self._process is not None and not self._is_reaped:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


class _Kept:
    """The beginning and the end of an output; the middle is counted and dropped."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = _HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        del self._tail[:-_TAIL_BYTES]

    def ends(self) -> tuple[str, int]:
        """Return the text, and how many bytes there were."""
        left_out = self.size - len(self._head) - len(self._tail)
        between = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
        return bytes(self._head + between + self._tail).decode(errors="replace"), self.size


def shown(arguments: Sequence[str]) -> str:
    """Return a command as a person would type it, without secrets."""
    return bounded(redact_text(shlex.join(arguments)), _SHOWN_AT_MOST)


def _follow(pid: int, stream: IO[bytes], kept: _Kept, until: float) -> bool:
    """Read until the leader has ended and its output is read; return False if the time limit was reached before.

    Children that keep the stream open longer are not awaited.
    """
    watch = _watch(pid)
    os.set_blocking(stream.fileno(), False)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            if watch is not None:
                selector.register(watch, selectors.EVENT_READ)
            while not _has_ended(pid):
                left = until - time.monotonic()
                if left <= 0:
                    return False
                selector.select(left if watch is not None else min(left, _LOOK_S))
                if _read(stream, kept) == "end" and stream in selector.get_map():
                    selector.unregister(stream)
    finally:
        if watch is not None:
            os.close(watch)
    return True


def _watch(pid: int) -> int | None:
    """Return a descriptor that can be read once the process has ended; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _has_ended(pid: int, *, wait: bool = False) -> Literal["yes", "lost", ""]:
    """Return whether the process has ended, empty if not; it is not reaped by that."""
    options = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
    try:
        return "yes" if os.waitid(os.P_PID, pid, options) is not None else ""
    except ChildProcessError:
        return "lost"


def _read(stream: IO[bytes], kept: _Kept) -> Literal["some", "none", "end"]:
    try:
        data = os.read(stream.fileno(), _CHUNK_BYTES)
    except BlockingIOError:
        return "none"
    kept.add(data)
    return "some" if data else "end"

"""Run a command of the settings as a process: its output bounded, and its children ended with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

Ending: TypeAlias = Literal["exit", "signal", "timeout", "cancelled", "not_started", "lost"]
_CHUNK_BYTES = 65_536
_HEAD_BYTES = 4_000
_TAIL_BYTES = 16_000
_DRAIN_S = 1.0
"""How long the end of a killed process and of its output is awaited: a process that left the group may hold it open."""
_LOOK_S = 0.1
"""How often the leader is looked at on systems without pidfd."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    Args:
        ending: How it ended; `lost` where the system did not say, because the server ignores the ends of its children.
        code: Its exit status, or the number of the signal that ended it; of one that did not start, the errno.
        duration_s: In seconds.
        output: Both of its output streams; the middle of a long one is omitted.
        output_bytes: How much it wrote.
    """

    ending: Ending
    code: int
    duration_s: float
    output: str = ""
    output_bytes: int = 0


class Command:
    """A command in a process group of its own, which ends with it.

    The group is killed before its leader is reaped: afterwards, its id may be that of another group. Processes of
    asyncio are reaped before anyone is told.

    Args:
        arguments: The program, searched in the `PATH` of the environment, and its arguments. No shell is used.
        folder: Where it runs.
        environment: All variables that it sees.
    """

    def __init__(self, arguments: Sequence[str], *, folder: str, environment: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._folder = folder
        self._environment = environment
        self._output = _Output()
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self._is_killed = False

    async def run(self, limit_s: float) -> CommandResult:
        """Run it to its end, at most for so many seconds; what it left in its group is killed."""
        if self._is_killed:
            return CommandResult("cancelled", 0, 0.0)
        began = time.monotonic()
        try:
            process = subprocess.Popen(  # noqa: S603, ASYNC220 - of the settings, without a shell; asyncio starts it so, too
                self._arguments,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return CommandResult("not_started", getattr(error, "errno", None) or 0, 0.0)
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        self._process = process
        _watch_end(process.pid, partial(self._end, process))
        with process.stdout as stream:
            try:
                self._follow(stream.fileno())
                in_time = await _is_set(self._exited, limit_s)
                self._kill_group()
                await _is_set(self._exited, _DRAIN_S)
                await _is_set(self._drained, _DRAIN_S)
            finally:
                self._kill_group()
                asyncio.get_running_loop().remove_reader(stream.fileno())
        duration_s = time.monotonic() - began
        return CommandResult(self._ending(in_time=in_time), abs(self._code or 0), duration_s, *self._output.ends())

    def _ending(self, *, in_time: bool) -> Ending:
        if self._is_killed:
            return "cancelled"
        if not in_time:
            return "timeout"
        return "lost" if self._code is None else "signal" if self._code < 0 else "exit"

    def kill(self) -> None:
        """End the command and its children now, or prevent its start."""
        self._is_killed = True
        self._kill_group()

    def _follow(self, stream: int) -> None:
        os.set_blocking(stream, False)
        asyncio.get_running_loop().add_reader(stream, self._read, stream)

    def _read(self, stream: int) -> None:
        """Keep what there is of the output."""
        with suppress(BlockingIOError):
            data = os.read(stream, _CHUNK_BYTES)
            self._output.add(data)
            if not data:
                asyncio.get_running_loop().remove_reader(stream)
                self._drained.set()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End what the leader has left, and reap it."""
        is_lost = _has_ended(process.pid) == "lost"
        self._kill_group()
        self._process = None
        code = process.wait()  # 0 where it is lost
        self._code = None if is_lost else code
        self._exited.set()

    def _kill_group(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _watch_end(pid: int, then: Callable[[], None]) -> None:
    """Call a function of the event loop once a process has ended; it is not reaped by that."""
    loop = asyncio.get_running_loop()
    try:
        watch = os.pidfd_open(pid)
    except (AttributeError, OSError):  # a system without them

        def look() -> None:
            if _has_ended(pid):
                then()
            else:
                loop.call_later(_LOOK_S, look)

        look()
        return

    def end() -> None:
        loop.remove_reader(watch)
        os.close(watch)
        then()

    loop.add_reader(watch, end)


def _has_ended(pid: int) -> Literal["yes", "lost", ""]:
    """Return whether a process has ended, empty if not; `lost` where the system has reaped it, unasked."""
    try:
        return "yes" if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None else ""
    except ChildProcessError:
        return "lost"


class _Output:
    """The beginning and the end of an output; the middle is counted and dropped."""

    def __init__(self) -> None:
        self._size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self._size += len(data)
        room = _HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[:-_TAIL_BYTES]

    def ends(self) -> tuple[str, int]:
        """Return the text, and how many bytes there were."""
        left_out = self._size - len(self._head) - len(self._tail)
        between = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
        return bytes(self._head + between + self._tail).decode(errors="replace"), self._size


async def _is_set(event: asyncio.Event, limit_s: float) -> bool:
    """Wait for an event at most so many seconds; return whether it came."""
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await event.wait()
    return event.is_set()

"""Run a command of the settings as a process: its output and its processes bounded, and none of them left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from failsoft.tools.workspace import supervisor

Ending: TypeAlias = Literal["exit", "signal", "timeout", "cancelled", "not_started", "lost", "processes", "memory"]
_REPORTED = frozenset({"exit", "signal", "not_started", "processes", "memory"})
_CHUNK_BYTES = 65_536
_HEAD_BYTES = 4_000
_TAIL_BYTES = 16_000
_DRAIN_S = 1.0
"""How long the end of an output is awaited: a process of another user may hold it open."""
_ENDED_WITHIN_S = 5.0
"""How long the supervisor may take to end a command with all its processes."""


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """What all processes of a command may take together.

    Args:
        processes: How many there may be.
        memory_bytes: Their resident memory; what they share counts for each. None for no limit.
    """

    processes: int
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    Args:
        ending: How it ended; `lost` if its supervisor was ended, `processes` or `memory` if it exceeded that limit.
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


class RunningCommand:
    """A command below a supervisor, a small process that ends it with all its descendants.

    Args:
        arguments: The program, searched in the `PATH` of the environment, and its arguments. No shell is used.
        folder: Where it runs.
        environment: All variables that it sees.
        limits: What its processes may take.
    """

    def __init__(
        self, arguments: Sequence[str], *, folder: str, environment: Mapping[str, str], limits: CommandLimits
    ) -> None:
        self._arguments = arguments
        self._folder = folder
        self._environment = environment
        self._limits = {"processes": limits.processes, "memory": limits.memory_bytes}
        self._output = _Output()
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._report = b""
        self._is_reported = False
        self._is_killed = False

    async def run(self, limit_s: float) -> CommandResult:
        """Run it to its end, at most for so many seconds; what it left running is killed."""
        if self._is_killed:
            return CommandResult("cancelled", 0, 0.0)
        began = time.monotonic()
        try:
            process, report = self._start()
        except (OSError, ValueError) as error:
            return CommandResult("not_started", getattr(error, "errno", None) or 0, 0.0)
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        self._process = process
        asyncio.get_running_loop().add_reader(report, self._end, process, report)
        with process.stdout as stream:
            try:
                os.set_blocking(stream.fileno(), False)
                asyncio.get_running_loop().add_reader(stream.fileno(), self._read, stream.fileno())
                in_time = await _is_set(self._exited, limit_s)
            finally:  # also where the call is cancelled
                self._end_all()
                if not await _is_set(self._exited, _ENDED_WITHIN_S):
                    process.kill()
                    await _is_set(self._exited, _DRAIN_S)
                await _is_set(self._drained, _DRAIN_S)
                asyncio.get_running_loop().remove_reader(stream.fileno())
        duration_s = time.monotonic() - began
        return CommandResult(*self._ending(in_time=in_time), duration_s, *self._output.ends())

    def _start(self) -> tuple[subprocess.Popen[bytes], int]:
        """Start the supervisor, and return it with the descriptor on which it reports how the command ended."""
        report, reported = os.pipe()
        given = {"report": reported, "limits": self._limits}
        try:
            process = subprocess.Popen(  # noqa: S603 - of the settings, without a shell; asyncio starts it so, too
                [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(given), *self._arguments],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.PIPE,  # it ends with this process
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[reported],
            )
        except BaseException:
            os.close(report)
            raise
        finally:
            os.close(reported)
        return process, report

    def _ending(self, *, in_time: bool) -> tuple[Ending, int]:
        if self._is_killed:
            return "cancelled", 0
        if not in_time:
            return "timeout", 0
        with suppress(ValueError, TypeError):  # the command may have written to the descriptor of its supervisor
            ending, code = json.loads(self._report)
            if self._is_reported and ending in _REPORTED:
                return ending, code
        return "lost", 0

    def kill(self) -> None:
        """End the command and its children now, or prevent its start."""
        self._is_killed = True
        self._end_all()

    def _read(self, stream: int) -> None:
        """Keep what there is of the output."""
        with suppress(BlockingIOError):
            data = os.read(stream, _CHUNK_BYTES)
            self._output.add(data)
            if not data:
                asyncio.get_running_loop().remove_reader(stream)
                self._drained.set()

    def _end(self, process: subprocess.Popen[bytes], report: int) -> None:
        """Keep what the supervisor reports; reap it after that."""
        data = os.read(report, _CHUNK_BYTES)
        self._report += data
        if not data:
            asyncio.get_running_loop().remove_reader(report)
            os.close(report)
            self._is_reported = process.wait() == 0
            if process.stdin is not None:
                process.stdin.close()
            self._process = None
            self._exited.set()

    def _end_all(self) -> None:
        """Have the supervisor end everything."""
        if self._process is not None:
            self._process.terminate()


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

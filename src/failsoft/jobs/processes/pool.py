"""Processes that are kept for the next task: taken, given back, replaced; and the conversation with one of them.

Existing pools share one pipe and its locks, so killing one worker may block the others (ADR 0020). Here each worker has
a socket of its own, and its exit is detected at once.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from failsoft.framework.errors import Unavailable
from failsoft.framework.threads import ThreadPool
from failsoft.jobs.processes.fork_server import ForkServer, Worker
from failsoft.jobs.processes.worker import LENGTH, pack, unpack

OnReport = Callable[..., Awaitable[object]]
"""Gets what a task reports: the arguments of `progress`."""


class Processes:
    """The workers of a fork server, each with one task at a time.

    Args:
        fork_server: Where they come from.
        at_most: How many are kept.
        tasks: Tasks after which one is replaced; 0 for any number.
        memory_bytes: Memory above which one is replaced; 0 for any amount.
        name: Of the threads.
    """

    def __init__(
        self, fork_server: ForkServer, at_most: int, *, tasks: int = 0, memory_bytes: int = 0, name: str = "worker"
    ) -> None:
        self._fork_server = fork_server
        self._at_most, self._tasks, self._memory_bytes, self._name = at_most, tasks, memory_bytes, name
        self._idle: list[Worker] = []
        self._forking = threading.Lock()
        self._is_closed = False
        self._closing = weakref.finalize(self, _close, fork_server, self._idle)

    def warm_up(self, taken: Callable[[], int]) -> None:
        """Start all workers in the background.

        Args:
            taken: Returns how many are at work.
        """
        threading.Thread(target=self._fill, args=(taken,), name=f"failsoft-{self._name}-fork", daemon=True).start()

    def close(self) -> None:
        """End all idle workers and the fork server; another task would start them anew. See `ForkServer.close`."""
        self._is_closed = True
        _close(self._fork_server, self._idle)
        with self._forking:  # a fork that was about to begin
            _close(self._fork_server, self._idle)

    async def take(self, threads: ThreadPool, *, is_fresh: bool = False) -> Worker:
        """Return a worker for one task: an idle one, or a new one.

        Args:
            threads: Where a new one is forked.
            is_fresh: Take a worker without earlier tasks, since the cause of a crash may affect the others, too.

        Raises:
            UNAVAILABLE: No process can be started.
        """
        while True:
            try:
                worker = self._idle.pop()
            except IndexError:
                self._is_closed = False
                try:
                    await threads.run(lambda: self._fork(1))
                except (OSError, EOFError) as error:
                    message = "No process for the computation can be started."
                    raise Unavailable(message=message, effect="none", operator_hint=str(error)) from error
                continue
            if worker.is_alive() and not (is_fresh and worker.tasks):
                return worker
            self.end(worker)

    def give_back(self, worker: Worker) -> None:
        """Keep a worker for the next task, unless it is to be replaced."""
        worker.tasks += 1
        if (
            (self._tasks and worker.tasks >= self._tasks)
            or (self._memory_bytes and worker.peak_bytes > self._memory_bytes)
            or worker.generation != self._fork_server.generation
            or len(self._idle) >= self._at_most
            or self._is_closed
        ):
            self.end(worker)
        else:
            self._idle.append(worker)

    def end(self, worker: Worker) -> None:
        """Kill a worker without waiting for it."""
        self._fork_server.end(worker)
        reaping = threading.Thread(
            target=self._fork_server.reap, args=(worker,), name=f"failsoft-{self._name}-reap", daemon=True
        )
        reaping.start()

    async def reap(self, worker: Worker, threads: ThreadPool) -> int:
        """Return how a worker ended that is lost, see `ForkServer.reap`."""
        return await threads.run(lambda: self._fork_server.reap(worker))

    def _fill(self, taken: Callable[[], int]) -> None:
        try:
            while not self._is_closed and len(self._idle) + taken() < self._at_most:
                self._fork(len(self._idle) + 1)
        except (OSError, EOFError):
            return  # the first call fails with the reason

    def _fork(self, idle: int) -> None:
        """Start a worker unless so many are idle by now: the call of an earlier fork may have been cancelled."""
        with self._forking:
            if len(self._idle) < idle and not self._is_closed:
                self._idle.append(self._fork_server.fork())


async def converse(worker: Worker, question: tuple[Any, ...], on_report: OnReport) -> tuple[str, Any, int]:
    """Send a task and return its answer, or that it was lost, passing on what it reports before.

    Args:
        worker: The worker.
        question: A function of a module, its arguments, its keyword arguments, and its time limit in seconds or None.
        on_report: Gets what the task reports.

    Returns:
        `done`, `failed`, `exhausted`, `crashed` or `died`; the value or the error; the most memory that it ever had.
    """
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(worker.channel, pack(question))
        while True:
            (length,) = LENGTH.unpack(await _exactly(loop, worker, LENGTH.size))
            kind, *facts = unpack(await _exactly(loop, worker, length))
            if kind != "progress":
                value, peak_bytes = facts
                return kind, value, peak_bytes
            await on_report(*facts)
    except (ConnectionError, EOFError):
        return "died", None, worker.peak_bytes


def described(code: int) -> str:
    """Return in words how a process ended."""
    return f"was killed by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"ended with code {code}"


def _close(fork_server: ForkServer, idle: list[Worker]) -> None:
    while idle:
        idle.pop().channel.close()
    fork_server.close()


async def _exactly(loop: asyncio.AbstractEventLoop, worker: Worker, size: int) -> bytearray:
    held = bytearray(size)
    view = memoryview(held)
    while view:
        read = await loop.sock_recv_into(worker.channel, view)
        if not read:
            raise EOFError
        view = view[read:]
    return held

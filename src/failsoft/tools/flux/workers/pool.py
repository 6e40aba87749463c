"""A pool of worker processes, which isolates the server from a solver that hangs or crashes.

Existing pools share one pipe and its locks, so killing one worker may block the others (ADR 0013). Here each worker has
a socket of its own, and its exit is detected at once.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.errors import Overloaded, Unavailable
from failsoft.recovery.strategies.bulkhead import Compartment, Place
from failsoft.tools.flux.failures import CobrapySolverError
from failsoft.tools.flux.signatures import FluxSettings
from failsoft.tools.flux.workers.fork_server import ForkServer, Worker
from failsoft.tools.flux.workers.worker import LENGTH, pack, unpack

P = ParamSpec("P")
T = TypeVar("T")
_RUNS: Final = 2
"""Attempts at a task whose worker ends: a task changes nothing outside of its worker."""
_LOST: Final = {"died": "WorkerDied", "exhausted": "MemoryError"}
"""Ends of a task after which it runs once more, and the types that their errors name."""
_BUSY_WAIT_S: Final = 2.0
_DAY_S: Final = 86_400.0


class TaskCrashedError(Exception):
    """A task raised an exception that is not a typed error; a note has its traceback."""


class Workers:
    """A bounded number of processes that run functions of `failsoft.tools.flux.work`.

    Calls wait in a bounded queue that is served round-robin by principal.

    Args:
        settings: Their number, the queue before them, and when one is replaced (`FAILSOFT_FLUX_...`).
    """

    def __init__(self, settings: FluxSettings) -> None:
        self._settings = settings
        self._fork_server = ForkServer(
            preload=settings.preload, models_at_most=settings.models_in_memory, memory_bytes=settings.worker_bytes
        )
        self._slots = Compartment("flux workers")
        self._slots.resize(settings.workers, settings.queue)
        self._idle: list[Worker] = []
        self._forking = threading.Lock()
        self._is_closed = False
        self._closing = weakref.finalize(self, _close, self._fork_server, self._idle)

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a worker."""
        return self._slots.waiting

    async def run(self, call: Call, task: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Return what a function returns, run in a worker.

        When the call is cancelled or its deadline passes, the worker is killed.

        Args:
            call: The call that it is for; its deadline bounds the task, and it receives progress reports.
            task: A function of a module, which the worker imports.
            arguments: What it is given; anything that pickles.
            named: Its keyword arguments.

        Raises:
            ToolError: What the function raised.
            OVERLOADED: The queue is full, or no worker is free in time.
            COBRAPY_SOLVER_ERROR: The worker ended unexpectedly or ran out of memory, and a second one as well.
            UNAVAILABLE: No worker can be started.
        """
        place = self._slots.enter_now() or await self._wait(call)
        try:
            result: T = await self._run(call, (task, arguments, named))
            return result
        finally:
            self._slots.leave(place)

    def warm_up(self) -> None:
        """Start all workers in the background."""
        threading.Thread(target=self._fill, name="failsoft-flux-fork", daemon=True).start()

    def close(self) -> None:
        """End all workers, and wait until they have ended; another task would start them anew."""
        self._is_closed = True
        _close(self._fork_server, self._idle)
        with self._forking:  # a fork that was about to begin
            _close(self._fork_server, self._idle)

    async def _wait(self, call: Call) -> Place:
        remaining_s = call.remaining_s()
        # A little before the deadline: OVERLOADED says more than DEADLINE_EXCEEDED.
        wait_s = _DAY_S if remaining_s is None else 0.9 * remaining_s
        place = await self._slots.enter(wait_s, call.principal)
        if place is None:
            message = f"All workers are busy, and {self.waiting} calls wait for one already."
            raise Overloaded(message=message, retry_after_seconds=_BUSY_WAIT_S, effect="none")
        return place

    async def _run(self, call: Call, question: tuple[Any, ...]) -> Any:
        kind, code = "", 0
        for turn in range(_RUNS):
            worker = await self._take(call, is_fresh=turn > 0)
            try:
                kind, value, worker.peak_bytes = await _converse(worker, call, question)
            except BaseException:
                self._end(worker)
                raise
            if kind not in _LOST:
                self._give_back(worker)
                return _result(kind, value)
            code = await call.bound.threads.run(lambda worker=worker: self._fork_server.reap(worker))  # type: ignore[misc]  # mypy does not infer a lambda with a default
            call.logger.warning("A worker could not finish its task")
        how = "ran out of memory" if kind == "exhausted" else _described(code)
        raise CobrapySolverError(
            operation=call.operation,
            exception_type=_LOST[kind],
            exception_message=f"the process that computed it {how}, and so did a second one",
        )

    async def _take(self, call: Call, *, is_fresh: bool) -> Worker:
        """Return a worker for one task: an idle one, or a new one.

        Args:
            call: The call that holds a slot.
            is_fresh: Take a worker without earlier tasks, since the cause of a crash may affect the others, too.
        """
        while True:
            try:
                worker = self._idle.pop()
            except IndexError:
                self._is_closed = False
                try:
                    await call.bound.threads.run(lambda: self._fork(1))
                except (OSError, EOFError) as error:
                    message = "No process for the computation can be started."
                    raise Unavailable(message=message, effect="none") from error
                continue
            if worker.is_alive() and not (is_fresh and worker.tasks):
                return worker
            self._end(worker)

    def _fill(self) -> None:
        try:
            while not self._is_closed and len(self._idle) + self._slots.taken < self._settings.workers:
                self._fork(len(self._idle) + 1)
        except (OSError, EOFError):
            return  # the first call fails with the reason

    def _fork(self, idle: int) -> None:
        """Start a worker unless so many are idle by now: the call of an earlier fork may have been cancelled."""
        with self._forking:
            if len(self._idle) < idle and not self._is_closed:
                self._idle.append(self._fork_server.fork())

    def _give_back(self, worker: Worker) -> None:
        worker.tasks += 1
        if (
            worker.tasks >= self._settings.worker_tasks
            or worker.peak_bytes > self._settings.worker_bytes
            or worker.generation != self._fork_server.generation
            or len(self._idle) >= self._settings.workers
        ):
            self._end(worker)
        else:
            self._idle.append(worker)

    def _end(self, worker: Worker) -> None:
        self._fork_server.end(worker)
        threading.Thread(target=self._fork_server.reap, args=(worker,), name="failsoft-flux-reap", daemon=True).start()


def _close(fork_server: ForkServer, idle: list[Worker]) -> None:
    while idle:
        idle.pop().channel.close()
    fork_server.close()


async def _converse(worker: Worker, call: Call, question: tuple[Any, ...]) -> tuple[str, Any, int]:
    """Send a task and return its answer, or that it was lost, passing on the progress before it."""
    loop = asyncio.get_running_loop()
    packed = pack((*question, call.remaining_s()))
    try:
        await loop.sock_sendall(worker.channel, packed)
        while True:
            (length,) = LENGTH.unpack(await _exactly(loop, worker, LENGTH.size))
            kind, *facts = unpack(await _exactly(loop, worker, length))
            if kind != "progress":
                value, peak_bytes = facts
                return kind, value, peak_bytes
            await call.report_progress(*facts)
    except (ConnectionError, EOFError):
        return "died", None, worker.peak_bytes


async def _exactly(loop: asyncio.AbstractEventLoop, worker: Worker, size: int) -> bytearray:
    held = bytearray(size)
    view = memoryview(held)
    while view:
        read = await loop.sock_recv_into(worker.channel, view)
        if not read:
            raise EOFError
        view = view[read:]
    return held


def _result(kind: str, value: Any) -> Any:
    if kind == "done":
        return value
    if kind == "failed":
        raise value
    name, text, stack = value
    crash = TaskCrashedError(f"{name}: {text}")
    crash.add_note(stack)
    raise crash


def _described(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"ended with code {code}"

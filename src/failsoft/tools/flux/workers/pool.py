"""A pool of worker processes, which isolates the server from a solver that hangs or crashes.

Existing pools share one pipe and its locks, so killing one worker may block the others (ADR 0013). Here each worker has
a socket of its own, and its exit is detected at once.
"""

from __future__ import annotations

import asyncio
import collections
import signal
import threading
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.errors import Overloaded, Unavailable
from failsoft.tools.flux.failures import CobrapySolverError
from failsoft.tools.flux.signatures import FluxSettings
from failsoft.tools.flux.workers.fork_server import ForkServer, Worker
from failsoft.tools.flux.workers.worker import LENGTH, pack, unpack

P = ParamSpec("P")
T = TypeVar("T")
_RUNS = 2
"""Attempts at a task whose worker ends: a task changes nothing outside of its worker."""
_BUSY_WAIT_S = 2.0


class TaskCrashedError(Exception):
    """A task raised an exception that is not a typed error; a note has its traceback."""


class _WorkerDiedError(Exception):
    """The worker ended in the middle of a task."""


class _Ticket:
    """A call that waits for a worker."""

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Worker] = self.loop.create_future()


class Workers:
    """Processes that run functions of `failsoft.tools.flux.work`, a bounded number of them, kept warm.

    Args:
        settings: Their number, the queue before them, and when one is replaced (`FAILSOFT_FLUX_...`).
    """

    def __init__(self, settings: FluxSettings) -> None:
        self._settings = settings
        options = {"preload": list(settings.preload), "models_at_most": settings.models_in_memory}
        self._fork_server = ForkServer(options)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._waiting: collections.deque[_Ticket] = collections.deque()
        self._count = 0  # workers that there are or that are being forked
        self._closing = weakref.finalize(self, _close, self._fork_server, self._idle)

    async def run(self, call: Call, task: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Return what a function returns, run in a worker.

        When the call is cancelled or its deadline passes, the worker is killed.

        Args:
            call: The call that it is for; its deadline bounds the task, and it receives progress reports.
            task: A function of a module, which is sent by reference.
            arguments: What it is given; anything that pickles.
            named: Its keyword arguments.

        Raises:
            ToolError: What the function raised.
            OVERLOADED: Too many calls wait already.
            COBRAPY_SOLVER_ERROR: The worker ended unexpectedly, and a second one as well.
            UNAVAILABLE: No worker can be started.
        """
        ended = 0
        for turn in range(_RUNS):
            worker = await self._take(fresh=turn > 0)
            try:
                kind, value, worker.peak_bytes = await _converse(worker, call, (task, arguments, named))
            except _WorkerDiedError:
                ended = await call.bound.threads.run(lambda worker=worker: self._lose(worker))  # type: ignore[misc]  # mypy does not infer a lambda with a default
                call.logger.warning("A worker ended in the middle of a task")
                continue
            except BaseException:
                self._discard(worker)
                raise
            self._give_back(worker)
            result: T = _result(kind, value)
            return result
        raise CobrapySolverError(
            operation=call.operation,
            exception_type="WorkerDied",
            exception_message=f"the process that computed it {_described(ended)}, and so did a second one",
        )

    def warm_up(self) -> None:
        """Start all workers in the background."""
        with self._lock:
            missing = self._settings.workers - self._count
            self._count += missing
        for _ in range(missing):
            self._grow()

    def close(self) -> None:
        """End all workers, and wait until they have ended; another task would start them anew."""
        _close(self._fork_server, self._idle)
        with self._lock:
            self._count = 0

    async def _take(self, *, fresh: bool = False) -> Worker:
        """Return a worker for one task: an idle one, a new one, or the next that is given back.

        Args:
            fresh: Prefer a worker without earlier tasks, since the cause of a crash may affect the others, too.
        """
        tries = 0
        while True:
            place, worker = self._ask()
            if worker is None:
                worker = await self._wait(place)
            tries += 1
            if worker.is_alive() and not (fresh and worker.tasks and tries <= self._settings.workers):
                return worker
            self._discard(worker)

    def _ask(self) -> tuple[_Ticket, Worker | None]:
        place = _Ticket()
        with self._lock:
            if self._idle:
                return place, self._idle.pop()
            grows = self._count < self._settings.workers
            if not grows and len(self._waiting) >= self._settings.queue:
                raise Overloaded(
                    message=f"{len(self._waiting)} calls wait for a worker already.",
                    retry_after_seconds=_BUSY_WAIT_S,
                    effect="none",
                )
            self._count += grows
            self._waiting.append(place)
        if grows:
            self._grow()
        return place, None

    async def _wait(self, place: _Ticket) -> Worker:
        try:
            return await place.future
        except asyncio.CancelledError:
            with self._lock:
                if place in self._waiting:
                    self._waiting.remove(place)
            if place.future.done() and not place.future.cancelled() and place.future.exception() is None:
                self._give_back(place.future.result())
            raise

    def _grow(self) -> None:
        threading.Thread(target=self._fork, name="failsoft-flux-fork", daemon=True).start()

    def _fork(self) -> None:
        """Start a worker and give it to the next call; if that fails, fail the calls that would wait for it."""
        try:
            worker = self._fork_server.fork()
        except (OSError, EOFError) as error:
            failure = Unavailable(message="No process for the computation can be started.", effect="none")
            failure.__cause__ = error
            with self._lock:
                self._count -= 1
                affected = 1 if self._count else len(self._waiting)  # without any worker no call would be served
            for _ in range(affected):
                self._hand_over(failure)
        else:
            self._give_back(worker, is_new=True)

    def _give_back(self, worker: Worker, *, is_new: bool = False) -> None:
        worker.tasks += not is_new
        if (
            worker.tasks >= self._settings.worker_tasks
            or worker.peak_bytes > self._settings.worker_bytes
            or worker.generation != self._fork_server.generation
        ):
            self._discard(worker)
        else:
            self._hand_over(worker)

    def _hand_over(self, given: Worker | Unavailable) -> None:
        """Give a worker, or why there is none, to the call that has waited longest; else it is idle."""
        while True:
            with self._lock:
                if not self._waiting:
                    if isinstance(given, Worker):
                        self._idle.append(given)
                    return
                place = self._waiting.popleft()
            try:
                place.loop.call_soon_threadsafe(self._settle, place, given)
            except RuntimeError:  # its loop has been closed, and with it the call
                continue
            return

    def _settle(self, place: _Ticket, given: Worker | Unavailable) -> None:
        if isinstance(given, Unavailable):
            if not place.future.done():
                place.future.set_exception(given)
        elif place.future.done():
            self._give_back(given, is_new=True)
        else:
            place.future.set_result(given)

    def _discard(self, worker: Worker) -> None:
        """Kill a worker, and start another if a call waits for one."""
        self._fork_server.end(worker)
        threading.Thread(target=self._fork_server.reap, args=(worker,), name="failsoft-flux-reap", daemon=True).start()
        self._replace()

    def _lose(self, worker: Worker) -> int:
        """Replace a worker that has ended, and return its exit status."""
        worker.channel.close()
        ended = self._fork_server.reap(worker)
        self._replace()
        return ended

    def _replace(self) -> None:
        with self._lock:
            self._count = max(0, self._count - 1)
            grows = bool(self._waiting) and self._count < self._settings.workers
            self._count += grows
        if grows:
            self._grow()


def _close(fork_server: ForkServer, idle: list[Worker]) -> None:
    while idle:
        idle.pop().channel.close()
    fork_server.close()


async def _converse(worker: Worker, call: Call, task: tuple[Any, ...]) -> tuple[str, Any, int]:
    """Send a task and return the answer, passing on the progress before it."""
    loop = asyncio.get_running_loop()
    question = pack((*task, call.remaining_s()))
    try:
        await loop.sock_sendall(worker.channel, question)
        while True:
            (length,) = LENGTH.unpack(await _exactly(loop, worker, LENGTH.size))
            kind, *facts = unpack(await _exactly(loop, worker, length))
            if kind != "progress":
                value, peak_bytes = facts
                return kind, value, peak_bytes
            await call.report_progress(*facts)
    except (ConnectionError, EOFError) as error:
        raise _WorkerDiedError from error


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


def _described(ended: int) -> str:
    if ended >= 0:
        return f"ended with code {ended}"
    try:
        return f"was killed by {signal.Signals(-ended).name}"
    except ValueError:
        return f"was killed by signal {-ended}"

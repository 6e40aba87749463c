"""The worker processes of flux, which isolate the server from a solver that hangs or crashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.errors import Overloaded
from failsoft.jobs.processes.fork_server import ForkServer
from failsoft.jobs.processes.pool import OnReport, Processes, converse, described
from failsoft.recovery.strategies.bulkhead import Compartment, Slot
from failsoft.tools.flux.failures import CobrapySolverError
from failsoft.tools.flux.signatures import FluxSettings

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
        given = {"preload": list(settings.preload), "models_at_most": settings.models_in_memory}
        self._processes = Processes(
            ForkServer("failsoft.tools.flux.workers.loading:load", given, memory_bytes=settings.worker_bytes),
            settings.workers,
            tasks=settings.worker_tasks,
            memory_bytes=settings.worker_bytes,
            name="flux",
        )
        self._slots = Compartment("flux workers")
        self._slots.resize(settings.workers, settings.queue)

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
        self._processes.warm_up(lambda: self._slots.taken)

    def close(self) -> None:
        """End all workers, and wait until they have ended; another task would start them anew."""
        self._processes.close()

    async def _wait(self, call: Call) -> Slot:
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
            worker = await self._processes.take(call.bound.threads, is_fresh=turn > 0)
            try:
                asked = (*question, call.remaining_s())
                kind, value, worker.peak_bytes = await converse(worker, asked, _reporting(call))
            except BaseException:
                self._processes.end(worker)
                raise
            if kind not in _LOST:
                self._processes.give_back(worker)
                return _result(kind, value)
            code = await self._processes.reap(worker, call.bound.threads)
            call.logger.warning("A worker could not finish its task")
        how = "ran out of memory" if kind == "exhausted" else described(code)
        raise CobrapySolverError(
            operation=call.operation,
            exception_type=_LOST[kind],
            exception_message=f"the process that computed it {how}, and so did a second one",
        )


def _reporting(call: Call) -> OnReport:
    async def report(*facts: Any) -> None:
        await call.report_progress(*facts)

    return report


def _result(kind: str, value: Any) -> Any:
    if kind == "done":
        return value
    if kind == "failed":
        raise value
    name, text, stack = value
    crash = TaskCrashedError(f"{name}: {text}")
    crash.add_note(stack)
    raise crash

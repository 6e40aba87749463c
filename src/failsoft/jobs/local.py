"""Runs jobs in processes of this machine, which may die without the server, and the server without them.

A process runs one job at a time, so a handler that computes stops no other, and is forked from a server that has loaded
the modules of the toolsets. Jobs wait for one in a queue that serves the principals in turn; nothing but their ids is
held in memory. A process that dies is replaced, and its job starts again; what it had begun is for the ledger to judge.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import socket
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.clock import loop_time
from failsoft.framework.errors import ToolError
from failsoft.framework.safe.author_reports import logger, tell
from failsoft.jobs.child import LOOK, packed, run_one
from failsoft.jobs.engine import Engine, JobBook
from failsoft.jobs.processes.fork_server import ForkServer, Worker
from failsoft.jobs.processes.pool import Processes, converse
from failsoft.jobs.record import LEASE_S, Job, tag_of
from failsoft.recovery.idempotency.ledger import is_dead, new_owner

_CANCEL_S: Final = 5.0
"""How long a handler that changes nothing may go on after its end was asked for, in seconds, before it is killed."""
_LATE_S: Final = 30.0
"""How much longer than its time limit a job may run before its process is killed, in seconds."""
_YEAR_S: Final = 31_536_000.0
_PAUSE_S, _PAUSE_AT_MOST_S = 0.25, 4.0
"""How long no process is taken after one could not be started, in seconds: at first, and at most."""


class _AtWork(NamedTuple):
    """A process with a job, and the token of the job's owner."""

    worker: Worker
    owner: str


class LocalProcesses(Engine):
    """Implements `Engine` with a pool of processes.

    Args:
        book: The records, in a store that the processes reach.
        toolbox: The tools of the server.
        make: Makes the toolsets of the server in another process; it pickles.
        processes: How many jobs run at a time.

    Raises:
        Exception: `make` cannot be pickled.
    """

    def __init__(
        self, book: JobBook, toolbox: Toolbox, make: Callable[[], Sequence[BaseTool]], *, processes: int
    ) -> None:
        super().__init__(book)
        self._toolbox = toolbox
        self._threads = toolbox.tools[0].runtime.threads
        fork_server = ForkServer("failsoft.jobs.child:load", packed(make), outlives=True)
        self._pool = Processes(fork_server, processes, name="job")
        self._at_most = processes
        self._queues: OrderedDict[str, deque[str]] = OrderedDict()
        """Waiting jobs by the hash of their principal, the next principal to be served first."""
        self._known: set[str] = set()
        """Jobs that wait or run here."""
        self._running: dict[str, _AtWork | None] = {}
        self._beating: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self._pause_s = self._go_on_at = 0.0

    def warm_up(self) -> None:
        """Start a process in the background: the first job then does not wait for what it imports."""
        self._pool.warm_up(lambda: max(self._at_most - 1, len(self._running)))

    async def start(self, job_id: str) -> None:
        """See `Engine`."""
        if job_id in self._known:
            return
        self._known.add(job_id)
        self._queues.setdefault(job_id[: len(tag_of(None))], deque()).append(job_id)
        self._serve()

    async def cancel(self, job_id: str) -> Job | None:
        """See `Engine`. A handler that only computes, and changes nothing, is killed if it goes on."""
        job = await self.book.cancel(job_id)
        held = self._running.get(job_id)
        if job is not None and not job.has_ended and held is not None:
            if LOOK is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(held.worker.pid, LOOK)
            bound = self._toolbox.find(job.operation)
            if bound is not None and bound.read_only:
                asyncio.get_running_loop().call_later(_CANCEL_S, self._kill, job_id, held)
        return job

    async def close(self) -> None:
        """See `Engine`. Jobs that run go on to their ends, which the next server finds in the store."""
        self._is_closing = True
        self._queues.clear()
        tasks = [*self._tasks, *([] if self._beating is None else [self._beating])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.to_thread(self._pool.close)

    def _serve(self) -> None:
        """Begin waiting jobs as long as there is a free process."""
        is_time = not self._is_closing and self._go_on_at <= loop_time()
        while self._queues and is_time and len(self._running) < self._at_most:
            tag, queue = self._queues.popitem(last=False)
            job_id = queue.popleft()
            if queue:
                self._queues[tag] = queue  # to the end of the round
            self._running[job_id] = None
            task = asyncio.get_running_loop().create_task(self._run(job_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._running and (self._beating is None or self._beating.done()):
            self._beating = asyncio.get_running_loop().create_task(self._beat())

    async def _run(self, job_id: str) -> None:
        """Run a job in a process, again in another one if that dies, until it has ended or is not this server's."""
        try:
            while await self._ran_into_death(job_id):
                self.book.wake(job_id)
            self._pause_s = 0.0
        except ToolError as lost:
            logger.error("A job could not be run ({}): it is tried again", lost.operator_hint or lost.message)
            self._pause()
        finally:
            self._running.pop(job_id, None)
            self._known.discard(job_id)
            self.book.wake(job_id)
            self._serve()

    async def _ran_into_death(self, job_id: str) -> bool:
        """Run a job once; return whether its process has died meanwhile, so that it has to run again."""
        job = await self.book.read(job_id)
        bound = None if job is None else self._toolbox.find(job.operation)
        if job is None or job.has_ended or bound is None:
            return False
        worker = await self._pool.take(self._threads)
        held = self._running[job_id] = _AtWork(worker, new_owner(worker.pid))
        loop = asyncio.get_running_loop()
        limit_s = math.inf if bound.timeout_s is None else bound.timeout_s + _LATE_S
        late = loop.call_later(min(limit_s, _YEAR_S), self._kill, job_id, held)
        try:
            question: tuple[Any, ...] = (run_one, (job_id, held.owner), {}, None)
            kind, value, worker.peak_bytes = await converse(worker, question, _ignored)
        except BaseException:  # the server ends: the process goes on with the job, and ends after it
            worker.channel.close()
            raise
        finally:
            late.cancel()
        if kind == "done":
            self._count(bound.metrics, value["events"])
            (self._pool.give_back if value["is_fit"] else self._pool.end)(worker)
            return False
        self._pool.end(worker)
        if kind == "failed":
            raise value
        facts = {"operation": bound.name, "pid": worker.pid, "how": str(value or kind)}
        logger.bind(event="job_process_lost", **facts).warning("A process was lost with a job: {}", facts["how"])
        return True

    def _kill(self, job_id: str, held: _AtWork) -> None:
        if self._running.get(job_id) is held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(held.worker.pid, 9)

    async def _beat(self) -> None:
        """Renew the leases of the processes at work: a handler that computes may keep its own from that."""
        while self._running:
            await asyncio.sleep(LEASE_S / 3)
            for job_id, held in list(self._running.items()):
                if held is None:
                    continue
                if is_dead(held.owner):  # what its handler has forked may hold its socket open
                    with contextlib.suppress(OSError):
                        held.worker.channel.shutdown(socket.SHUT_RDWR)
                elif held.worker.is_alive():
                    with contextlib.suppress(ToolError):
                        await self.book.tell(job_id, held.owner, {})

    def _pause(self) -> None:
        """Take no process for a while."""
        if self._go_on_at > loop_time():  # another job has run into the same
            return
        self._pause_s = min(_PAUSE_AT_MOST_S, 2 * self._pause_s or _PAUSE_S)
        self._go_on_at = loop_time() + self._pause_s
        asyncio.get_running_loop().call_later(self._pause_s, self._serve)

    @staticmethod
    def _count(metrics: Any, events: Sequence[Sequence[Any]]) -> None:
        for name, *facts in events:
            tell(getattr(metrics, name), *facts)


async def _ignored(*_: object) -> None:
    """Ignore what a process reports: the store has the progress of jobs."""

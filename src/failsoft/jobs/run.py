"""`run_job`: runs one job in this process, from its record to its answer; every engine ends up here.

`InProcess` is the engine that is no more than that: for stores in memory, and toolsets that no other process can make.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call import META_KEY, CallScope
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.chain import connect
from failsoft.framework.call.run import answer_failure, invoke
from failsoft.framework.clock import loop_time
from failsoft.framework.errors import JobProcessLost, QuotaExhausted, StateUnavailable, ToolError
from failsoft.framework.recorders import NullMetrics, OperationMetrics
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.state.backend import State
from failsoft.framework.text import bounded
from failsoft.jobs.answers import stored
from failsoft.jobs.engine import Engine, JobBook
from failsoft.jobs.record import Job, JobState
from failsoft.recovery.idempotency.ledger import new_owner

HEARTBEAT_S: Final = 1.0
"""How often a runner reports, in seconds: a cancellation by another process is seen within that time."""
_NEWS_EVERY_S: Final = 0.2
_STATUS_AT_MOST = 300
_STORED_WITHIN_S = 3_600.0
"""How long a runner tries to store the end of its job, in seconds: its server and the store may be gone for good."""
_HANDLE_BYTES = 5_000
"""What `get_job` may add to the response of a job, in bytes: twice its handle, with a status of the longest."""
_CANCELLED = "cancelled; nothing was changed"
_STORE_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""How long a call waits that has failed because the store is lost, in seconds, before it is made again."""
DEATHS_AT_MOST: Final = 3
"""How many processes a job may outlive: its handler may be what ends them."""


async def run_job(
    book: JobBook,
    engine: Engine,
    toolbox: Toolbox,
    job_id: str,
    owner: str,
    *,
    metrics: OperationMetrics | None = None,
) -> Job | None:
    """Run a job whose record is stored, and store its answer.

    Cancelling the task that awaits this gives the job back (`JobBook.release`) unless its end was asked for; work that
    may not be cancelled any more is waited for.

    Args:
        book: The records.
        engine: Gets the heartbeats.
        toolbox: The tools of the server, as in the process that began the job.
        job_id: The job.
        owner: The token of this runner, see `new_owner`: it tells others whether its process has died.
        metrics: Counts the call; by default the metrics of its operation.

    Returns:
        The job as it ended; None if another runner has it, or it was given back.

    Raises:
        STATE_UNAVAILABLE: The store does not answer; the job is found again by whoever starts orphans.
    """
    with book.listening(job_id) as wake:  # before it is taken: from then on its end may be asked for
        job = await book.take(job_id, owner)
        if job is None:
            return None
        bound = toolbox.find(job.operation)
        if bound is None:  # of another version of the server, which may still run elsewhere
            logger.error("A job is of an operation that this server does not have: '{}'", job.operation)
            await book.release(job_id, owner)
            return None
        if job.is_cancelled and (job.runs <= 1 or bound.read_only):
            return await book.end(job, owner, JobState.CANCELLED, _CANCELLED, None)
        if job.deaths >= DEATHS_AT_MOST:
            return await _given_up(book, bound, job, owner)
        counted = bound if metrics is None else bound.under_name(metrics=metrics)
        return await _JobRun(book, engine, toolbox, counted, job, owner, wake).run()


async def _given_up(book: JobBook, bound: BoundOperation, job: Job, owner: str) -> Job | None:
    """End a job whose process has ended every time before the job did."""
    error = JobProcessLost(deaths=job.deaths, effect="none" if bound.read_only else "unknown")
    scope = CallScope(request_id=job.request_id or None, principal=job.caller)
    response = await answer_failure(bound, error, job.params, scope, begun=not bound.read_only)
    return await book.end(job, owner, JobState.FAILED, "", stored(response))


class _JobRun:
    """One run of a job by one runner."""

    def __init__(
        self,
        book: JobBook,
        engine: Engine,
        toolbox: Toolbox,
        bound: BoundOperation,
        job: Job,
        owner: str,
        wake: asyncio.Event,
    ) -> None:
        self._book, self._engine, self._owner = book, engine, owner
        links = [link for link in bound.chain.links if link.place != "admit"]  # it was admitted when it was begun
        chain = replace(bound.chain, links=tuple(links), proceed=connect(links, invoke))
        self._bound = bound.under_name(metrics=bound.metrics, chain=chain)
        self._job = job
        self._news: dict[str, Any] = {}
        self._told_at = -math.inf
        self._is_cancelled = self._is_lost = self._is_past_mark = False
        self._wake = wake
        limit = bound.settings.max_response_bytes
        self._scope = CallScope(
            request_id=job.request_id or None,
            traceparent=job.traceparent,
            principal=job.caller,
            meta=_meta_of(job, bound),
            report_progress=self._progress,
            toolbox=toolbox,
            max_response_bytes=max(limit // 2, limit - _HANDLE_BYTES),
            sends_key=bool(job.key) or bound.chain.recovery.derives_keys,
            consent=job.consent,
        )

    async def run(self) -> Job | None:
        """Run the call beside its heartbeat, and store what came of it."""
        context = contextvars.Context()  # no call of this process is the one around it
        calling = asyncio.get_running_loop().create_task(self._called(), context=context)
        beating = asyncio.create_task(self._beat(calling))
        try:
            try:
                response = await asyncio.shield(calling)
            except asyncio.CancelledError:
                response = None
                if not calling.done():  # this runner is ended: the call is, too, if it may be
                    calling.cancel()
                    with suppress(asyncio.CancelledError):
                        response = await calling
        finally:
            beating.cancel()
        if self._is_lost:
            return None
        if response is not None:
            state = JobState.FAILED if response.error is not None else JobState.COMPLETED
            status = "" if response.error is None else response.error.code
            return await self._kept(state, status, stored(response))
        if self._is_cancelled and not self._is_past_mark:
            return await self._kept(JobState.CANCELLED, _CANCELLED, None)
        await self._book.release(self._job.id, self._owner)
        return None

    async def _called(self) -> ToolResponse[Any] | None:
        """Return the response of the call; None if it was cancelled before it began any effect."""
        try:
            response: ToolResponse[Any] = await self._bound.call(self._job.params, self._scope)
            for pause_s in _STORE_PAUSES_S:
                if response.error is None or response.error.code != StateUnavailable.code:
                    break
                await asyncio.sleep(pause_s)  # with the same key, so that the ledger knows what was begun
                response = await self._bound.call(self._job.params, self._scope)
        except asyncio.CancelledError:
            if not self._scope.left_running:
                return None
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            self._is_past_mark = True
            # It runs to its end, whoever asked for that of the job.
            response = await asyncio.shield(self._scope.left_running[0])
        return response

    async def _kept(self, state: JobState, status: str, answer: Mapping[str, Any] | None) -> Job | None:
        """End the job once the store takes it; None if it did not for an hour, after which another runner has the job.

        A result that the quota has no space for is replaced by a failure.
        """
        until, pause_s, is_free = loop_time() + _STORED_WITHIN_S, 0.1, False
        while True:
            try:
                return await self._book.end(self._job, self._owner, state, status, answer, is_free=is_free)
            except QuotaExhausted:
                if state == JobState.COMPLETED:
                    answer = await self._without_result()
                    state, status = JobState.FAILED, QuotaExhausted.code
                is_free = True  # failures are small
                continue
            except ToolError as lost:
                if loop_time() > until:
                    logger.error("The end of a job could not be stored ({}), and was given up", lost.operator_hint)
                    return None
                if pause_s > HEARTBEAT_S:
                    logger.error("The end of a job could not be stored ({}): trying again", lost.operator_hint)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, 10.0)

    async def _without_result(self) -> Mapping[str, Any]:
        """Return the answer of a job that was done, and whose result cannot be kept."""
        error = QuotaExhausted(
            message="The job was done, and its result was not kept: you have stored as much as one caller may here.",
            effect="none" if self._bound.read_only else "applied",
        )
        uncounted = self._bound.under_name(metrics=NullMetrics())  # it was counted with the result
        begun = not self._bound.read_only
        return stored(await answer_failure(uncounted, error, self._job.params, self._scope, begun=begun))

    async def _progress(self, done: float, total: float | None, message: str | None) -> None:
        self._news["done"] = float(done)
        if total is not None:
            self._news["total"] = float(total)
        if message:
            self._news["status"] = redact_text(bounded(message, _STATUS_AT_MOST))
        self._wake.set()

    async def _beat(self, calling: asyncio.Task[Any]) -> None:
        """Report while the call runs, sooner if there is news; cancel the call once its end is asked for."""
        sent: State = {}
        while not calling.done():
            sent = await self._report(calling, sent)

    async def _report(self, calling: asyncio.Task[Any], sent: State) -> State:
        """Wait for news or for the time of a report, and send it; return what has been sent so far."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_S):
                await self._wake.wait()
        self._wake.clear()
        if self._news:  # a handler may report after every line
            await asyncio.sleep(max(0.0, self._told_at + _NEWS_EVERY_S - loop_time()))
        news = {name: value for name, value in self._news.items() if sent.get(name) != value}
        try:
            job = await self._engine.heartbeat(self._job.id, self._owner, news)
        except ToolError:  # the next one may come through before the lease ends
            return sent
        self._told_at = loop_time()
        self._is_lost = job is None
        if job is None or (job.is_cancelled and not self._is_cancelled):
            self._is_cancelled = job is not None
            calling.cancel()
        return {**sent, **news}


def _meta_of(job: Job, bound: BoundOperation) -> dict[str, Any]:
    """Return the `_meta` of the call: with the caller's key, or one of the job's own where none can be derived."""
    if job.key:
        return {META_KEY: job.key}
    if bound.read_only or bound.chain.recovery.derives_keys:
        return {}
    return {META_KEY: f"job-{job.id}"}


class InProcess(Engine):
    """Implements `Engine` in the process of the server, on its event loop.

    Args:
        book: The records.
        toolbox: The tools of the server.
    """

    def __init__(self, book: JobBook, toolbox: Toolbox) -> None:
        super().__init__(book)
        self._toolbox = toolbox
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    async def start(self, job_id: str) -> None:
        """See `Engine`."""
        if job_id in self._tasks:
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(
            run_job(self.book, self, self._toolbox, job_id, new_owner()), context=contextvars.Context()
        )
        self._tasks[job_id] = task
        task.add_done_callback(partial(self._over, job_id))

    async def close(self) -> None:
        """See `Engine`."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _over(self, job_id: str, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(job_id, None)
        self.book.wake(job_id)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, ToolError):  # the store is lost: the job is found again as an orphan
            logger.error("A job could not be run ({}); it is started again", error.operator_hint)
        else:
            logger.opt(exception=error).error("A job could not be run; it is started again")

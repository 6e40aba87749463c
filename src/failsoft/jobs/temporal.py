"""Brings jobs to workers on any machine: one workflow a job, with one activity that is never retried.

Temporal gets the id of a job and its time limit. Arguments, progress and answers stay in the state store, which servers
and workers share, so errors arrive whole and nothing of a caller is in Temporal's history. Temporal decides where a job
runs, and notices workers that are gone; whether work is done again is the ledger's decision, wherever the job is
started next.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from temporalio import activity, workflow
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import RetryPolicy, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, TemporalError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from failsoft.framework.call.bound import Toolbox
from failsoft.framework.clock import loop_time
from failsoft.framework.errors import ToolError, Unavailable
from failsoft.jobs.engine import Engine, JobBook, OnNews
from failsoft.jobs.record import LEASE_S, OPEN_S, Job

ACTIVITY: Final = "failsoft.run_job"
WORKFLOW: Final = "failsoft.job"
_CONNECT_WITHIN_S, _ANSWERS_WITHIN_S = 2.0, 2.0
_BEAT_S = LEASE_S / 4
_GRACE_S = 60.0
"""How much longer than the limit of a job its activity may take: the deadline of the call itself comes first."""
_STARTED_AGAIN_AFTER_S = 60.0
"""How long a job that waits for a worker is taken to be known to Temporal, which may have lost its database."""
_STARTED_AT_MOST = 100_000


@workflow.defn(name=WORKFLOW, sandboxed=False)
class JobWorkflow:
    """Runs one job: one activity, without retries of its own."""

    @workflow.run
    async def run(self, job_id: str, limit_s: float) -> str:
        """Return the state of the job as its worker left it, or fail as the activity did."""
        left: str = await workflow.execute_activity(
            ACTIVITY,
            job_id,
            result_type=str,
            start_to_close_timeout=timedelta(seconds=limit_s),
            heartbeat_timeout=timedelta(seconds=LEASE_S),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
        return left


class TemporalEngine(Engine):
    """Implements `Engine` for servers, with Temporal; `work` is the other side, in a worker.

    Args:
        book: The records.
        toolbox: The tools of the server.
        server: `HOST:PORT` of Temporal.
        namespace: The namespace there, one for each environment.
        queue: The task queue: workers of the same application have the same.
    """

    def __init__(self, book: JobBook, toolbox: Toolbox, *, server: str, namespace: str, queue: str) -> None:
        super().__init__(book)
        self._toolbox = toolbox
        self._server, self._namespace, self.queue = server, namespace, queue
        self._client: Client | None = None
        self._connecting = asyncio.Lock()
        self._started: OrderedDict[str, float] = OrderedDict()
        """When each waiting job was started by this process, on the clock of the loop."""

    async def start(self, job_id: str) -> None:
        """See `Engine`: a workflow whose id is made of the job's, unless there is an open one."""
        now = loop_time()
        job = await self.book.read(job_id)
        if job is None or job.has_ended:
            self._started.pop(job_id, None)
            return
        if job.runs == 0 and now - self._started.get(job_id, -_STARTED_AGAIN_AFTER_S) < _STARTED_AGAIN_AFTER_S:
            return
        client = await self._connected()
        try:
            await client.start_workflow(
                WORKFLOW,
                args=[job_id, self._limit_s(job)],
                id=workflow_id(job_id),
                task_queue=self.queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                rpc_timeout=timedelta(seconds=_ANSWERS_WITHIN_S),
            )
        except (RPCError, TemporalError) as lost:
            raise _unavailable(lost) from lost
        self._started[job_id] = now
        if len(self._started) > _STARTED_AT_MOST:
            self._started.popitem(last=False)

    async def attach(self, job_id: str, wait_s: float, on_news: OnNews | None = None) -> Job | None:
        """See `Engine`. The end of the workflow is seen at once, other news within a quarter of a second."""
        if wait_s <= 0 or self._client is None:
            return await super().attach(job_id, wait_s, on_news)
        waiting = asyncio.create_task(self._wake_at_end(self._client, job_id))
        try:
            return await super().attach(job_id, wait_s, on_news)
        finally:
            waiting.cancel()

    async def cancel(self, job_id: str) -> Job | None:
        """See `Engine`. The runner learns of it with its heartbeat; a job that waits is taken from the queue."""
        job = await super().cancel(job_id)
        if job is not None and job.has_ended and self._client is not None:
            with suppress(RPCError):  # its worker finds the job ended
                handle = self._client.get_workflow_handle(workflow_id(job_id))
                await handle.cancel(rpc_timeout=timedelta(seconds=_ANSWERS_WITHIN_S))
        return job

    async def work(self, runner: Engine, at_once: int, grace_s: float, on_ready: Callable[[], None]) -> None:
        """Run jobs until this is cancelled; then take no more, and wait for those that run.

        Args:
            runner: What runs them in this process or on this machine.
            at_once: How many jobs run at once.
            grace_s: How long those that run may go on, in seconds.
            on_ready: Called when Temporal has been reached and knows the namespace.

        Raises:
            UNAVAILABLE: Temporal cannot be reached, or has no such namespace.
        """

        @activity.defn(name=ACTIVITY)
        async def run(job_id: str) -> str:
            try:
                return await _run_here(runner, job_id)
            except ToolError as error:
                raise ApplicationError(error.message, type=error.code, non_retryable=True) from None

        client = await self._connected()
        try:
            await client.workflow_service.describe_namespace(
                DescribeNamespaceRequest(namespace=self._namespace),
                retry=True,
                timeout=timedelta(seconds=_ANSWERS_WITHIN_S),
            )
        except RPCError as lost:
            raise _unavailable(lost) from lost
        worker = Worker(
            client,
            task_queue=self.queue,
            workflows=[JobWorkflow],
            activities=[run],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_concurrent_activities=at_once,
            graceful_shutdown_timeout=timedelta(seconds=grace_s),
            max_heartbeat_throttle_interval=timedelta(seconds=_BEAT_S),
        )
        on_ready()
        await worker.run()

    def _limit_s(self, job: Job) -> float:
        """Return the seconds from start to close: those of the operation, and some for its own deadline."""
        bound = self._toolbox.find(job.operation)
        limit_s = bound.timeout_s if bound is not None else None
        return OPEN_S if not limit_s or limit_s + _GRACE_S > OPEN_S else limit_s + _GRACE_S

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None:
                try:
                    self._client = await Client.connect(
                        self._server,
                        namespace=self._namespace,
                        connect_timeout=timedelta(seconds=_CONNECT_WITHIN_S),
                    )
                except (RPCError, RuntimeError, OSError) as lost:  # RuntimeError: of its connection, written in Rust
                    raise _unavailable(lost) from lost
            return self._client

    async def _wake_at_end(self, client: Client, job_id: str) -> None:
        with suppress(RPCError, TemporalError):
            await client.get_workflow_handle(workflow_id(job_id)).result()
        self.book.wake(job_id)


async def _run_here(runner: Engine, job_id: str) -> str:
    """Run a job, as soon as no other runner has it, and return its state; heartbeats say that this worker lives."""
    job, is_told = None, False
    while job is None or not job.has_ended:
        activity.heartbeat()
        await runner.start(job_id)
        job = await runner.attach(job_id, _BEAT_S)
        if job is None:
            return "unknown here"
        if job.is_cancelled and not job.has_ended and not is_told:
            is_told = True
            await runner.cancel(job_id)
    return job.state


def workflow_id(job_id: str) -> str:
    """Return the id of the workflow of a job."""
    return f"failsoft-job-{job_id}"


def _unavailable(lost: BaseException) -> Unavailable:
    why = lost.message if isinstance(lost, RPCError) else type(lost).__name__
    hint = f"look at the Temporal server of FAILSOFT_FLEET_URL ({why})"
    return Unavailable(message="The job engine cannot be reached.", operator_hint=hint, effect="none")

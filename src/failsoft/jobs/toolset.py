"""The tools that follow jobs, on every server with an operation that declares `job`: get, cancel, list."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from failsoft.framework.call import CallContext
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.operation import operation
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError, JobNotFound, ToolError
from failsoft.framework.plugins import missing_extra
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.setting_types import fleet_of
from failsoft.jobs.answers import structured
from failsoft.jobs.desk import JobDesk, handle
from failsoft.jobs.engine import Engine, JobBook
from failsoft.jobs.record import Job, JobState
from failsoft.jobs.run import InProcess

if TYPE_CHECKING:
    from failsoft.jobs.temporal import TemporalEngine

    StateName: TypeAlias = str
else:
    StateName = Literal[tuple(state.value for state in JobState)]

FLEET_URL = "FAILSOFT_FLEET_URL"
_WAIT_AT_MOST_S = 60.0
_CANCEL_S = 1.0
_ASKED_AT_MOST = 10_000
_LISTED_AT_MOST = 50
_LOOK_EVERY_S = 5.0
_LOOK_SHARE = 0.01
"""The share of the time that looking for orphans may take."""

JobId = Annotated[str, Field(description="As the call that began the job answered it.", max_length=100)]


class Jobs(BaseTool):
    """Work that runs on after its call was answered: look at it, wait for it, end it."""

    name = "jobs"

    def __init__(self, tools: Sequence[BaseTool], make: Callable[[], Sequence[BaseTool]] | None = None) -> None:
        super().__init__(runtime=tools[0].runtime)
        self.roots: Sequence[Path] = tuple(dict.fromkeys(root for tool in tools for root in tool.roots))
        self.toolbox_of_server = Toolbox(tools)
        self._make = make
        self._desk: JobDesk | None = None
        self._looking: asyncio.Task[None] | None = None
        self._counted: dict[tuple[str, ...], float] = {}
        self._stop_counting: Callable[[], None] | None = None
        self._asked: OrderedDict[str, tuple[str, int]] = OrderedDict()
        """By job, what it was like when it was last asked for, and how often that was answered."""
        if self.runtime.settings.fleet_url is not None:
            _check_fleet(self.book)

    @property
    def desk(self) -> JobDesk:
        """Begins jobs; made when the first one is, since the store is named with the server."""
        if self._desk is None:
            book = self.book
            self._desk = JobDesk(book, self._engine(book), self.runtime.settings.job_inline_s)
        return self._desk

    @property
    def book(self) -> JobBook:
        """The records of the jobs, under the name of the server."""
        return JobBook(self.runtime.state.records(self), self.runtime.settings.job_keep_s)

    def _engine(self, book: JobBook) -> Engine:
        url = self.runtime.settings.fleet_url
        return self.runner() if url is None else _fleet_engine(url, book, self.toolbox_of_server)

    def runner(self) -> Engine:
        """Return what runs jobs here: processes that reach the store and can make the toolsets, else this one."""
        book, processes = self.book, self.runtime.settings.job_processes
        if book.is_local or not processes or self._make is None or sys.platform == "win32":
            return InProcess(book, self.toolbox_of_server)
        from failsoft.jobs.local import LocalProcesses  # noqa: PLC0415 - not on Windows, which has no fork

        return LocalProcesses(book, self.toolbox_of_server, self._make, processes=processes)

    async def startup(self) -> None:
        """Look for jobs that nobody runs, at once and then as long as the server runs."""
        self.desk.engine.warm_up()
        self._stop_counting = self.runtime.gauges.add("mcp_jobs", lambda: self._counted, refresh=self._count)
        self._looking = asyncio.create_task(self._start_orphans())

    async def shutdown(self) -> None:
        """Give back the jobs that have not ended."""
        if self._stop_counting is not None:
            self._stop_counting()
            self._stop_counting = None
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if self._desk is not None:
            await self._desk.engine.close()
            self._desk = None

    @operation(read_only=True, open_world=False, timeout=_WAIT_AT_MOST_S + 15.0, title="Get a job")
    async def get_job(
        self,
        job_id: JobId,
        call: CallContext,
        wait_s: Annotated[
            float, Field(ge=0, le=_WAIT_AT_MOST_S, description="Seconds to wait for its end before answering.")
        ] = 0.0,
    ) -> dict[str, Any]:
        """Look at a job: its state, status and progress, and once it has ended its `result`."""
        job = await self._own(job_id, call)
        if wait_s and not job.has_ended:
            waited = await self.desk.engine.attach(job_id, wait_s, lambda job: call.report_progress(*job.progress))
            job = await self._own(job_id, call) if waited is None else waited
        if not job.has_ended:
            return handle(job, wait_s=self._advice(job, wait_s))
        self._asked.pop(job_id, None)
        answer = await self.desk.engine.result(job_id)
        return {**handle(job), **({} if answer is None else {"result": structured(answer)})}

    @operation(destructive=True, idempotent=True, open_world=False, title="Cancel a job")
    async def cancel_job(self, job_id: JobId, call: CallContext) -> dict[str, Any]:
        """End a job. What has begun to change something runs to its end, and its result says so."""
        await self._own(job_id, call)
        job = await self.desk.engine.cancel(job_id)
        if job is not None and not job.has_ended:  # most runners end it at once
            job = await self.desk.engine.attach(job_id, _CANCEL_S)
        if job is None:
            raise _not_found()
        return handle(job)

    @operation(read_only=True, open_world=False, title="List jobs")
    async def list_jobs(
        self,
        call: CallContext,
        state: Annotated[
            StateName | None,
            Field(description="Only jobs in this state."),
        ] = None,
    ) -> dict[str, Any]:
        """List your jobs, the newest first."""
        jobs, total = await self.desk.book.of(call.principal, state, at_most=_LISTED_AT_MOST)
        listed = [{**handle(job), "operation": job.operation, "created_at": job.created_at} for job in jobs]
        for entry in listed:
            entry.pop("next", None)
        return {"jobs": listed, "total": total}

    async def _own(self, job_id: str, call: CallContext) -> Job:
        job = await self.desk.book.read(job_id)
        if job is None or job.caller != call.principal:
            raise _not_found()
        return job

    def _advice(self, job: Job, wait_s: float) -> float:
        """Return the wait to advise: twice that of the last answer without news, at most a minute."""
        seen = f"{job.done} {job.status}"
        last, times = self._asked.pop(job.id, (seen, 0))
        times = times + 1 if last == seen else 1
        self._asked[job.id] = (seen, times)
        if len(self._asked) > _ASKED_AT_MOST:
            self._asked.popitem(last=False)
        return min(_WAIT_AT_MOST_S, max(2.0 * wait_s, 5.0 * 2.0 ** (times - 1)))

    async def _count(self) -> None:
        """Count the jobs of the store by their state."""
        with suppress(ToolError):  # then it stays as it was
            found = await self.book.states()
            self._counted = {(str(state),): float(found[state]) for state in JobState}

    async def _start_orphans(self) -> None:
        """Start jobs that nobody runs: those of a server that has ended, and those of a process that was killed."""
        while True:
            began = time.monotonic()
            try:
                for job_id in await self.desk.book.orphans():
                    await self.desk.engine.start(job_id)
            except ToolError as lost:
                logger.debug("Jobs could not be looked for: {}", lost.operator_hint or lost.message)
            await asyncio.sleep(max(_LOOK_EVERY_S, (time.monotonic() - began) / _LOOK_SHARE))


def with_jobs(tools: Sequence[BaseTool], make: Callable[[], Sequence[BaseTool]] | None = None) -> tuple[BaseTool, ...]:
    """Return the toolsets of a server, with `Jobs` if an operation of theirs declares `job`.

    Args:
        tools: The toolsets.
        make: Makes all of these in another process; it pickles. None if only this process has them.
    """
    has_jobs = any(bound.job for tool in tools for bound in tool.operations.values())
    if not has_jobs or jobs_of(tools) is not None:
        return tuple(tools)
    return (*tools, Jobs(tools, make))


def jobs_of(tools: Sequence[BaseTool]) -> Jobs | None:
    """Return the toolset of jobs among those of a server, or None."""
    return next((tool for tool in tools if isinstance(tool, Jobs)), None)


def _not_found() -> JobNotFound:
    return JobNotFound(effect="none", next_step={"tool": "list_jobs", "arguments": {}})


def _check_fleet(book: JobBook) -> None:
    """Check what can be checked of a fleet before its engine is reached.

    Raises:
        CONFIG_ERROR: The extra is not installed, or the records are in the memory of this process.
    """
    if book.is_local:
        raise ConfigurationError(
            issue=f"{FLEET_URL} needs a state store that servers and workers share",
            resolution="set FAILSOFT_STATE_URL, to redis://... for workers on other machines",
        )
    if importlib.util.find_spec("temporalio") is None:
        raise missing_extra(extra="temporal", what=FLEET_URL, package="temporalio")


def _fleet_engine(url: str, book: JobBook, toolbox: Toolbox) -> TemporalEngine:
    """Return the engine at an address; nothing is connected yet.

    Args:
        url: `temporal://HOST:PORT/NAMESPACE`.
        book: The records of the jobs of a server.
        toolbox: Its tools.
    """
    from failsoft.jobs.temporal import TemporalEngine  # noqa: PLC0415 - an extra, and 0.3 s

    server, namespace = fleet_of(url)
    scope = book.records.scope
    queue = f"failsoft-{scope.partition('/')[0]}-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"
    return TemporalEngine(book, toolbox, server=server, namespace=namespace, queue=queue)

"""Begins jobs: validates a call, asks for consent, stores the job, starts it, and answers with its handle or response.

The part of the chain that runs here ends before the handler: `observe`, `repair`, `validate`, `admit`, the time that
its caller has left, `confirm`. The whole chain but for `admit` runs again where the handler does (`run_job`), for a
call whose arguments are those that were stored. So arguments that are refused are no job, and a question is put to the
person whose client made the call, before there is a job.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.answer.result import Result
from failsoft.framework.call import META_KEY, CallScope
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Chain, Link, Recovery, connect
from failsoft.framework.call.time_limits import inherited_deadline
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.errors import IdempotencyOutcomeUnknown, ToolError
from failsoft.framework.events import Outcome
from failsoft.framework.recorders import OperationMetrics
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import dumps
from failsoft.jobs.answers import response_from
from failsoft.jobs.engine import Engine, JobBook, OnNews
from failsoft.jobs.record import Job, new_job_id
from failsoft.recovery.idempotency.keys import KeyedHashes, checked_key, conflict, state_key

_IN_FRONT = frozenset({"observe", "repair", "validate", "admit", "confirm"})
_DEADLINE = Link("inherited_deadline", inherited_deadline, "deadline")
_FIRST_WAIT_S = 5.0
"""The `wait_s` that a handle advises, in seconds."""


class JobDesk:
    """Begins the jobs of one server.

    Args:
        book: The records.
        engine: Runs them.
        inline_s: How long a call waits for its answer before it gets the handle, in seconds.
    """

    def __init__(self, book: JobBook, engine: Engine, inline_s: float) -> None:
        self.book = book
        self.engine = engine
        self._inline_s = inline_s
        self._key: bytes | None = None

    async def call(
        self, bound: BoundOperation, params: Mapping[str, Any], scope: CallScope, *, inline_s: float | None = None
    ) -> ToolResponse[Any]:
        """Begin a job for a call, and return its own response if it ends in time, else its handle as data.

        Args:
            bound: The operation, which declares `job`.
            params: The arguments as received.
            scope: What the transport knows about the call.
            inline_s: How long to wait for the answer, in seconds; by default as the operation and the settings say.

        Returns:
            A refusal of the call; or the operation's own response; or a success whose data is `handle(job)`.
        """
        response, job = await self.begin(bound, params, scope)
        if job is None:
            return response
        if inline_s is None:
            inline_s = 0.0 if bound.job == "required" else self._inline_s
        if inline_s <= 0:
            return response
        try:
            ended = await self.engine.attach(job.id, inline_s, None if job.has_ended else _passed_on(scope))
        except asyncio.CancelledError:
            if scope.cancels():  # its caller asked for that, and has not lost the connection
                await asyncio.shield(self.engine.cancel(job.id))
            raise
        if ended is None or not ended.has_ended:
            return response
        answer = await self.engine.result(job.id)
        return response if answer is None else response_from(answer)

    async def begin(
        self, bound: BoundOperation, params: Mapping[str, Any], scope: CallScope
    ) -> tuple[ToolResponse[Any], Job | None]:
        """Begin a job for a call; return the response with its handle and the job, or the refusal and None.

        A call with an idempotency key that was sent before gets the job of that call.
        """
        begun: list[Job] = []

        async def enter(call: Call) -> dict[str, Any]:
            job, running = await self._entered(call)
            begun.append(job)
            return handle(job, running=running)

        links = [link for link in bound.chain.links if link.place in _IN_FRONT]
        links.insert(next((at for at, link in enumerate(links) if link.place == "confirm"), len(links)), _DEADLINE)
        front = bound.under_name(
            metrics=_UntilBegun(bound.metrics),
            chain=Chain(tuple(links), connect(links, enter), None, Recovery()),
            result=Result(Any),
            governed=False,
        )
        response: ToolResponse[Any] = await front.call(params, scope)
        return response, begun[-1] if begun and response.success else None

    async def _entered(self, call: Call) -> tuple[Job, str]:
        """Store and start the job of a call; return it with the id of an equal one that is still running, or ""."""
        key = checked_key(call.scope.meta[META_KEY]) if META_KEY in call.scope.meta else ""
        job = Job(
            id=new_job_id(call.principal),
            operation=call.operation,
            arguments=dumps(call.params),
            principal=call.principal or "",
            is_anonymous=call.principal is None,
            key=key,
            consent=call.told.consent,
            request_id=call.request_id,
            traceparent=call.scope.traceparent,
            created_at=utc_timestamp(),
            changed_at=utc_timestamp(),
        )
        known, running = await self._known(call, job, key)
        if known is not None and known.has_ended:
            return known, ""
        job = await self.book.open(job if known is None else known)
        try:
            await self.engine.start(job.id)
        except ToolError as lost:  # whoever looks for orphans starts it
            logger.error("A job could not be started ({}): it waits", lost.operator_hint or lost.message)
        return job, running

    async def _known(self, call: Call, job: Job, key: str) -> tuple[Job | None, str]:
        """Return the job that the key of a call belongs to, or None, and the id of an equal running one, or "".

        Raises:
            IDEMPOTENCY_CONFLICT: The key belongs to other arguments.
            IDEMPOTENCY_OUTCOME_UNKNOWN: It cannot be told whether its arguments are the same.
        """
        if self._key is None:
            self._key = state_key(call.bound.settings, self.book.records)
        hashes = KeyedHashes(call, _name(call, key), self._key)
        name = _name(call, key or hashes.text)
        stored = hashes.text if key else ""
        before = await self.book.note_same(name, job.id, stored, call.principal, is_replaced=not key)
        if before is None:
            return None, ""
        other = await self.book.read(before["id"])
        if not key:
            return None, other.id if other is not None and not other.has_ended else ""
        is_same = hashes.is_same(before["arguments"])
        if is_same is None:
            raise IdempotencyOutcomeUnknown(effect="unknown")
        if not is_same:
            raise conflict(hashes.changed(before["arguments"]), ())
        # Without a record it was never stored, or has expired: the ledger knows whether its work was done.
        return replace(job, id=before["id"]) if other is None else other, ""


class Handle(dict[str, Any]):
    """What a caller is told of a job.

    Attributes:
        job: The job.
    """

    job: Job


def handle(job: Job, *, running: str = "", wait_s: float = _FIRST_WAIT_S) -> Handle:
    """Return what a caller is told of a job: `job_id`, `state`, `status`, progress, and the call to make next.

    Args:
        job: The job.
        running: The id of an equal job that is still running.
        wait_s: The wait that the next call of `get_job` is advised to ask for, in seconds.
    """
    told = Handle({"job_id": job.id, "state": job.state, "status": job.status or _status_of(job)})
    told.job = job
    if job.done >= 0:
        told["progress"] = {"done": _plain(job.done), **({"total": _plain(job.total)} if job.total >= 0 else {})}
    if running:
        told["already_running"] = running
        told["status"] = "begun; an equal job is still running: cancel this one if the work is not meant twice"
    if not job.has_ended:
        told["next"] = {"tool": "get_job", "arguments": {"job_id": job.id, "wait_s": _plain(wait_s)}}
    return told


def _plain(number: float) -> float:
    """Return a number as people write it: 20 and not 20.0."""
    return int(number) if number.is_integer() else number


def _status_of(job: Job) -> str:
    if job.has_ended:
        return str(job.state)
    if job.is_cancelled:
        return "its end was asked for; what has begun runs to its end"
    return "running" if job.owner else "waiting for a process"


def _name(call: Call, text: str) -> str:
    """Return the name under which the job of a key, or of equal arguments, is noted."""
    whole = json.dumps([call.principal, call.operation, text]).encode(errors="replace")
    return hashlib.sha256(whole).hexdigest()[:40]


def _passed_on(scope: CallScope) -> OnNews | None:
    """Return what passes the progress of a job on to a call that waits for it, or None."""
    report = scope.report_progress
    if report is None:
        return None

    async def pass_on(job: Job) -> None:
        await report(*job.progress)

    return pass_on


class _UntilBegun:
    """The metrics of a call until its job is begun: the job itself counts as the call."""

    never_raises = True

    def __init__(self, metrics: OperationMetrics) -> None:
        self._metrics = metrics
        self.started, self.put_off, self.failed = metrics.started, metrics.put_off, metrics.failed
        self.attempted, self.recovery = metrics.attempted, metrics.recovery

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        if outcome in ("error", "rejected", "cancelled"):
            self._metrics.finished(outcome, duration_s)
        else:
            self._metrics.put_off()

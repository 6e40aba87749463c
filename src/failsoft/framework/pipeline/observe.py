"""The outermost link: turns a value or an exception into a `ToolResponse`, counts it, and logs it."""

from __future__ import annotations

import time
import types
from collections.abc import Awaitable, Callable
from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Failed, Metadata, Success
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed
from failsoft.framework.call.ports import Outcome
from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.diagnostics.telling import tell
from failsoft.framework.errors import BadOutput, ResultTooLarge, ToolError, ToolSystemError
from failsoft.framework.observability import logs
from failsoft.framework.pipeline.audit_entries import note_cancelled, recorded, success_refused
from failsoft.framework.pipeline.guidance import explain
from failsoft.framework.pipeline.next_step import propose, settle
from failsoft.framework.safe.json_safe import json_safe

# Read past any property of the exception's own class that would answer for it.
_traceback_of: Callable[[BaseException], types.TracebackType | None] = vars(BaseException)["__traceback__"].__get__
_cause_of: Callable[[BaseException], BaseException | None] = vars(BaseException)["__cause__"].__get__


async def observe(call: Call, proceed: Proceed) -> Success[Any] | Failed:
    """Run the call and return its response. Only a genuine cancellation leaves this function as an exception."""
    metrics = call.bound.metrics
    metrics.started()
    try:
        value = await proceed(call)
        response = _success(call, value)
    except BaseException as raised:
        _forget_earlier_calls(raised)
        failing = _answer_to(raised, call)
        if failing is None:
            _cancelled(call)
            raise
        return await failing  # the error has no local name here, as in `recover`: its traceback refers to this frame
    if call.bound.governed and call.bound.audit is not None and not call.read_only:
        try:
            refused = await success_refused(call, call.bound.audit)
        except BaseException:
            _abandoned(call)
            raise
        if refused is not None:
            return _failed_response(call, refused, time.perf_counter() - call.started_at)
    duration_s = response.metadata.execution_time_ms / 1000
    metrics.finished(_outcome(call), duration_s)
    logs.log_finished(call, duration_s)
    if call.error is not None:
        call.forget_errors()
    return response


def _success(call: Call, value: Any) -> Success[Any]:
    bound = call.bound
    data, blocks = bound.result.split(value)
    metadata = Metadata(
        int((time.perf_counter() - call.started_at) * 1_000_000) / 1000,
        call.cache_hit,
        call.documents_processed,
        call.warnings or [],
        call.receipt,
    )
    response = Success(True, data, None, metadata, blocks, bound.wire)  # noqa: FBT003 - positional: half the cost
    limit = call.scope.max_response_bytes
    if limit is not None:
        encoded = response.encode()
        if encoded.size_bytes > limit:
            raise ResultTooLarge(size_bytes=encoded.size_bytes, limit_bytes=limit)
        if not encoded.is_faithful and not bound.result.admits(json_safe(data)):
            raise BadOutput
    return response


def _outcome(call: Call) -> Outcome:
    if call.receipt is None:
        return "ok"
    if call.is_replayed:
        return "replayed"
    return "degraded" if call.receipt.degraded else "recovered"


def _answer_to(raised: BaseException, call: Call) -> Awaitable[Failed] | None:
    """Return the answer to an exception, to be awaited; None if the call was cancelled by its caller."""
    error = _ended_by_server(call) if is_real_cancellation(raised) else call.typed(raised)
    return None if error is None else _failure(call, error)


def _ended_by_server(call: Call) -> ToolError | None:
    ask = call.scope.ended_by_server
    return None if ask is None else ask()


def _cancelled(call: Call) -> None:
    bound = call.bound
    if bound.governed and bound.audit is not None and call.attempt and not call.read_only:
        note_cancelled(call, bound.audit)
    _abandoned(call)


def _abandoned(call: Call) -> None:
    """Count a call as cancelled: its caller has left before the response was complete."""
    call.bound.metrics.finished("cancelled", time.perf_counter() - call.started_at)
    call.forget_errors()


async def _failure(call: Call, error: ToolError) -> Failed:
    duration_s = time.perf_counter() - call.started_at
    try:
        failure = await _explained(error, call)
        try:
            await call.toolset.on_failure(failure, call)
        except BaseException as broken:  # the response is sent even if the hook raises
            if is_real_cancellation(broken):
                raise
            logs.log_broken(call, "A toolset's on_failure failed", broken, level="ERROR")
        audit = call.bound.audit
        if audit is not None:
            failure = await recorded(call, failure, audit, duration_s)
            duration_s = time.perf_counter() - call.started_at
    except BaseException:
        _abandoned(call)
        raise
    return _failed_response(call, failure, duration_s)


def _failed_response(call: Call, failure: Failure, duration_s: float) -> Failed:
    bound = call.bound
    bound.metrics.finished("replayed" if call.is_replayed else "rejected" if failure.rejected else "error", duration_s)
    bound.metrics.failed(failure.category, failure.code)
    logs.log_failed(call, failure, duration_s)
    tell(bound.alert, failure)
    call.forget_errors()
    metadata = Metadata(int(duration_s * 1_000_000) / 1000, warnings=call.warnings or [])
    response = Failed(False, None, failure, metadata, (), bound.wire)  # noqa: FBT003 - positional: half the cost
    limit = call.scope.max_response_bytes
    return response if limit is None else response.within(limit)


async def _explained(error: ToolError, call: Call) -> Failure:
    """Return the failure, even of an error whose attributes raise when read."""
    try:
        proposal = propose(error, call)
        if proposal.step is not None:
            proposal = await settle(proposal, proposal.step, error, call)
        return explain(error, call, proposal=proposal)
    except BaseException as broken:
        if is_real_cancellation(broken):
            raise
        system = ToolSystemError(component=f"the error {type(error).__name__}")
        system.__cause__ = broken
        return explain(system, call)


def _forget_earlier_calls(raised: BaseException) -> None:
    """Truncate an exception's traceback, and its cause's, to the current call.

    If an author raises one instance repeatedly, Python prepends the frames of each raise and keeps the objects of
    earlier calls alive. The first frame is the one that caught it last; another frame of that code is an older call.
    """
    for exception in (raised, _cause_of(raised)):
        link = None if exception is None else _traceback_of(exception)
        outermost = None if link is None else link.tb_frame.f_code
        while link is not None and (inner := link.tb_next) is not None:
            if inner.tb_frame.f_code is outermost:
                link.tb_next = None
                break
            link = inner

"""The outermost link: turns a value or an exception into a `ToolResponse`, counts it, and logs it."""

from __future__ import annotations

import time
import types
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from failsoft.framework import logs
from failsoft.framework.audit.calls import note_cancelled, recorded, success_refused
from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.chain import Proceed
from failsoft.framework.context import CallContext
from failsoft.framework.errors import BadOutput, ResultTooLarge, ToolError, ToolSystemError
from failsoft.framework.failure import Failure
from failsoft.framework.guidance import explain
from failsoft.framework.json_safe import json_safe
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import Outcome
from failsoft.framework.response import Metadata, ToolResponse

__all__ = ["observe"]

T = TypeVar("T")

# Read past any property of the exception's own class that would answer for it.
_traceback_of: Callable[[BaseException], types.TracebackType | None] = vars(BaseException)["__traceback__"].__get__
_cause_of: Callable[[BaseException], BaseException | None] = vars(BaseException)["__cause__"].__get__


async def observe(call: CallContext, proceed: Proceed) -> ToolResponse[Any]:
    """Run the call and return its answer. Nothing but a real cancellation leaves this function as an exception."""
    metrics = call.bound.metrics
    metrics.started()
    try:
        value = await proceed(call)
        response = _success(call, value)
    except BaseException as raised:
        _forget_earlier_calls(raised)
        ended = _ended_by_server(call) if is_real_cancellation(raised) else normalize(raised)
        if ended is None:
            _cancelled(call)
            raise
        return await _failure(call, ended)
    if call.bound.governed and call.bound.audit is not None and not call.read_only:
        refused = await _or_cancelled(call, success_refused(call, call.bound.audit))
        if refused is not None:
            return _told(call, refused, time.perf_counter() - call.started_at)
    duration_s = response.metadata.execution_time_ms / 1000
    metrics.finished(_outcome(call), duration_s)
    logs.log_finished(call, duration_s)
    return response


def _success(call: CallContext, value: Any) -> ToolResponse[Any]:
    bound = call.bound
    data, blocks = bound.result.split(value)
    metadata = Metadata(
        round((time.perf_counter() - call.started_at) * 1000, 3),
        call.cache_hit,
        call.documents_processed,
        call.warnings or [],
        call.receipt,
    )
    response = ToolResponse(True, data, None, metadata, blocks, bound.wire)  # noqa: FBT003 - positional: half the cost
    limit = call.scope.max_response_bytes
    if limit is not None:
        encoded = response.encode()
        if encoded.size_bytes > limit:
            raise ResultTooLarge(size_bytes=encoded.size_bytes, limit_bytes=limit)
        if not encoded.is_faithful and not bound.result.admits(json_safe(data)):
            raise BadOutput
    return response


def _outcome(call: CallContext) -> Outcome:
    if call.receipt is None:
        return "ok"
    return "degraded" if call.receipt.degraded else "recovered"


def _ended_by_server(call: CallContext) -> ToolError | None:
    ask = call.scope.ended_by_server
    return None if ask is None else ask()


def _cancelled(call: CallContext) -> None:
    bound = call.bound
    if bound.governed and bound.audit is not None and call.attempt and not call.read_only:
        note_cancelled(call, bound.audit)
    bound.metrics.finished("cancelled", time.perf_counter() - call.started_at)
    call.error = call.raised = None


async def _or_cancelled(call: CallContext, writing: Awaitable[T]) -> T:
    """Return what came of work on an answer; if the caller no longer waits for it, the call counts as cancelled."""
    try:
        return await writing
    except BaseException:
        call.bound.metrics.finished("cancelled", time.perf_counter() - call.started_at)
        call.error = call.raised = None
        raise


async def _heard(call: CallContext, failure: Failure) -> None:
    """Let the toolset do what the failure asks of it; the answer goes its way even if that breaks."""
    try:
        await call.toolset.on_failure(failure, call)
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        call.logger.opt(exception=error).error("A toolset's on_failure failed")


async def _failure(call: CallContext, error: ToolError) -> ToolResponse[Any]:
    duration_s = time.perf_counter() - call.started_at
    failure = _explained(error, call)
    await _or_cancelled(call, _heard(call, failure))
    audit = call.bound.audit
    if audit is not None:
        failure = await _or_cancelled(call, recorded(call, failure, audit, duration_s))
        duration_s = time.perf_counter() - call.started_at
    return _told(call, failure, duration_s)


def _told(call: CallContext, failure: Failure, duration_s: float) -> ToolResponse[Any]:
    bound = call.bound
    bound.metrics.finished("rejected" if failure.rejected else "error", duration_s)
    bound.metrics.failed(failure.category, failure.code)
    logs.log_failed(call, failure, duration_s)
    bound.alert(failure)
    call.error = call.raised = None  # their tracebacks lead back to this call: nobody else would break the circle
    metadata = Metadata(round(duration_s * 1000, 3), warnings=call.warnings or [])
    response: ToolResponse[Any] = ToolResponse(success=False, error=failure, metadata=metadata, wire=bound.wire)
    limit = call.scope.max_response_bytes
    return response if limit is None else _within(limit, response, failure)


def _explained(error: ToolError, call: CallContext) -> Failure:
    """Return the failure, even of an error that its author made in such a way that it cannot be read."""
    try:
        return explain(error, call)
    except BaseException as broken:  # noqa: BLE001 - a call always gets an answer
        system = ToolSystemError(component=f"the error {type(error).__name__}")
        system.__cause__ = broken
        return explain(system, call)


def _within(limit: int, response: ToolResponse[Any], failure: Failure) -> ToolResponse[Any]:
    """Return the response cut down to what a client accepts: first what is only for people, then what is only lists."""
    cuts: tuple[dict[str, Any], ...] = (
        {"details": None, "cause": None, "stack_trace": None, "is_cut": True},
        {"violations": failure.violations[:10]},
        {"violations": (), "suggestions": (), "next_step": None},
    )
    for cut in cuts:
        if response.encode().size_bytes <= limit:
            break
        failure = replace(failure, **cut)
        response = replace(response, error=failure, encoded=None)
    return response


def _forget_earlier_calls(raised: BaseException) -> None:
    """Cut an exception's traceback, and its cause's, where an earlier call begins.

    An author may raise one instance again and again; Python would prepend every raise to the ones before, and keep
    alive what those calls held. The frame that caught it last comes first: where its code comes again, a call begins.
    """
    for exception in (raised, _cause_of(raised)):
        link = None if exception is None else _traceback_of(exception)
        outermost = None if link is None else link.tb_frame.f_code
        while link is not None:
            if link.tb_next is not None and link.tb_next.tb_frame.f_code is outermost:
                link.tb_next = None
            link = link.tb_next

"""The handler itself: run, counted, and its value held to what the operation promises."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.content import reported_failure
from failsoft.framework.context import CallContext
from failsoft.framework.errors import Overloaded, ReportedFailure
from failsoft.framework.events import AttemptEvent
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import AttemptResult
from failsoft.framework.response import ToolResponse

__all__ = ["invoke"]


async def invoke(call: CallContext) -> Any:
    """Run the handler once and return its value.

    Raises:
        REPORTED_FAILURE: The value says that the work failed.
        BAD_OUTPUT: The value does not fit the declared return type.
    """
    bound = call.bound
    if call.attempt:
        call.begin_again()
    call.attempt = run = call.attempt + 1
    call.handler_done = False
    began = time.perf_counter() if bound.events.wants(AttemptEvent) else None
    try:
        if call.handler is not None:
            value = await _run_given(call.handler, call)
        elif bound.is_async:
            value = await bound.function(bound.tool, **bound.handler_arguments(call))
        else:
            value = await _run_in_thread(call, lambda: bound.function(bound.tool, **bound.handler_arguments(call)))
        call.handler_done = True
        value = _accepted(call, value)
    except BaseException as error:
        if call.attempt == run:
            call.run_failed(error)
            _count(call, _result_of(call, error), began)
        raise
    _count(call, "ok", began)
    for review in bound.reviews:
        await _review(review, call, value)
    return value


def _count(call: CallContext, result: AttemptResult, began: float | None) -> None:
    """Count the run that is over, and announce it if anybody listens (`began` is then when it did)."""
    bound = call.bound
    bound.metrics.attempted(result)
    if began is None:
        return
    raised = call.raised if result != "ok" else None
    event = AttemptEvent(
        tool=call.tool,
        operation=call.operation,
        request_id=call.request_id,
        attempt=call.attempt,
        result=result,
        code=normalize(raised).code if raised is not None else None,
        duration_s=time.perf_counter() - began,
    )
    bound.events.publish(event)


def _accepted(call: CallContext, value: Any) -> Any:
    """Return the value as the declared type, unless it reports a failure itself.

    The answer of another operation counts as what it says: its data, or its error.
    """
    if type(value) is ToolResponse:
        if value.error is not None:
            call.handler_done = False
            about_other_arguments = value.error.violations
            raise ReportedFailure(report=value.error.message) if about_other_arguments else value.error.exception
        value = value.data
    report = reported_failure(value)
    if report is not None:
        call.handler_done = False
        raise ReportedFailure(report=report)
    return call.bound.result.conform(value)


def _result_of(call: CallContext, error: BaseException) -> AttemptResult:
    if call.expired or issubclass(type(error), TimeoutError):
        return "timeout"
    return "cancelled" if is_real_cancellation(error) else "error"


async def _run_in_thread(call: CallContext, function: Callable[[], Any]) -> Any:
    """Run a sync handler. One that found no thread has not run: it counts as no attempt."""
    try:
        job = call.bound.threads.start(function)
    except Overloaded:
        call.attempt -= 1
        raise
    value = await job
    return await value if inspect.isawaitable(value) else value


async def _run_given(handler: Callable[..., Any], call: CallContext) -> Any:
    """Run a handler that was passed with the call: a closure without parameters, or one that takes the arguments."""
    takes_arguments = bool(inspect.signature(handler).parameters)
    arguments = call.arguments if takes_arguments else {}
    if inspect.iscoroutinefunction(handler):
        return await handler(**arguments)
    return await _run_in_thread(call, lambda: handler(**arguments))


async def _review(review: Callable[..., Any], call: CallContext, value: Any) -> None:
    """Stage 3: a plausibility check warns; it never fails a call, not even by failing itself."""
    try:
        warnings = review(call, value)
        if inspect.isawaitable(warnings):
            warnings = await warnings
        for warning in [warnings] if isinstance(warnings, str) else warnings or ():
            call.warn(warning)
    except BaseException as error:
        # The result is there, so a broken review is a remark in the log, whatever it raised.
        if is_real_cancellation(error):
            raise
        call.logger.opt(exception=error).warning("A plausibility check failed")

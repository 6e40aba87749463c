"""Runs and counts the handler, and conforms its value to the declared result type."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.answer.result import reported_failure
from failsoft.framework.call.budget import current_call
from failsoft.framework.call.call import Call
from failsoft.framework.call.ports import AttemptResult
from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.diagnostics.telling import tell
from failsoft.framework.errors import Overloaded, ReportedFailure
from failsoft.framework.observability import logs
from failsoft.framework.services.events import AttemptEvent


async def invoke(call: Call) -> Any:
    """Run the handler once and return its value.

    Raises:
        REPORTED_FAILURE: The value reports a failure, such as `{"success": false}`.
        BAD_OUTPUT: The value does not fit the declared return type.
    """
    bound = call.bound
    if call.attempt:
        call.begin_again()
    call.attempt = run = call.attempt + 1
    if not bound.marks_effects:
        call.effect_begun = True
    began = time.perf_counter() if bound.events.wants(AttemptEvent) else None
    call.is_running = True
    outer = current_call.set(call)
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
    finally:
        call.is_running = False
        current_call.reset(outer)
    budget = bound.chain.recovery.budget
    if budget is not None:
        budget.count()
    _count(call, "ok", began)
    for review in bound.reviews:
        await _review(review, call, value)
    return value


async def _run_given(handler: Callable[..., Any], call: Call) -> Any:
    """Run a handler that was passed with the call: without parameters, or with the call's arguments."""
    takes_arguments = bool(inspect.signature(handler).parameters)
    arguments = call.arguments if takes_arguments else {}
    if inspect.iscoroutinefunction(handler):
        return await handler(**arguments)
    return await _run_in_thread(call, lambda: handler(**arguments))


async def _run_in_thread(call: Call, function: Callable[[], Any]) -> Any:
    """Run a sync handler in a thread. If no thread is free, the handler has not run and no attempt is counted."""
    over = call.thread_over = Future[None]()

    def work() -> Any:
        try:
            return function()
        finally:
            over.set_result(None)

    try:
        job = call.bound.threads.start(work)
    except Overloaded:
        over.set_result(None)
        call.attempt -= 1
        raise
    value = await job
    return await value if inspect.isawaitable(value) else value


def _accepted(call: Call, value: Any) -> Any:
    """Convert the value to the declared type, unless it reports a failure.

    The response of another operation is replaced by its data, or raised as its error.
    """
    if isinstance(value, ToolResponse):
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


def _result_of(call: Call, error: BaseException) -> AttemptResult:
    if call.expired or issubclass(type(error), TimeoutError):
        return "timeout"
    return "cancelled" if is_real_cancellation(error) else "error"


def _count(call: Call, result: AttemptResult, began: float | None) -> None:
    """Count a finished run, and publish an event if there are listeners (`began` is then its start)."""
    call.bound.metrics.attempted(result)
    if began is not None:
        tell(_publish, call, result, began)


def _publish(call: Call, result: AttemptResult, began: float) -> None:
    raised = call.raised if result != "ok" else None
    event = AttemptEvent(
        tool=call.tool,
        operation=call.operation,
        request_id=call.request_id,
        attempt=call.attempt,
        result=result,
        code=call.typed(raised).code if raised is not None else None,
        duration_s=time.perf_counter() - began,
    )
    call.bound.events.publish(event)


async def _review(review: Callable[..., Any], call: Call, value: Any) -> None:
    """Stage 3: plausibility checks add warnings. They never fail a call, even if they raise."""
    try:
        warnings = await review(call, value)
        for warning in [warnings] if isinstance(warnings, str) else warnings or ():
            call.warn(warning)
    except BaseException as error:
        # The call has succeeded, so a review that raises is only logged.
        if is_real_cancellation(error):
            raise
        logs.log_broken(call, "A plausibility check failed", error)

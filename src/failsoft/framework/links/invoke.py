"""The handler itself: run, counted, and its value held to what the operation promises."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.content import reported_failure
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ReportedFailure
from failsoft.framework.ports import AttemptResult

__all__ = ["invoke"]


async def invoke(call: CallContext) -> Any:
    """Run the handler once and return its value.

    Raises:
        REPORTED_FAILURE: The value says that the work failed.
        BAD_OUTPUT: The value does not fit the declared return type.
    """
    bound = call.bound
    call.attempt += 1
    call.handler_done = False
    try:
        if call.handler is not None:
            value = await _run_given(call.handler, call)
        elif bound.is_async:
            value = await bound.function(bound.tool, **bound.handler_arguments(call))
        else:
            value = await bound.threads.run(lambda: bound.function(bound.tool, **bound.handler_arguments(call)))
        call.handler_done = True
        value = _accepted(call, value)
    except BaseException as error:
        bound.metrics.attempted(_result_of(call, error))
        raise
    bound.metrics.attempted("ok")
    for review in bound.reviews:
        await _review(review, call, value)
    return value


def _accepted(call: CallContext, value: Any) -> Any:
    """Return the value as the declared type, unless it reports a failure itself."""
    report = reported_failure(value)
    if report is not None:
        call.handler_done = False
        raise ReportedFailure(report=report)
    return call.bound.result.conform(value)


def _result_of(call: CallContext, error: BaseException) -> AttemptResult:
    if call.expired or isinstance(error, TimeoutError):
        return "timeout"
    return "cancelled" if is_real_cancellation(error) else "error"


async def _run_given(handler: Callable[..., Any], call: CallContext) -> Any:
    """Run a handler that was passed with the call: a closure without parameters, or one that takes the arguments."""
    takes_arguments = bool(inspect.signature(handler).parameters)
    arguments = call.arguments if takes_arguments else {}
    if inspect.iscoroutinefunction(handler):
        return await handler(**arguments)
    value = await call.bound.threads.run(lambda: handler(**arguments))
    return await value if inspect.isawaitable(value) else value


async def _review(review: Callable[..., Any], call: CallContext, value: Any) -> None:
    """Stage 3: a plausibility check warns; it never fails a call, not even by failing itself."""
    try:
        warnings = review(call, value)
        if inspect.isawaitable(warnings):
            warnings = await warnings
        for warning in [warnings] if isinstance(warnings, str) else warnings or ():
            call.warn(warning)
    except Exception as error:  # noqa: BLE001 - the result is there; a broken review is a remark in the log
        call.logger.opt(exception=error).warning("A plausibility check failed")

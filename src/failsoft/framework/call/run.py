"""The way of a call, link by link, outermost first. `bound.py` assembles the chain, `chain.py` says all the places.

    observe    run.py          makes the value or the exception the response; counts and logs the call
    validate   checks.py       refuses arguments that do not fit the signature or the schema
    deadline   time_limits.py  ends the rest in time
    recover    run.py          types every error and passes it to the recovery engine, which may run the rest again
    (links of strategies)      such as breakers and bulkheads; others stand before `recover`, such as caches
    check      checks.py       looks references up and runs the author's checks
    invoke     run.py          runs the handler once; of a failed run notes what it may have changed (`rerun.py`)

Back in `observe`, the call has succeeded, failed or been cancelled. `_succeeded` makes the response of the value.
`_failed` chooses the next step and counts repeats (`next_step.py`), explains the error (`explain.py`), runs the
toolset's `on_failure`, writes the audit entry (`audited.py`), then counts, logs, alerts, captures, and responds.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.narrowing import too_large
from failsoft.framework.answer.response import Failed, Metadata, Success, ToolResponse
from failsoft.framework.answer.result import reported_failure
from failsoft.framework.asking import AwaitingAnswer, awaiting_in, has_no_outcome
from failsoft.framework.asking.waiting import may_start_over
from failsoft.framework.call import META_KEY, CallScope
from failsoft.framework.call.audited import abandoned, note_left, recorded, success_refused
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, RecoveryEngine, Step
from failsoft.framework.call.explain import explain
from failsoft.framework.call.next_step import after_repeats, begun, checked, choose, remember
from failsoft.framework.call.time_limits import current_call
from failsoft.framework.errors import BadOutput, Overloaded, ReportedFailure, ToolError, ToolSystemError
from failsoft.framework.events import AttemptEvent, AttemptResult, CallEvent, Outcome
from failsoft.framework.logs import logs
from failsoft.framework.safe.author_reports import is_real_cancellation, tell
from failsoft.framework.safe.json_safe import TooLarge, json_safe
from failsoft.framework.safe.tracebacks import forget_earlier_calls

if TYPE_CHECKING:
    from failsoft.framework.answer.response import RecoveryReceipt
    from failsoft.framework.call.bound import BoundOperation
    from failsoft.framework.recent import Begun


async def observe(call: Call, proceed: Proceed) -> Success[Any] | Failed:
    """Run the call and return its response. Only a call without an outcome leaves this function with an exception."""
    bound, params = call.bound, call.params
    metrics, recent = bound.metrics, bound.recent
    metrics.started()
    known = begun(call, params) if recent.failures or recent.steps else None
    try:
        value = await proceed(call)
        response = _succeeded(call, value)
    except BaseException as raised:
        forget_earlier_calls(raised)
        failing = _answer_to(raised, call, known or begun(call, params))
        if failing is None:
            note_left(call, raised)
            raise
        return await failing  # the error has no local name here, as in `recover`: its traceback refers to this frame
    if bound.governed and bound.audit is not None and not call.read_only:
        try:
            refused = await success_refused(call, bound.audit)
        except BaseException:
            abandoned(call)
            raise
        if refused is not None:
            return _failed_response(call, refused, time.perf_counter() - call.started_at)
    if known is not None:
        recent.succeeded(known)
    duration_s = response.metadata.execution_time_ms / 1000
    receipt = call.told.receipt
    outcome = "ok" if receipt is None else _outcome(call, receipt)
    metrics.finished(outcome, duration_s)
    logs.log_finished(call, duration_s)
    if receipt is not None and bound.events.wants(CallEvent):
        tell(bound.publish_end, call, outcome, duration_s)
    if call.error is not None:
        call.forget_errors()
    return response


def _answer_to(raised: BaseException, call: Call, known: Begun | None) -> Awaitable[Failed] | None:
    """Return the answer to an exception, to be awaited; None for a call that was cancelled by its caller or put off."""
    error = None
    if is_real_cancellation(raised):
        if (ended_by_server := call.scope.ended_by_server) is not None:
            error = ended_by_server()
    elif not issubclass(type(raised), AwaitingAnswer) or not may_start_over(call):
        error = call.typed(raised)
    return None if error is None else _failed(call, error, known)


# The next links are `validate` in `checks.py`, and `deadline` or `inherited_deadline` in `time_limits.py`.


def recover(engine: RecoveryEngine) -> Step:
    """Return the link that passes every error, typed, to the engine, which can run the handler again."""

    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except BaseException as raised:
            if call.expired or has_no_outcome(raised):
                raise  # to `deadline`, which makes it DEADLINE_EXCEEDED, or to the caller
            call.error, call.retry_point = call.typed(raised), proceed
        # No local name for the error: its traceback refers to this frame, so the two would form a reference cycle.
        return await engine.recover(call.error, call)

    return step


# The next link is `check` in `checks.py`, after those of strategies; `Call.retry` runs them again from here.


async def invoke(call: Call) -> Any:
    """Run the handler once and return its value.

    Raises:
        REPORTED_FAILURE: The value reports a failure, such as `{"success": false}`.
        BAD_OUTPUT: The value does not fit the declared return type.
    """
    bound = call.bound
    if call.attempt:
        call.require_rerun_allowed()
    call.attempt = run = call.attempt + 1
    if not bound.marks_effects:
        call.effects_begun = 1
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
            _run_failed(call, error, began)
        raise
    finally:
        call.is_running = False
        current_call.reset(outer)
    if (budget := bound.chain.recovery.budget) is not None:
        budget.count()
    bound.metrics.attempted("ok")
    if began is not None:
        bound.publish_run(call, "ok", began)
    for review in bound.reviews:
        await _review(review, call, value)
    return value


async def _run_given(handler: Callable[..., Any], call: Call) -> Any:
    """Run a handler that was passed with the call: without parameters, or with the call's arguments."""
    arguments = call.arguments if inspect.signature(handler).parameters else {}
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
            call.handler_done = None
            about_other_arguments = value.error.violations
            raise ReportedFailure(report=value.error.message) if about_other_arguments else value.error.exception
        value = value.data
    result = call.bound.result
    if (report := reported_failure(value, result.schema)) is not None:
        call.handler_done = None
        raise ReportedFailure(report=report)
    return result.conform(value)


def _run_failed(call: Call, error: BaseException, began: float | None) -> None:
    """Count a run that failed.

    Raises:
        AwaitingAnswer: It did not fail, but waits for the answer of a person, and does not count.
    """
    if (waiting := awaiting_in(error)) is not None and may_start_over(call):
        call.attempt -= 1
        raise waiting from None
    call.run_failed(error)
    result: AttemptResult = "cancelled" if is_real_cancellation(error) else "error"
    if call.expired or issubclass(type(error), TimeoutError):
        result = "timeout"
    call.bound.metrics.attempted(result)
    if began is not None:
        call.bound.publish_run(call, result, began)


async def _review(review: Callable[..., Any], call: Call, value: Any) -> None:
    """Stage 3: plausibility checks add warnings. They never fail a call, even if they raise."""
    try:
        warnings = await review(call, value)
        for warning in [warnings] if isinstance(warnings, str) else warnings or ():
            call.warn(warning)
    except BaseException as error:
        if is_real_cancellation(error):
            raise
        logs.log_broken(call, "A plausibility check failed", error)


def _succeeded(call: Call, value: Any) -> Success[Any]:
    """Return the response with the value.

    Raises:
        RESULT_TOO_LARGE: The response exceeds the limit of its transport.
        BAD_OUTPUT: What JSON makes of the value does not fit the declared return type.
    """
    bound, told = call.bound, call.told
    data, blocks = bound.result.split(value)
    metadata = Metadata(
        int((time.perf_counter() - call.started_at) * 1_000_000) / 1000,
        told.cache_hit,
        told.documents_processed,
        [*told.warnings],
        told.receipt,
    )
    response = Success(True, data, None, metadata, blocks, bound.wire)  # noqa: FBT003 - positional: half the cost
    limit = call.scope.max_response_bytes
    if limit is not None:
        try:
            encoded = response.encode(limit)
        except TooLarge as found:
            raise too_large(response, 2 * found.size_bytes, limit, bound.input_schema, is_read=call.read_only) from None
        if encoded.size_bytes > limit:
            raise too_large(response, encoded.size_bytes, limit, bound.input_schema, is_read=call.read_only)
        if not encoded.is_faithful and not bound.result.admits(json_safe(data)):
            raise BadOutput
    return response


def _outcome(call: Call, receipt: RecoveryReceipt) -> Outcome:
    if call.told.is_replayed:
        return "replayed"
    return "degraded" if receipt.degraded else "recovered"


async def _failed(call: Call, error: ToolError, known: Begun | None) -> Failed:
    """Return the response with the error, explained, after the toolset's hook and the audit log have seen it."""
    duration_s = time.perf_counter() - call.started_at
    try:
        failure = await _explained(error, call, known)
        try:
            await call.toolset.on_failure(failure, call)
        except BaseException as broken:  # the response is sent even if the hook raises
            if is_real_cancellation(broken):
                raise
            logs.log_broken(call, "A toolset's on_failure failed", broken, level="ERROR")
        if (audit := call.bound.audit) is not None:
            failure = await recorded(call, failure, audit, duration_s)
            duration_s = time.perf_counter() - call.started_at
    except BaseException:
        abandoned(call)
        raise
    remember(failure, call, known)
    return _failed_response(call, failure, duration_s)


async def _explained(error: ToolError, call: Call, known: Begun | None) -> Failure:
    """Return the failure, even of an error whose attributes raise when read."""
    try:
        chosen = after_repeats(choose(error, call), error, call, known)
        if chosen.step is not None and (chosen.step.tool != call.operation or call.bound.checks):
            chosen = await checked(chosen, chosen.step, error, call)
        return explain(error, call, chosen=chosen)
    except BaseException as broken:
        if is_real_cancellation(broken):
            raise
        system = ToolSystemError(component=f"the error {type(error).__name__}")
        system.__cause__ = broken
        return explain(system, call)


def _failed_response(call: Call, failure: Failure, duration_s: float) -> Failed:
    bound = call.bound
    outcome: Outcome = "replayed" if call.told.is_replayed else "rejected" if failure.rejected else "error"
    bound.metrics.finished(outcome, duration_s)
    bound.metrics.failed(failure.category, failure.code)
    tell(logs.log_failed, call, failure, duration_s)
    if type(failure.exception).critical:
        tell(bound.alert, failure)
    if bound.events.wants(CallEvent):
        tell(bound.publish_end, call, outcome, duration_s, failure)
    if bound.captures is not None:
        tell(bound.captures.keep, call, failure)
    call.forget_errors()
    metadata = Metadata(int(duration_s * 1_000_000) / 1000, warnings=[*call.told.warnings])
    response = Failed(False, None, failure, metadata, (), bound.wire)  # noqa: FBT003 - positional: half the cost
    limit = call.scope.max_response_bytes
    return response if limit is None else response.within(limit)


async def answer_failure(
    bound: BoundOperation, error: ToolError, params: Mapping[str, Any], scope: CallScope, *, begun: bool = False
) -> Success[Any] | Failed:
    """Return the response to a call that failed outside its chain.

    Args:
        bound: The operation that was called, or a copy under the name that was called.
        error: The error to respond with.
        params: The arguments as received.
        scope: What the transport knows about the call.
        begun: Whether the handler may have run, so that the effect of the call may be unknown.
    """

    async def fail(call: Call) -> Any:
        call.attempt = call.effects_begun = int(begun)
        call.idempotency_key = scope.meta.get(META_KEY)  # which another process honors
        if begun:
            call.run_failed(error)
        raise error

    return await observe(Call(bound, params, scope), fail)

"""`Call`: the state of one call, and what its handler may ask of it; what it tells its caller is apart, in `told`."""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from failsoft.framework.answer.failure import Governance
from failsoft.framework.answer.response import RecoveryReceipt, after_receipt
from failsoft.framework.call import NOTHING_REPORTED, NOTHING_TOLD, CallContext, CallScope, CallTold, Reported
from failsoft.framework.call.effects import CallRecord, run_effect
from failsoft.framework.call.rerun import Facts, RunsLeft, effect_of_failed_run, require_rerun, worst
from failsoft.framework.clock import new_id
from failsoft.framework.errors import Effect, ToolError
from failsoft.framework.normalize import normalize
from failsoft.framework.safe.author_reports import logger, tell
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.asking.waiting import Asked
    from failsoft.framework.call.bound import BoundOperation, Toolbox
    from failsoft.framework.captures.trail import Trail

_ANSWER_S, _ANSWER_RATIO = 0.25, 0.05
"""The share of the remaining time that an outgoing request leaves, so that its own time-out fires first."""
_ENVELOPE_BYTES, _DATA_AT_LEAST_BYTES = 4_000, 1_000
"""The size reserved for the rest of a response, and the minimum size for its data."""
_WARNINGS_AT_MOST, _WARNING_LENGTH = 50, 1_000


def _of(part: str, name: str) -> Any:
    """Return the property for an attribute of a part, under the name that authors know."""
    return property(attrgetter(f"{part}.{name}"))


def _told(name: str) -> Any:
    return property(attrgetter(f"told.{name}"), lambda call, value: call.tell(**{name: value}))


class Call(CallContext):
    """One call, as seen by middleware and strategies; handlers see the members of `CallContext`.

    Attributes:
        bound: The operation that was called.
        scope: What the transport knows about the call.
        arguments: The validated arguments, as the handler gets them.
        handler: The function to run in place of the operation's, if one was given.
        loop: The event loop of the call, set when its deadline starts or its key is claimed.
        outer: The call whose handler made it; not set without one.
        forked_from: The call that it is a concurrent run of.
        asked: The question to a person, on the outermost call; not set without one.
        has_begun_below: Set if a call that its handler made may have changed something.
        under_way_below: The calls that its handler has made and that have not ended; not set without one.
        inherited_until: The deadline of the parent call, on the event loop's clock in seconds.
        expired: The number of expired time limits around the current run; above 0 nothing more may be started in it.
        runs_above: The further runs that the caller allows, shared with its other calls; None without a bound.
        is_counted: Whether the next run has been allowed and counted in `runs` already.
        record: The durable record of a call with a key.
        is_running: Whether its handler is running.
        effects_begun: How many effects may have been carried out; 1 as soon as a handler runs that marks none.
        handler_done: Whether the last run of the handler returned a value; None if that reports a failure.
        is_retried_below: Whether a call that the handler made failed after several runs.
        raised: The exception of the last run of the handler, not normalized.
        effect_so_far: The combined effect of the failed runs of the handler.
        thread_over: For a sync handler, done when its last run has ended, possibly after its call.
        trail: What it notes for its capture, on the outermost call; not set without notes.
        told: What is told besides the value or the error: warnings, receipt, stop reason.
        error: The typed error that recovery is about.
        retry_point: The part of the chain that `retry` runs again, set with the error.
        refused: The error about the changed arguments of a `retry`, which are not the caller's fault.
        started_at: When it began, on the clock of `time.perf_counter`.
    """

    __slots__ = (
        *("_last_progress", "_request_id", "_runs", "_typed", "arguments", "asked", "attempt", "bound"),
        *("deadline", "effect_so_far", "effects_begun", "error", "expired", "forked_from", "handler"),
        *("handler_done", "has_begun_below", "idempotency_key", "idempotent", "inherited_until", "is_counted"),
        *("is_retried_below", "is_running", "loop", "outer", "params", "raised", "read_only", "record", "refused"),
        *("retry_point", "runs_above", "scope", "started_at", "thread_over", "told", "trail"),
        "under_way_below",
    )

    tool: str = _of("bound", "tool_name")
    toolset: Any = _of("bound", "tool")
    operation: str = _of("bound", "name")
    session_id: str | None = _of("scope", "session_id")
    principal: str | None = _of("scope", "principal")
    cache_hit: bool | None = _told("cache_hit")
    documents_processed: int | None = _told("documents_processed")
    governance: Governance | None = _told("governance")
    retry_point: Callable[[Call], Awaitable[Any]]
    outer: Call
    asked: Asked
    has_begun_below: bool
    trail: Trail
    under_way_below: set[Call]

    def __init__(
        self,
        bound: BoundOperation,
        params: Mapping[str, Any],
        scope: CallScope,
        handler: Callable[..., Any] | None = None,
    ) -> None:
        self.bound = bound
        self.params = params
        self.scope = scope
        self.handler = handler
        self.arguments: dict[str, Any] = {}
        self.attempt = self.expired = self.effects_begun = 0
        self.read_only = bound.read_only
        self.idempotent = bound.idempotent
        self.idempotency_key: str | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.deadline: float | None = None
        self.inherited_until: float | None = None
        self.runs_above: RunsLeft | None = None
        self._runs: RunsLeft | None = None
        self.record: CallRecord | None = None
        self.is_counted = self.is_running = self.is_retried_below = False
        self.handler_done: bool | None = False
        self.raised: BaseException | None = None
        self.effect_so_far: Effect = "none"
        self.thread_over: Future[None] | None = None
        self.told = NOTHING_TOLD
        self.error: ToolError | None = None
        self.refused: ToolError | None = None
        self._typed: tuple[BaseException, ToolError] | None = None
        self.forked_from: Call | None = None
        self.started_at = time.perf_counter()

    @property
    @override
    def request_id(self) -> str:
        try:
            return self._request_id
        except AttributeError:
            self._request_id: str = self.scope.request_id or new_id()
            return self._request_id

    @property
    def toolbox(self) -> Toolbox:
        """The tools of this server."""
        return self.scope.toolbox or self.bound.tool.toolbox

    @property
    @override
    def logger(self) -> Any:
        return logger.bind(tool=self.tool, operation=self.operation, request_id=self.request_id)

    @property
    @override
    def data_limit_bytes(self) -> int | None:
        limit = self.scope.max_response_bytes  # the data is sent twice, as text and as structured content
        return None if limit is None else max(_DATA_AT_LEAST_BYTES, (limit - _ENVELOPE_BYTES) // 2)

    @override
    def remaining_s(self) -> float | None:
        # A sync handler asks from its thread, which has no running loop, so the loop of the deadline is used.
        return None if self.deadline is None or self.loop is None else max(0.0, self.deadline - self.loop.time())

    @property
    def runs(self) -> RunsLeft:
        """The further runs of this call and of the calls below it."""
        if self._runs is None:
            most = self.bound.chain.recovery.most_runs
            self._runs = RunsLeft(None if most is None else most - 1, self.runs_above)
        return self._runs

    def failed_below(self, error: ToolError, *, was_retried: bool) -> None:
        """Record the failure of a call that the handler made; what it changed is not what the handler changed."""
        self.is_retried_below |= was_retried  # the handler may still pass it on, whatever it calls next
        error.effect_is_foreign = True

    @override
    def http_timeout(self) -> float | None:
        remaining_s = self.remaining_s()
        return None if remaining_s is None else max(0.001, remaining_s - min(_ANSWER_S, _ANSWER_RATIO * remaining_s))

    @override
    def http_headers(self) -> dict[str, str]:
        ids = {"x-request-id": self.request_id, "traceparent": self.scope.traceparent}
        return {name: value for name, value in {**ids, "Idempotency-Key": self.idempotency_key}.items() if value}

    @override
    def warn(self, message: str) -> None:
        tell(self._warn, message)

    def _warn(self, message: str) -> None:
        told = self.told.warnings
        text = bounded(redact_text(str(message)[: 4 * _WARNING_LENGTH]), _WARNING_LENGTH)
        if text not in told and len(told) < _WARNINGS_AT_MOST:
            self.tell(warnings=(*told, text))

    def tell(self, **facts: Any) -> None:
        """Set facts of `told`, such as `stop_reason`."""
        if self.told is NOTHING_TOLD:
            self.told = CallTold()
        for name, value in facts.items():
            setattr(self.told, name, value)

    def recovered(self, receipt: RecoveryReceipt) -> None:
        """Record a recovery, with the changes of an earlier one."""
        before = self.told.receipt
        self.tell(receipt=receipt if before is None else after_receipt(before, receipt))

    @override
    def audit(self, **facts: Any) -> None:
        self.tell(audit_facts={**(self.told.audit_facts or {}), **facts})

    @override
    def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> Reported:
        if self.forked_from is not None:
            return self.forked_from.report_progress(done, total, message)
        reporter = self.scope.report_progress
        last = getattr(self, "_last_progress", None)
        if reporter is None or not math.isfinite(done) or (last is not None and done <= last):
            return NOTHING_REPORTED
        self._last_progress = done
        return Reported(self.bound.threads.call_in_loop(reporter, done, total, message))

    @override
    def effect(self, name: str, run: Callable[[], Any], probe: Callable[[], Any] | None = None) -> Any:
        return run_effect(self, name, run, probe)

    def facts(self, error: ToolError | None = None, *, was_retried_below: bool = False) -> Facts:
        """Return what decides whether the handler may run once more with other arguments, or without a wait."""
        is_repeatable = self.read_only or self.idempotent
        effect = "none" if self.read_only else self.effect_of(error)
        return Facts(effect, is_repeatable, None, False, self.runs.left_above, was_retried_below, self.expired > 0)  # noqa: FBT003 - by position is quicker

    async def retry(self, **changed: Any) -> Any:
        """Run the handler again with changed arguments, validated again, and return its value.

        Raises:
            ToolError: The error of the new run, or the current one if there must be none; `stop_reason` then says why.
            DEADLINE_EXCEEDED: The deadline has passed, so nothing is started.
        """
        require_rerun(self, self.facts(self.error, was_retried_below=self.is_retried_below and not changed), self.error)
        try:
            self.arguments = self.bound.arguments.validate(self.bound.with_changes(self.params, changed))
        except ToolError as refused:
            self.refused = refused
            raise
        self.runs.take()
        self.is_counted = self.attempt > 0
        return await self.retry_point(self)

    def typed(self, raised: BaseException) -> ToolError:
        """Return the typed error for an exception of this call; each exception is normalized once."""
        if issubclass(type(raised), ToolError):  # isinstance would ask `raised.__class__`, which may raise
            return raised  # type: ignore[return-value]  # the type was asked for
        if self._typed is None or self._typed[0] is not raised:
            self._typed = raised, normalize(raised, self.params)
        return self._typed[1]

    def forget_errors(self) -> None:
        """Break the reference cycles of a finished call, which tracebacks refer to."""
        self.error = self.raised = self._typed = None

    def effect_of(self, error: ToolError | None = None) -> Effect:
        """Return what the call has changed: the combined effect of all runs of the handler and of `error`."""
        if self.read_only or self.attempt == 0:
            return "none"
        if self.handler_done:
            return "applied"
        stated = None if error is None else error.effect
        return worst(self.effect_so_far, "unknown" if self.is_running else None, stated)

    def run_failed(self, raised: BaseException) -> None:
        """Record that a run of the handler ended with this exception, and what it has changed."""
        self.raised = raised
        if not self.read_only:
            self.effect_so_far = worst(self.effect_so_far, effect_of_failed_run(self, raised))

    def require_rerun_allowed(self) -> None:
        """Refuse or count a further run of the handler, whatever starts it.

        Raises:
            ToolError: The error of the last run: another could do its work twice, or is one more than allowed.
        """
        if self.is_counted:
            self.is_counted = False
        else:
            require_rerun(self, self.facts(), self.error if self.raised is None else self.typed(self.raised))
            self.runs.take()
        if not self.read_only:
            self.effect_so_far = self.effect_of()
        self.raised = None
        self.handler_done = self.is_retried_below = False

    def __copy__(self) -> Call:
        """Refuse: what ran in a copy is not counted here, so that a write could run twice."""
        msg = "a call cannot be copied; pass on the call itself, with `call.params` changed if necessary"
        raise TypeError(msg)

    def fork(self, number: int) -> Call:
        """Return a separate context for a concurrent run with this number; 0 is the first run."""
        if number:
            self.runs.take()
        self._request_id, self._runs = self.request_id, self.runs  # both are shared
        made = Call.__new__(Call)
        for name in [slot for slot in Call.__slots__ if hasattr(self, slot)]:
            setattr(made, name, getattr(self, name))
        if self.told is not NOTHING_TOLD:
            made.told = copy.copy(self.told)
        made.is_counted = number > 0 or self.is_counted
        made.forked_from = self
        made.attempt = self.attempt + number
        return made

    def join(self, forks: Sequence[Call], last: Call) -> None:
        """Merge concurrent runs: the number and effects of all, and the work of the one that decided the result.

        Args:
            forks: All forks, in the order of their numbers.
            last: The fork whose value or error is that of the call.
        """
        before = self.attempt
        self.attempt += sum(made.attempt - before - number for number, made in enumerate(forks))
        for fact in _DECISIVE:
            setattr(self, fact, getattr(last, fact))
        self.effect_so_far = worst(*[made.effect_of() if made.is_running else made.effect_so_far for made in forks])


_DECISIVE = ("_typed", "handler_done", "idempotent", "is_retried_below", "raised", "read_only", "thread_over", "told")
"""What a call keeps of the run that decided its result."""

"""`Reported`: a progress report that may be awaited."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from typing_extensions import override

from failsoft.framework.answer.failure import Governance
from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.call.effects import CallRecord, effect_in_thread, effect_on_loop
from failsoft.framework.call.rerun import Facts, RunFacts, RunsLeft, effect_of_run, why_not_rerun, worst
from failsoft.framework.clock import new_id
from failsoft.framework.errors import DeadlineExceeded, Effect, ToolError, ToolSystemError
from failsoft.framework.errors.vocabulary import StopReason
from failsoft.framework.normalize import normalize
from failsoft.framework.safe.author_reports import logger, tell
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.framework.call.bound import BoundOperation, Toolbox


class Reported:
    """A progress report that is being sent; awaiting it is optional and waits until it has been sent."""

    __slots__ = ("_sent",)

    def __init__(self, sent: Awaitable[None] | None) -> None:
        self._sent = sent

    def __await__(self) -> Generator[Any, None, None]:
        if self._sent is not None:
            yield from self._sent.__await__()


NOTHING_REPORTED = Reported(None)


class CallContext(Protocol):
    """One call. A handler asks for it by annotating a parameter with this type; it is never part of the schema.

    Middleware and recovery strategies get the same object as `failsoft.recovery.Call`, which has more members: those of
    the engine, which handlers may not rely on.

    Attributes:
        params: The arguments as received, or as repaired.
        deadline: The deadline of the call, on the event loop's clock in seconds; None without a time-out.
        attempt: The number of the current attempt, from 1.
        read_only: Whether this call changes nothing. A handler may set it depending on its arguments (a dry run).
        idempotent: Whether this call may be sent twice. A handler may set it depending on its arguments.
        idempotency_key: Of a call with a key, a key for the handler's own requests, as visible ASCII: the same in each
            repetition, and different for each caller and operation. None without a key.
    """

    if not TYPE_CHECKING:  # type checkers then reject assignments to attributes
        __slots__ = ()

    params: Mapping[str, Any]
    deadline: float | None
    attempt: int
    read_only: bool
    idempotent: bool
    idempotency_key: str | None

    @property
    def tool(self) -> str:
        """The name of the toolset."""

    @property
    def operation(self) -> str:
        """The MCP name of the tool that was called."""

    @property
    def request_id(self) -> str:
        """The id of the request; generated if the transport has none."""

    @property
    def session_id(self) -> str | None:
        """The session named by the caller, or None."""

    @property
    def principal(self) -> str | None:
        """The caller as authenticated by the transport, or None."""

    @property
    def logger(self) -> Any:
        """A loguru logger bound to this call's tool, operation and request id."""

    @property
    def data_limit_bytes(self) -> int | None:
        """The size limit of the response's data in bytes of JSON, for paging; None without a limit."""

    def remaining_s(self) -> float | None:
        """Return the seconds left before the deadline, at least 0; None without a deadline."""

    def http_timeout(self) -> float | None:
        """Return the time-out for an outgoing request in seconds: slightly less than the remaining time."""

    def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> Reported:
        """Report progress to the caller. Awaiting it is optional, so it works in sync handlers too.

        Reports that do not increase or are not numbers are dropped, because the protocol forbids them, and so are
        reports that the caller did not request.
        """

    def warn(self, message: str) -> None:
        """Add a sentence to `metadata.warnings`, about a result that is usable with a reservation."""

    def audit(self, **facts: Any) -> None:
        """Add facts to this call's audit entry, if there is one: names of what was changed, never its contents."""

    def effect(self, name: str, run: Callable[[], Any], probe: Callable[[], Any] | None = None) -> Any:
        """Run a side effect once: mark it in the record of a keyed call, run it, and store its value.

        A repetition after a crash gets the stored value; if the crash happened during the work, the probe decides.
        Await it in an async handler; in a sync handler it returns the value. Without a key it only runs the work.

        Args:
            name: Identifies the effect within the handler.
            run: Does the work; takes no arguments, sync or async; returns a JSON value.
            probe: Checks without changing anything: returns the value of the work if it was done, `failsoft.NOT_DONE`
                if not, and raises if it cannot determine that.

        Raises:
            IDEMPOTENCY_OUTCOME_UNKNOWN: The work may have been done, and the probe could not determine it.
            STATE_UNAVAILABLE: The record could not be written, so the work was not started.
        """


ProgressReporter: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


META_KEY = "dev.failsoft/idempotency-key"
"""Key of the idempotency key in a request's `_meta`."""


def _always() -> bool:
    return True


@dataclass(slots=True, kw_only=True, eq=False)
class CallScope:
    """What a transport knows about a call besides its arguments. Not to be changed.

    It is not frozen, because then each attribute would be set by a call of `object.__setattr__`.

    Args:
        request_id: The id of the request on the wire.
        session_id: The session named by the caller.
        principal: The authenticated caller.
        meta: The request's `_meta`.
        report_progress: Sends one progress notification; None if the caller did not ask for progress.
        toolbox: The tools that are served together with this one.
        max_response_bytes: Above this the response becomes RESULT_TOO_LARGE; None leaves it unencoded until needed.
        ended_by_server: Called when the call is cancelled; returns the error to respond with if the server ended it.
        cancels: Called when a keyed call is cancelled; returns whether its caller requested that, as opposed to a lost
            connection.
    """

    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    report_progress: ProgressReporter | None = None
    toolbox: Toolbox | None = None
    max_response_bytes: int | None = None
    ended_by_server: Callable[[], ToolError | None] | None = None
    cancels: Callable[[], bool] = _always


NO_SCOPE = CallScope()


@dataclass(frozen=True, slots=True)
class FailedReference:
    """An argument whose look-up found nothing: the error, the location, the kind of name, and the value."""

    error: ToolError
    path: str
    kind: str
    value: Any


_ANSWER_S, _ANSWER_RATIO = 0.25, 0.05
"""The share of the remaining time that an outgoing request leaves, so that its own time-out fires first."""


_ENVELOPE_BYTES, _DATA_AT_LEAST_BYTES = 4_000, 1_000
"""The size reserved for the rest of a response, and the minimum size for its data."""


_WARNINGS_AT_MOST = 50


_WARNING_LENGTH = 1_000


class Call(CallContext):
    """One call, as seen by middleware and strategies; handlers see the members of `CallContext`.

    Attributes:
        arguments: The validated arguments, as the handler gets them.
        expired: The number of expired time limits around the current run; above 0 nothing more may be started in it.
        warnings: The texts for `metadata.warnings`.
        loop: The event loop of the call, set when its deadline starts or its key is claimed.
        left_behind: The combined effect of the failed runs of the handler.
        raised: The exception of the last run of the handler, not normalized.
        failed_reference: The argument whose look-up found nothing.
        refused: The error about the changed arguments of a `retry`, which are not the caller's fault.
        stop_reason: Why a failed call was not run again, once decided.
        governance: Session, role and plan, once the toolset has determined them.
        record: The durable record of a call with a key.
        effect_begun: Whether something may have been changed: `effect` was called, or a handler without it runs.
        thread_over: For a sync handler, done when its last run has ended, possibly after its call.
        is_running: Whether its handler is running.
        inherited_until: The deadline of the parent call, on the event loop's clock in seconds.
        runs_above: The further runs that the caller allows, shared with its other calls; None without a bound.
        is_counted: Whether the next run has been allowed and counted in `runs` already.
        is_retried_below: Whether a call that the handler made failed after several runs.
        is_replayed: Whether the outcome is an earlier call's.
        audit_facts: The facts passed to `audit`.
    """

    __slots__ = (
        "_inner",
        "_last_progress",
        "_origin",
        "_request_id",
        "_runs",
        "_typed",
        "arguments",
        "attempt",
        "audit_facts",
        "bound",
        "cache_hit",
        "deadline",
        "documents_processed",
        "effect_begun",
        "error",
        "expired",
        "failed_reference",
        "governance",
        "handler",
        "handler_done",
        "idempotency_key",
        "idempotent",
        "inherited_until",
        "is_counted",
        "is_replayed",
        "is_retried_below",
        "is_running",
        "left_behind",
        "loop",
        "params",
        "raised",
        "read_only",
        "receipt",
        "record",
        "refused",
        "runs_above",
        "scope",
        "started_at",
        "stop_reason",
        "thread_over",
        "warnings",
    )

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
        self.read_only = bound.read_only
        self.idempotent = bound.idempotent
        self.arguments: dict[str, Any] = {}
        self.attempt = 0
        self.handler_done = False
        self.left_behind: Effect = "none"
        self.raised: BaseException | None = None
        self.deadline: float | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._origin: Call | None = None
        self._typed: tuple[BaseException, ToolError] | None = None
        self.expired = 0
        self.error: ToolError | None = None
        self.failed_reference: FailedReference | None = None
        self.stop_reason: StopReason | None = None
        self.governance: Governance | None = None
        self.audit_facts: dict[str, Any] | None = None
        self.receipt: RecoveryReceipt | None = None
        self.refused: ToolError | None = None
        self.warnings: list[str] | None = None
        self.cache_hit: bool | None = None
        self.documents_processed: int | None = None
        self.record: CallRecord | None = None
        self.idempotency_key: str | None = None
        self.effect_begun = False
        self.is_replayed = False
        self.is_running = False
        self.inherited_until: float | None = None
        self.runs_above: RunsLeft | None = None
        self._runs: RunsLeft | None = None
        self.is_counted = False
        self.is_retried_below = False
        self.thread_over: Future[None] | None = None
        self.started_at = time.perf_counter()

    @property
    @override
    def tool(self) -> str:
        return self.bound.tool_name

    @property
    def toolset(self) -> Any:
        """The toolset itself, for strategies that ask it for candidates."""
        return self.bound.tool

    @property
    @override
    def operation(self) -> str:
        return self.bound.name

    @property
    @override
    def request_id(self) -> str:
        try:
            return self._request_id
        except AttributeError:
            self._request_id: str = self.scope.request_id or new_id()
            return self._request_id

    @property
    @override
    def session_id(self) -> str | None:
        return self.scope.session_id

    @property
    @override
    def principal(self) -> str | None:
        return self.scope.principal

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
        # A sync handler calls this from its thread, which has no running loop, so the loop of the deadline is used.
        now = self.loop.time() if self.loop is not None else self.bound.clock()
        return None if self.deadline is None else max(0.0, self.deadline - now)

    @property
    def runs(self) -> RunsLeft:
        """The further runs of this call and of the calls below it."""
        if self._runs is None:
            most = self.bound.chain.recovery.most_runs
            self._runs = RunsLeft(None if most is None else most - 1, self.runs_above)
        return self._runs

    @property
    def runs_left(self) -> int | None:
        """The number of runs left, including this one; None without a bound."""
        left = self.runs.left
        return None if left is None else left + 1

    def failed_below(self, error: ToolError, *, was_retried: bool) -> None:
        """Record the failure of a call that the handler made; what it changed is not what the handler changed."""
        self.is_retried_below |= was_retried  # the handler may still pass it on, whatever it calls next
        error.effect_is_foreign = True

    def end_by(self, until: float) -> None:
        """Reduce the remaining time to end at `until`, on the event loop's clock in seconds."""
        self.inherited_until = until if self.inherited_until is None else min(self.inherited_until, until)

    @override
    def http_timeout(self) -> float | None:
        remaining_s = self.remaining_s()
        return None if remaining_s is None else max(0.001, remaining_s - min(_ANSWER_S, _ANSWER_RATIO * remaining_s))

    def set_deadline(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> float:
        """Start the deadline of the call and return it, on the loop's clock in seconds."""
        self.loop, self.deadline = loop, loop.time() + limit_s
        return self.deadline

    @override
    def warn(self, message: str) -> None:
        tell(self._warn, message)

    def _warn(self, message: str) -> None:
        if self.warnings is None:
            self.warnings = []
        text = bounded(redact_text(str(message)[: 4 * _WARNING_LENGTH]), _WARNING_LENGTH)
        if text not in self.warnings and len(self.warnings) < _WARNINGS_AT_MOST:
            self.warnings.append(text)

    @override
    def audit(self, **facts: Any) -> None:
        self.audit_facts = {**(self.audit_facts or {}), **facts}

    @override
    def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> Reported:
        if self._origin is not None:
            return self._origin.report_progress(done, total, message)
        reporter = self.scope.report_progress
        last = getattr(self, "_last_progress", None)
        if reporter is None or not math.isfinite(done) or (last is not None and done <= last):
            return NOTHING_REPORTED
        self._last_progress = done
        return Reported(self.bound.threads.call_in_loop(reporter, done, total, message))

    @override
    def effect(self, name: str, run: Callable[[], Any], probe: Callable[[], Any] | None = None) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return effect_in_thread(self, name, run, probe)
        return effect_on_loop(self, name, run, probe)

    def facts(self, error: ToolError | None = None, *, was_retried_below: bool = False) -> Facts:
        """Return what decides whether the handler may run once more with other arguments, or without a wait."""
        runs_left = None if self.runs_above is None else self.runs_above.left
        is_repeatable = self.read_only or self.idempotent
        effect = "none" if self.read_only else self.effect_of(error)
        return Facts(effect, is_repeatable, None, False, runs_left, was_retried_below, self.expired > 0)  # noqa: FBT003 - by position is quicker

    async def retry(self, **changed: Any) -> Any:
        """Run the handler again with changed arguments, validated again, and return its value.

        Raises:
            ToolError: The error of the new run, or the current one if there must be none; `stop_reason` then says why.
            DEADLINE_EXCEEDED: The deadline has passed, so nothing is started.
        """
        was_retried_below = self.is_retried_below and not changed
        self._require_rerun(self.facts(self.error, was_retried_below=was_retried_below), self.error)
        try:
            self.arguments = self.bound.arguments.validate(self.bound.with_changes(self.params, changed))
        except ToolError as refused:
            self.refused = refused
            raise
        self.runs.take()
        self.is_counted = self.attempt > 0
        return await self._inner(self)

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
        return worst(self.left_behind, "unknown" if self.is_running else None, stated)

    def run_failed(self, raised: BaseException) -> None:
        """Record that a run of the handler ended with this exception, and what it has changed."""
        self.raised = raised
        if not self.read_only:
            error, bound = self.typed(raised), self.bound
            run = RunFacts(
                stated=error.effect,
                is_own=issubclass(type(raised), ToolError) and not error.effect_is_foreign,
                atomic=bound.atomic,
                marks_effects=bound.marks_effects,
                has_begun=self.effect_begun,
                has_ended=bound.is_async or not issubclass(type(raised), asyncio.CancelledError),
            )
            self.left_behind = worst(self.left_behind, effect_of_run(run))

    def begin_again(self) -> None:
        """Refuse or count a further run of the handler, whoever starts it.

        Raises:
            ToolError: The error of the last run: another could do its work twice, or is one more than allowed.
        """
        if self.is_counted:
            self.is_counted = False
        else:
            self._require_rerun(self.facts(), self.error if self.raised is None else self.typed(self.raised))
            self.runs.take()
        if not self.read_only:
            self.left_behind = self.effect_of()
        self.raised = None
        self.handler_done = self.is_retried_below = False

    def _require_rerun(self, facts: Facts, error: ToolError | None) -> None:
        """Raise the error of the call, and note the reason, if the handler must not run again."""
        reason = why_not_rerun(facts)
        if reason is None:
            return
        self.stop_reason = reason
        if reason == "deadline":
            raise DeadlineExceeded(limit_s=self.bound.timeout_s or 0.0)
        try:
            raise error or ToolSystemError(component="something that runs a handler twice")
        finally:
            del error  # its traceback holds this frame: a reference cycle

    def recovered(self, receipt: RecoveryReceipt) -> None:
        """Record a recovery; changes of an earlier receipt are kept in the new one."""
        if self.receipt is not None and self.receipt.changed:
            message = bounded(f"{self.receipt.message}; {receipt.message}")
            receipt = replace(receipt, message=message, changed={**self.receipt.changed, **receipt.changed})
        self.receipt = receipt

    def set_retry_point(self, inner: Callable[[Call], Awaitable[Any]], error: ToolError) -> None:
        """Set the error, and the part of the chain that `retry` runs again."""
        self._inner = inner
        self.error = error


_JOINED = (
    *("audit_facts", "cache_hit", "documents_processed", "governance", "handler_done", "idempotent", "raised"),
    *("_typed", "is_retried_below", "read_only", "receipt", "thread_over", "warnings"),
)
"""Attributes that the call copies from the context of a run."""


_FORKED = (
    *("arguments", "audit_facts", "deadline", "error", "governance", "idempotent", "left_behind", "read_only"),
    *("inherited_until", "receipt", "record", "runs_above", "started_at"),
)
"""Initial attributes of the context of a concurrent run."""


def fork(call: Call, number: int) -> Call:
    """Return a separate context for a concurrent run with this number; 0 is the first run."""
    if number:
        call.runs.take()
    made = Call(call.bound, call.params, call.scope, call.handler)
    made._request_id = call.request_id  # noqa: SLF001 - a part of the class, in a file of its own
    made._origin = call  # noqa: SLF001 - the same
    made._runs = call.runs  # noqa: SLF001 - the same
    made.is_counted = number > 0 or call.is_counted
    made.loop = call.loop
    made.attempt = call.attempt + number
    made.warnings = list(call.warnings) if call.warnings else None
    for fact in _FORKED:
        setattr(made, fact, getattr(call, fact))
    return made


def join(call: Call, forks: Sequence[Call], last: Call) -> None:
    """Merge concurrent runs: the number and effects of all, and the facts of the one that decided the result.

    Args:
        call: The call that they are runs of.
        forks: All forks, in the order of their numbers.
        last: The fork whose value or error is that of the call.
    """
    before = call.attempt
    call.attempt += sum(made.attempt - before - number for number, made in enumerate(forks))
    for fact in _JOINED:
        setattr(call, fact, getattr(last, fact))
    call.left_behind = worst(
        *(made.left_behind for made in forks), *(made.effect_of() for made in forks if made.is_running)
    )

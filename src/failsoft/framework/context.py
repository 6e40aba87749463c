"""`CallContext`: the state of one call, and what a handler, a middleware or a strategy is given."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from failsoft.framework.errors import DeadlineExceeded, Effect, ToolError, ToolSystemError
from failsoft.framework.governance import Governance
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import CalledOperation, Neighbors
from failsoft.framework.receipt import RecoveryReceipt
from failsoft.framework.stop_reason import StopReason
from failsoft.framework.text import bounded

__all__ = ["LOCAL_PRINCIPAL", "NO_SCOPE", "CallContext", "CallScope", "ProgressReporter"]

ProgressReporter: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
LOCAL_PRINCIPAL = "local"
"""Who calls over stdio or in memory, where there is a single client: whoever runs this process."""
_WARNINGS_AT_MOST = 50
_WARNING_LENGTH = 1_000
_WORST: tuple[Effect, ...] = ("none", "unknown", "applied")
_JOINED = (
    *("audit_facts", "cache_hit", "documents_processed", "governance", "handler_done", "idempotent", "raised"),
    *("read_only", "receipt", "warnings"),
)
"""What a run finds out, and the call takes over."""
_FORKED = (
    *("arguments", "audit_facts", "deadline", "error", "governance", "idempotent", "left_behind", "read_only"),
    *("receipt", "started_at"),
)
"""What a run beside others begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScope:
    """What a transport knows about a call besides its arguments.

    Args:
        request_id: The id of the request on the wire.
        session_id: The session named by the caller.
        principal: Who is calling, as authenticated.
        meta: The request's `_meta`.
        report_progress: Sends one progress notification; None if the caller did not ask for progress.
        toolbox: The tools that are served together with this one.
        max_response_bytes: Above this the answer becomes RESULT_TOO_LARGE; None leaves it unencoded until asked.
        ended_by_server: Asked when the call is cancelled: what to answer with if the server itself has ended it.
    """

    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    report_progress: ProgressReporter | None = None
    toolbox: Neighbors | None = None
    max_response_bytes: int | None = None
    ended_by_server: Callable[[], ToolError | None] | None = None


NO_SCOPE = CallScope()


class CallContext:
    """One call. A handler asks for it by annotating a parameter with this type; it is never part of the schema.

    Attributes:
        params: The arguments as received; once they were repaired, the repaired ones.
        arguments: The arguments after validation, as the handler gets them.
        deadline: When the call has to be over, on the event loop's clock in seconds; None without a time-out.
        attempt: How often the handler has been started, this time included.
        expired: How many limits around the present run have run out: above 0 nothing more may be started in it.
        warnings: What `metadata.warnings` will say.
        left_behind: What the runs of the handler that failed may have left behind, all together.
        raised: What the last run of the handler raised, as it was.
        refused: What the changed arguments of a `retry` were refused with: no fault of the caller's.
        read_only: Whether this call changes nothing. A handler that learns so from its arguments (a dry run) sets it.
        idempotent: Whether this call may be sent twice. A handler that learns so from its arguments sets it.
        stop_reason: Why a failed call was not run again, once somebody has decided that.
        governance: Session, role and plan, once the toolset has found them out.
        audit_facts: What `audit` was told.
    """

    __slots__ = (
        "_inner",
        "_last_progress",
        "_loop",
        "_origin",
        "_request_id",
        "arguments",
        "attempt",
        "audit_facts",
        "bound",
        "cache_hit",
        "deadline",
        "documents_processed",
        "error",
        "expired",
        "governance",
        "handler",
        "handler_done",
        "idempotent",
        "left_behind",
        "params",
        "raised",
        "read_only",
        "receipt",
        "refused",
        "scope",
        "started_at",
        "stop_reason",
        "warnings",
    )

    def __init__(
        self,
        bound: CalledOperation,
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
        self._loop: asyncio.AbstractEventLoop | None = None
        self._origin: CallContext | None = None
        self.expired = 0
        self.error: ToolError | None = None
        self.stop_reason: StopReason | None = None
        self.governance: Governance | None = None
        self.audit_facts: dict[str, Any] | None = None
        self.receipt: RecoveryReceipt | None = None
        self.refused: ToolError | None = None
        self.warnings: list[str] | None = None
        self.cache_hit: bool | None = None
        self.documents_processed: int | None = None
        self.started_at = time.perf_counter()

    @property
    def tool(self) -> str:
        """The name of the toolset."""
        return self.bound.tool_name

    @property
    def toolset(self) -> Any:
        """The toolset itself, for strategies that ask it for candidates."""
        return self.bound.tool

    @property
    def operation(self) -> str:
        """The MCP name of the tool that was called."""
        return self.bound.name

    @property
    def request_id(self) -> str:
        """The id of the request; one is made up where the transport has none."""
        try:
            return self._request_id
        except AttributeError:
            self._request_id: str = self.scope.request_id or os.urandom(8).hex()
            return self._request_id

    @property
    def session_id(self) -> str | None:
        """The session named by the caller, or None."""
        return self.scope.session_id

    @property
    def principal(self) -> str | None:
        """Who is calling, as the transport authenticated them, or None."""
        return self.scope.principal

    @property
    def toolbox(self) -> Neighbors:
        """The tools of this server."""
        return self.scope.toolbox or self.bound.tool.toolbox

    @property
    def logger(self) -> Any:
        """A loguru logger bound to this call's tool, operation and request id."""
        from loguru import logger  # noqa: PLC0415 - only calls that log pay for it

        return logger.bind(tool=self.tool, operation=self.operation, request_id=self.request_id)

    def remaining_s(self) -> float | None:
        """Return the seconds that are left before the deadline, at least 0; None without a deadline."""
        if self.deadline is None:
            return None
        # A sync handler asks from its thread, where no loop runs: the one that set the deadline knows the time.
        now = self._loop.time() if self._loop is not None else self.bound.clock()
        return max(0.0, self.deadline - now)

    def set_deadline(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> float:
        """Begin the total deadline and return when it is, on the loop's clock in seconds."""
        self._loop = loop
        self.deadline = loop.time() + limit_s
        return self.deadline

    def warn(self, message: str) -> None:
        """Add a sentence to `metadata.warnings`: the result is usable, and the caller should know this about it."""
        if self.warnings is None:
            self.warnings = []
        text = bounded(str(message), _WARNING_LENGTH)
        if text not in self.warnings and len(self.warnings) < _WARNINGS_AT_MOST:
            self.warnings.append(text)

    def audit(self, **facts: Any) -> None:
        """Add facts to this call's entry in the audit log, if it gets one: what was touched, never what is in it."""
        self.audit_facts = {**(self.audit_facts or {}), **facts}

    def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> _Reported:
        """Tell the caller how far the call is; await it, or not: it works from sync handlers too.

        A report that does not increase, or is no number, is dropped (the protocol forbids it), as is any for a caller
        who did not ask.
        """
        if self._origin is not None:
            return self._origin.report_progress(done, total, message)
        reporter = self.scope.report_progress
        last = getattr(self, "_last_progress", None)
        if reporter is None or not math.isfinite(done) or (last is not None and done <= last):
            return _NOTHING_REPORTED
        self._last_progress = done
        return _Reported(self.bound.threads.call_in_loop(reporter, done, total, message))

    def may_run_again(self, error: ToolError) -> bool:
        """Return whether running the handler again cannot do the work twice (the idempotency guard)."""
        if self.read_only or self.idempotent or self.attempt == 0:
            return True
        return self.worst_effect(error) == "none"

    async def retry(self, **changed: Any) -> Any:
        """Run the handler again with changed arguments, validated anew, and return its value.

        Raises:
            ToolError: What the new run raised, or the present error if running again could do the work twice.
            DEADLINE_EXCEEDED: The call is over; nothing more is started for it.
        """
        if self.expired:
            raise DeadlineExceeded(limit_s=self.bound.timeout_s or 0.0)
        if self.error is not None and not self.may_run_again(self.error):
            raise self.error
        try:
            self.arguments = self.bound.arguments.validate(self.bound.with_changes(self.params, changed))
        except ToolError as refused:
            self.refused = refused
            raise
        return await self._inner(self)

    def worst_effect(self, error: ToolError | None) -> Effect:
        """Return what all runs of the handler together may have left behind; `error` may say more than they did."""
        if self.handler_done:
            return "applied"
        told: Any = None if error is None else error.effect
        if told not in _WORST:  # a run that was started, and of whose end nothing was noted, may have done anything
            told = "unknown" if self.attempt and self.raised is None else "none"
        return max(self.left_behind, told, key=_WORST.index)

    def run_failed(self, raised: BaseException) -> None:
        """Note that a run of the handler ended with this exception; what it left behind is unknown, unless it says."""
        self.raised = raised
        if not self.read_only:
            left: Any = normalize(raised).effect
            self.left_behind = max(self.left_behind, left if left in _WORST else "unknown", key=_WORST.index)

    def begin_again(self) -> None:
        """Hold every further run of the handler to the idempotency guard, whoever asked for it.

        Raises:
            ToolError: What the last run raised, where another one could do its work twice.
        """
        if not self.read_only:
            self.left_behind = self.worst_effect(None)
            if self.left_behind != "none" and not self.idempotent:
                if self.raised is not None:
                    raise normalize(self.raised)
                raise ToolSystemError(component="something that runs a handler twice")
        self.raised = None

    def recovered(self, receipt: RecoveryReceipt) -> None:
        """Note what was done in place of failing; what was changed before stays in the receipt."""
        if self.receipt is not None and self.receipt.changed:
            message = bounded(f"{self.receipt.message}; {receipt.message}")
            receipt = replace(receipt, message=message, changed={**self.receipt.changed, **receipt.changed})
        self.receipt = receipt

    def fork(self, number: int) -> CallContext:
        """Return a context of its own for a run beside others, the `number`-th further one (0 is the first run)."""
        fork = CallContext(self.bound, self.params, self.scope, self.handler)
        fork._request_id = self.request_id
        fork._origin = self
        fork._loop = self._loop
        fork.attempt = self.attempt + number
        fork.warnings = list(self.warnings) if self.warnings else None
        for fact in _FORKED:
            setattr(fork, fact, getattr(self, fact))
        return fork

    def join(self, forks: Sequence[CallContext], last: CallContext) -> None:
        """Take over what came of runs beside each other: the runs of all, and the facts of the one that decided.

        Args:
            forks: All of them, in the order of their numbers.
            last: The one whose value or error is the call's.
        """
        before = self.attempt
        self.attempt += sum(fork.attempt - before - number for number, fork in enumerate(forks))
        for fact in _JOINED:
            setattr(self, fact, getattr(last, fact))
        self.left_behind = max((fork.left_behind for fork in forks), key=_WORST.index)

    def resume_at(self, inner: Callable[[CallContext], Awaitable[Any]], error: ToolError) -> None:
        """Note the error and the part of the chain that `retry` runs again."""
        self._inner = inner
        self.error = error


class _Reported:
    """A progress report under way: awaiting it waits until it was sent; not awaiting it is fine."""

    __slots__ = ("_sent",)

    def __init__(self, sent: Awaitable[None] | None) -> None:
        self._sent = sent

    def __await__(self) -> Generator[Any, None, None]:
        if self._sent is not None:
            yield from self._sent.__await__()


_NOTHING_REPORTED = _Reported(None)

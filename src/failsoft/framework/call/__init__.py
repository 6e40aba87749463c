"""One call: what its handler sees of it, and what its transport says about it; `run` tells its way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import asyncio

    from failsoft.framework.answer.candidates import FailedReference
    from failsoft.framework.answer.failure import Governance
    from failsoft.framework.answer.response import RecoveryReceipt
    from failsoft.framework.asking import Ask
    from failsoft.framework.call.bound import Toolbox
    from failsoft.framework.captures.script import Script
    from failsoft.framework.errors import ToolError
    from failsoft.framework.errors.vocabulary import StopReason


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

    Examples:
        >>> class Shelf(BaseTool):
        ...     @operation(read_only=True, timeout=5.0)
        ...     async def count(self, title: str, call: CallContext) -> int:
        ...         "Count the copies of a book."
        ...         call.warn("Lent copies are not counted.")
        ...         return 2
        >>> asyncio.run(Shelf().count(title="Dune")).metadata.warnings
        ['Lent copies are not counted.']
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

    def http_headers(self) -> dict[str, str]:
        """Return headers for an outgoing request, which let others follow the call and tell its repetitions.

        `x-request-id`; `traceparent` if the call is part of a trace; `Idempotency-Key` of a call with a key.
        """

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
        Await it in an async handler; in a sync handler it returns the value. Without a key it only runs the work. If a
        service answers that it did not do it (401, 403, 404, 409, 422, 429), nothing counts as changed.

        Args:
            name: Identifies the effect within the handler.
            run: Does the work, with one request; takes no arguments, sync or async; returns a JSON value.
            probe: Checks without changing anything: returns the value of the work if it was done, `failsoft.NOT_DONE`
                if not, and raises if it cannot determine that.

        Raises:
            IDEMPOTENCY_OUTCOME_UNKNOWN: The work may have been done, and the probe could not determine it.
            STATE_UNAVAILABLE: The record could not be written, so the work was not started.
        """


class Reported:
    """A progress report that is being sent; awaiting it is optional and waits until it has been sent."""

    __slots__ = ("_sent",)

    def __init__(self, sent: Awaitable[None] | None) -> None:
        self._sent = sent

    def __await__(self) -> Generator[Any, None, None]:
        if self._sent is not None:
            yield from self._sent.__await__()


NOTHING_REPORTED = Reported(None)


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
        request_id: The id that the caller sent for the request, or one that the transport made.
        traceparent: The W3C trace context that the call continues; empty if there is none.
        session_id: The session named by the caller.
        principal: The authenticated caller.
        meta: The request's `_meta`.
        report_progress: Sends one progress notification; None if the caller did not ask for progress.
        ask: Puts a question to the person who uses the client; None if the client of this request cannot ask a person.
        toolbox: The tools that are served together with this one.
        max_response_bytes: Above this the response becomes RESULT_TOO_LARGE; None leaves it unencoded until needed.
        ended_by_server: Called when the call is cancelled; returns the error to respond with if the server ended it.
        sends_key: Whether the caller itself could send the idempotency key in `meta` again.
        consent: What a person has consented to before the call was made, see `consent_to`; empty without a consent.
        cancels: Called when a keyed call is cancelled; returns whether its caller requested that, as opposed to a lost
            connection.
        script: Answers marked effects and `Chaos` from a capture, in a replay.

    Attributes:
        left_running: Tasks of keyed calls that still run after their caller was cancelled; set by the call.
    """

    request_id: str | None = None
    traceparent: str = ""
    session_id: str | None = None
    principal: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    report_progress: ProgressReporter | None = None
    ask: Ask | None = None
    toolbox: Toolbox | None = None
    max_response_bytes: int | None = None
    ended_by_server: Callable[[], ToolError | None] | None = None
    sends_key: bool = True
    consent: str = ""
    cancels: Callable[[], bool] = _always
    script: Script | None = None
    left_running: tuple[asyncio.Task[Any], ...] = field(default=(), init=False)

    @property
    def trace_id(self) -> str | None:
        """The trace that the call is part of, as 32 hexadecimal digits; None if there is none."""
        return self.traceparent[3:35] or None


NO_SCOPE = CallScope()


@dataclass(slots=True, eq=False)
class CallTold:
    """What a call tells its caller, and its operator, besides its value or error.

    Args:
        warnings: The texts for `metadata.warnings`.
        receipt: Of a recovery.
        cache_hit: For the metadata of the response.
        documents_processed: The same.
        is_replayed: Whether the outcome is an earlier call's.
        stop_reason: Why a failed call was not run again, once decided.
        failed_reference: The argument whose look-up found nothing.
        governance: Session, role and plan, once the toolset has determined them.
        audit_facts: The facts passed to `audit`.
        consent: What a person who was asked has consented to; empty without a consent.
    """

    warnings: tuple[str, ...] = ()
    receipt: RecoveryReceipt | None = None
    cache_hit: bool | None = None
    documents_processed: int | None = None
    is_replayed: bool = False
    stop_reason: StopReason | None = None
    failed_reference: FailedReference | None = None
    governance: Governance | None = None
    audit_facts: Mapping[str, Any] | None = None
    consent: str = ""


NOTHING_TOLD = CallTold()
"""Of every plain call."""

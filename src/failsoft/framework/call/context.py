"""`CallContext`: what a handler sees of its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.framework.call.progress_report import Reported

__all__ = ["CallContext"]


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

"""What the call path needs from its surroundings, as protocols. `metrics`, `recovery` and users implement them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.events import Events
from failsoft.framework.failure import Failure
from failsoft.framework.result import Result
from failsoft.framework.state_port import StateStore
from failsoft.framework.threads import ThreadPool

if TYPE_CHECKING:
    from failsoft.framework.settings import Settings

__all__ = [
    "AlertSink",
    "Arguments",
    "AttemptResult",
    "AuditTrail",
    "CalledOperation",
    "Neighbors",
    "NullMetrics",
    "OperationMetrics",
    "Outcome",
    "Recorder",
    "RecoveryOutcome",
    "RunBudget",
]

Outcome: TypeAlias = Literal["ok", "recovered", "degraded", "error", "rejected", "cancelled"]
AttemptResult: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
RecoveryOutcome: TypeAlias = Literal["recovered", "failed", "skipped"]


class OperationMetrics(Protocol):
    """The recorder of one operation, with its labels bound; every method is cheap and should not raise.

    A class that says `never_raises = True` is called as it is; any other stands behind a guard.
    """

    def started(self) -> None:
        """Count a call as in flight."""

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a call as over, with its outcome and its duration in seconds."""

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""

    def failed(self, category: str, code: str) -> None:
        """Count an error that the caller was told."""

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""


class Recorder(Protocol):
    """Gives every operation its own bound recorder, once, when the tool is made."""

    def bind(self, tool: str, operation: str) -> OperationMetrics:
        """Return the recorder for one operation of one toolset."""


class NullMetrics:
    """Records nothing; both a `Recorder` and an `OperationMetrics`."""

    never_raises = True

    def bind(self, tool: str, operation: str) -> NullMetrics:  # noqa: ARG002 - the protocol's signature
        """Return itself."""
        return self

    def started(self) -> None:
        """Do nothing."""

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Do nothing."""

    def attempted(self, result: AttemptResult) -> None:
        """Do nothing."""

    def failed(self, category: str, code: str) -> None:
        """Do nothing."""

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Do nothing."""


@runtime_checkable
class AlertSink(Protocol):
    """Where alerts on critical failures go. Called off the call's path, from the alert thread."""

    name: str

    def send(self, failure: Failure, *, suppressed: int) -> None:
        """Deliver one alert, with how many equal ones were held back; may block and may raise (it is logged)."""


class AuditTrail(Protocol):
    """Where failures are put on record before their callers learn of them; `AuditLog` is the real one."""

    async def record(self, facts: Mapping[str, Any]) -> None:
        """Write an entry, and return when it is safe.

        Raises:
            AUDIT_LOG_FAILED: It could not be written.
            AUDIT_LOCK_FAILED: Another process held the log for too long.
        """

    def note(self, facts: Mapping[str, Any]) -> None:
        """Have an entry written without waiting for it."""


class Arguments(Protocol):
    """The declared arguments of an operation, whatever they were declared with."""

    @property
    def schema(self) -> dict[str, Any]:
        """Their JSON Schema, an object."""

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments as the handler gets them.

        Raises:
            INVALID_PARAM: With all violations.
        """


class RunBudget(Protocol):
    """How many further runs are allowed, over all calls that share it; `RetryBudget` gives an operation its own."""

    async def withdraw(self) -> bool:
        """Take a token for one further run; return whether there was one."""


class CalledOperation(Protocol):
    """What a call and its links know of the operation that was called; `BoundOperation` is the real one."""

    name: str
    tool_name: str
    tool: Any
    read_only: bool
    idempotent: bool
    is_async: bool
    function: Callable[..., Any]
    timeout_s: float | None
    arguments: Arguments
    result: Result
    reviews: tuple[Callable[[Any, Any], Any], ...]
    audit: AuditTrail | None
    governed: bool
    metrics: OperationMetrics
    threads: ThreadPool
    state: StateStore
    events: Events
    budget: RunBudget | None
    settings: Settings
    wire: Any
    clock: Callable[[], float]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""

    def handler_arguments(self, call: Any) -> dict[str, Any]:
        """Return what the handler is called with."""

    def with_changes(self, params: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with changes in them, under any name of their parameters."""

    def alert(self, failure: Failure) -> None:
        """Pass a critical failure on to the alert sinks."""


class Neighbors(Protocol):
    """The tools that are served together; `Toolbox` is the real one."""

    @property
    def names(self) -> tuple[str, ...]:
        """The MCP tool names, in the order of registration."""

    def find(self, name: str) -> CalledOperation | None:
        """Return the operation of that MCP name, or None."""

    def closest(self, name: str) -> str | None:
        """Return the MCP name that is most like this one, or None."""

    def __iter__(self) -> Iterator[CalledOperation]: ...

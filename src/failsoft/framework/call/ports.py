"""Protocols that the call path uses, implemented by `metrics`, `recovery` and users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.result import Result
from failsoft.framework.services.events import Events
from failsoft.framework.services.state import StateStore
from failsoft.framework.services.threads import ThreadPool

if TYPE_CHECKING:
    from failsoft.framework.services.settings import Settings

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

Outcome: TypeAlias = Literal["ok", "replayed", "recovered", "degraded", "error", "rejected", "cancelled"]
AttemptResult: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
RecoveryOutcome: TypeAlias = Literal["recovered", "failed", "skipped"]


class OperationMetrics(Protocol):
    """The recorder of one operation, with its labels bound; every method is cheap and should not raise.

    A class with `never_raises = True` is called directly; any other is wrapped in a guard.
    """

    def started(self) -> None:
        """Count a call as in flight."""

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a finished call, with its outcome and its duration in seconds."""

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""

    def failed(self, category: str, code: str) -> None:
        """Count an error that was returned to the caller."""

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""


class Recorder(Protocol):
    """Creates a bound recorder for each operation, once, when the toolset is created."""

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
    """A destination of alerts on critical failures. Called from the alert thread, not during a call."""

    name: str

    def send(self, failure: Failure, *, suppressed: int) -> None:
        """Deliver one alert, with the number of suppressed equal ones; may block, and may raise (which is logged)."""


class AuditTrail(Protocol):
    """Records failures before they are returned to callers; implemented by `AuditLog`."""

    async def record(self, facts: Mapping[str, Any]) -> None:
        """Write an entry, and return once it is durable.

        Raises:
            AUDIT_LOG_FAILED: It could not be written.
            AUDIT_LOCK_FAILED: Another process held the log for too long.
        """

    def note(self, facts: Mapping[str, Any]) -> None:
        """Queue an entry without waiting for it."""


class Arguments(Protocol):
    """The declared arguments of an operation, from a signature or a JSON Schema."""

    @property
    def schema(self) -> dict[str, Any]:
        """Their JSON Schema, an object."""

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments as the handler gets them.

        Raises:
            INVALID_PARAM: With all violations.
        """


class RunBudget(Protocol):
    """The number of further runs allowed, shared by several calls; provided by `RetryBudget`."""

    def count(self) -> None:
        """Count a run that succeeded."""

    async def withdraw(self) -> bool:
        """Take a token for one further run; return whether there was one."""


class CalledOperation(Protocol):
    """The operation of a call, as far as the call and its links use it; implemented by `BoundOperation`."""

    name: str
    tool_name: str
    tool: Any
    read_only: bool
    idempotent: bool
    atomic: bool
    marks_effects: bool
    """Whether the handler marks its effects with `Call.effect`."""
    derives_keys: bool
    """Whether calls without an idempotency key may get one."""
    is_async: bool
    function: Callable[..., Any]
    timeout_s: float | None
    arguments: Arguments
    result: Result
    reviews: tuple[Callable[[Any, Any], Any], ...]
    checks: tuple[Any, ...]
    verify_with: str | None
    name_kinds: Mapping[str, str]
    audit: AuditTrail | None
    governed: bool
    metrics: OperationMetrics
    threads: ThreadPool
    state: StateStore
    events: Events
    budget: RunBudget | None
    most_runs: int | None
    """The maximum number of runs by its strategies; None if no strategy repeats runs."""
    in_force: tuple[Any, ...]
    """Its strategies in force, from code and recovery file."""
    settings: Settings
    wire: Any
    clock: Callable[[], float]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""

    def handler_arguments(self, call: Any) -> dict[str, Any]:
        """Return the validated arguments for the handler."""

    def with_changes(self, params: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with changes applied, under any name of their parameters."""

    def alert(self, failure: Failure) -> None:
        """Pass a critical failure on to the alert sinks."""


class Neighbors(Protocol):
    """The tools that are served together; implemented by `Toolbox`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The MCP tool names, in the order of registration."""

    def find(self, name: str) -> CalledOperation | None:
        """Return the operation of that MCP name, or None."""

    def closest(self, name: str) -> str | None:
        """Return the closest MCP name, or None."""

    def __iter__(self) -> Iterator[CalledOperation]: ...

"""What the call path needs from its surroundings, as protocols. `metrics`, `recovery` and users implement them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from failsoft.framework.context import CallContext
    from failsoft.framework.errors.base import ToolError
    from failsoft.framework.failure import Failure

__all__ = [
    "AlertSink",
    "AttemptResult",
    "NullMetrics",
    "OperationMetrics",
    "Outcome",
    "Recorder",
    "RecoveryEngine",
    "RecoveryOutcome",
    "RecoveryResult",
    "RecoveryStrategy",
]

Outcome: TypeAlias = Literal["ok", "recovered", "degraded", "error", "rejected", "cancelled"]
AttemptResult: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
RecoveryOutcome: TypeAlias = Literal["recovered", "failed", "skipped"]


class OperationMetrics(Protocol):
    """The recorder of one operation, with its labels bound; every method is cheap and never raises."""

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


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What a strategy found in place of the error.

    Args:
        value: The value to answer with.
        message: One sentence that tells the caller what was done.
        changed: Arguments that were changed, with the values that were used.
        degraded: Whether the value is second best (stale, partial).
    """

    value: Any
    message: str
    changed: dict[str, Any] = field(default_factory=dict)
    degraded: bool = False


@runtime_checkable
class RecoveryStrategy(Protocol):
    """One way out of an error. `name` is its label in receipts and metrics (`alternate_path`)."""

    name: str

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        """Return a result in place of the error, or None if this strategy has nothing to offer.

        It may raise a `ToolError`, which takes the place of the error from then on (better suggestions, for example).
        """


class RecoveryEngine(Protocol):
    """Chooses and runs the strategies for an error. `failsoft.recovery.RecoveryManager` is ours."""

    async def recover(self, error: ToolError, call: CallContext) -> Any:
        """Return the value that takes the error's place, its receipt noted on the call, or raise a `ToolError`."""

    def with_strategies(self, strategies: Sequence[RecoveryStrategy]) -> RecoveryEngine:
        """Return an engine that has just these strategies, for every error."""

    def describe(self) -> list[str]:
        """Return the names of the strategies, in the order in which they are tried, for `tool.describe()`."""


@runtime_checkable
class AlertSink(Protocol):
    """Where alerts on critical failures go. Called off the call's path, from the alert thread."""

    name: str

    def send(self, failure: Failure) -> None:
        """Deliver one alert; may block and may raise (it is logged)."""

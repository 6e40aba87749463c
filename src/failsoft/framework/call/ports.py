"""Protocols that the call path uses, implemented by `metrics`, `recovery` and users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.answer.failure import Failure

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


class Arguments(Protocol):
    """The declared arguments of an operation, from a signature or a JSON Schema."""

    @property
    def schema(self) -> dict[str, Any]:
        """Their JSON Schema, an object."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other accepted names, and the names in the schema that they stand for."""

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments as the handler gets them.

        Raises:
            INVALID_PARAM: With all violations.
        """

    @property
    def is_slow(self) -> Callable[[Any], bool] | None:
        """Whether arguments are better validated in a worker thread; None if none are."""


class RunBudget(Protocol):
    """The number of further runs allowed, shared by several calls; provided by `RetryBudget`."""

    def count(self) -> None:
        """Count a run that succeeded."""

    async def withdraw(self) -> bool:
        """Take a token for one further run; return whether there was one."""

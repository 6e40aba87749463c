"""Recorders of metrics, behind a guard that keeps them from failing calls."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from failsoft.framework.events import AttemptResult, Outcome, RecoveryOutcome
from failsoft.framework.safe.author_reports import logger, tell


class Recorder(Protocol):
    """Creates a bound recorder for each operation, once, when the toolset is created."""

    def bind(self, tool: str, operation: str) -> OperationMetrics:
        """Return the recorder for one operation of one toolset."""


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


def guarded(metrics: OperationMetrics) -> OperationMetrics:
    """Return the recorder itself if its very class sets `never_raises = True`, otherwise wrapped in a guard."""
    return metrics if vars(type(metrics)).get("never_raises") is True else GuardedMetrics(metrics)


def bound_late(recorder: Recorder, tool: str, operation: str) -> OperationMetrics:
    """Return the guarded recorder of an operation that is bound during a call; one that cannot be bound is left out."""
    made: list[OperationMetrics] = []
    error = tell(lambda: made.append(recorder.bind(tool, operation)))
    if error is not None:
        _report(error)
        return NullMetrics()
    return guarded(made[0])


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


class GuardedMetrics(NullMetrics):
    """Forwards every event; an exception of the recorder is logged the first time and otherwise ignored."""

    def __init__(self, metrics: OperationMetrics) -> None:
        is_broken = False

        def forward(name: str, *facts: Any) -> None:
            nonlocal is_broken
            error = tell(lambda: getattr(metrics, name)(*facts))
            if error is not None and not is_broken:
                is_broken = True
                _report(error)

        for name in ("started", "finished", "attempted", "failed", "recovery"):
            setattr(self, name, partial(forward, name))


def _report(error: BaseException) -> None:
    logger.opt(exception=error).error("A metrics recorder failed; calls continue without it")

"""Isolates calls from exceptions raised by a metrics recorder."""

from __future__ import annotations

from typing import Any

from failsoft.framework.call.ports import (
    AttemptResult,
    NullMetrics,
    OperationMetrics,
    Outcome,
    Recorder,
    RecoveryOutcome,
)
from failsoft.framework.diagnostics.telling import logger, tell

__all__ = ["GuardedMetrics", "bound_late", "guarded"]


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


class GuardedMetrics:
    """Forwards every event; an exception of the recorder is logged the first time and otherwise ignored."""

    __slots__ = ("_is_broken", "_metrics")

    def __init__(self, metrics: OperationMetrics) -> None:
        self._metrics = metrics
        self._is_broken = False

    def started(self) -> None:
        """See `OperationMetrics`."""
        self._forward("started")

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """See `OperationMetrics`."""
        self._forward("finished", outcome, duration_s)

    def attempted(self, result: AttemptResult) -> None:
        """See `OperationMetrics`."""
        self._forward("attempted", result)

    def failed(self, category: str, code: str) -> None:
        """See `OperationMetrics`."""
        self._forward("failed", category, code)

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """See `OperationMetrics`."""
        self._forward("recovery", strategy, result)

    def _forward(self, name: str, *facts: Any) -> None:
        error = tell(self._record, name, *facts)
        if error is not None and not self._is_broken:
            self._is_broken = True
            _report(error)

    def _record(self, name: str, *facts: Any) -> None:
        getattr(self._metrics, name)(*facts)


def _report(error: BaseException) -> None:
    logger.opt(exception=error).error("A metrics recorder failed; calls continue without it")

"""Isolates calls from exceptions raised by a metrics recorder."""

from __future__ import annotations

from loguru import logger

from failsoft.framework.call.ports import AttemptResult, OperationMetrics, Outcome, RecoveryOutcome

__all__ = ["GuardedMetrics", "guarded"]


def guarded(metrics: OperationMetrics) -> OperationMetrics:
    """Return the recorder itself if its class sets `never_raises = True`, otherwise wrapped in a guard."""
    return metrics if getattr(type(metrics), "never_raises", False) is True else GuardedMetrics(metrics)


class GuardedMetrics:
    """Forwards every event; an exception of the recorder is logged the first time and otherwise ignored."""

    __slots__ = ("_is_broken", "_metrics")

    def __init__(self, metrics: OperationMetrics) -> None:
        self._metrics = metrics
        self._is_broken = False

    def started(self) -> None:
        """See `OperationMetrics`."""
        try:
            self._metrics.started()
        except Exception as error:  # noqa: BLE001 - the call goes on, whatever broke
            self._report(error)

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """See `OperationMetrics`."""
        try:
            self._metrics.finished(outcome, duration_s)
        except Exception as error:  # noqa: BLE001 - the same
            self._report(error)

    def attempted(self, result: AttemptResult) -> None:
        """See `OperationMetrics`."""
        try:
            self._metrics.attempted(result)
        except Exception as error:  # noqa: BLE001 - the same
            self._report(error)

    def failed(self, category: str, code: str) -> None:
        """See `OperationMetrics`."""
        try:
            self._metrics.failed(category, code)
        except Exception as error:  # noqa: BLE001 - the same
            self._report(error)

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """See `OperationMetrics`."""
        try:
            self._metrics.recovery(strategy, result)
        except Exception as error:  # noqa: BLE001 - the same
            self._report(error)

    def _report(self, error: Exception) -> None:
        if not self._is_broken:
            self._is_broken = True
            logger.opt(exception=error).error("A metrics recorder failed; calls continue without it")

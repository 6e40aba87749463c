"""Isolates calls from exceptions raised by a metrics recorder."""

from __future__ import annotations

from functools import partial
from typing import Any

from failsoft.framework.call.ports import NullMetrics, OperationMetrics, Recorder
from failsoft.framework.diagnostics.telling import logger, tell


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

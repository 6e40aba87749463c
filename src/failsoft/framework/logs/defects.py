"""Tells operators of a defect that calls meet again and again: a record and an alert, however many calls it fails."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.tracebacks import author_line

if TYPE_CHECKING:
    from failsoft.framework.answer.failure import Failure
    from failsoft.framework.logs.alerts import AlertDispatcher

_TIMES = 5
"""Failures by one defect before it is told."""
_QUIET_S = 600.0
"""How long a defect that was told is only counted, in seconds."""
_DEFECTS_AT_MOST = 1_000


@dataclass(slots=True)
class _Defect:
    """Failures since it was last told, and when that was."""

    count: int = 0
    told_at: float = float("-inf")


class RepeatedDefects:
    """Counts the defects of one runtime; a success in between changes nothing.

    A defect is a code at a line of the author's code (`file:line`) in an operation.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._defects: OrderedDict[tuple[str, ...], _Defect] = OrderedDict()

    def count(self, failure: Failure, alerts: AlertDispatcher | None) -> None:
        """Count a failure by a defect; tell it as `defect_repeated` when it is due, to the log and the alert sinks."""
        origin = author_line(failure.exception).partition(" in ")[0]
        times = self._due(failure.tool, failure.operation, failure.code, origin)
        if not times:
            return
        where = f"'{failure.operation}'" + (f" at {origin}" if origin else "")
        message = f"The same defect has failed {times} calls of {where}"
        facts = {"tool": failure.tool, "operation": failure.operation, "code": failure.code, "origin": origin}
        logger.bind(event="defect_repeated", **facts, count=times, error_id=failure.error_id).error("{}", message)
        if alerts is not None:
            alerts.dispatch(replace(failure, message=f"{message}. {failure.message}"), about=f"repeated at {origin}")

    def _due(self, *key: str) -> int:
        """Count, and return how many failures are to be told; 0 if it is not yet time."""
        with self._lock:
            defect = self._defects.setdefault(key, _Defect())
            self._defects.move_to_end(key)
            if len(self._defects) > _DEFECTS_AT_MOST:
                self._defects.popitem(last=False)
            defect.count += 1
            now = self._clock()
            if defect.count < _TIMES or now - defect.told_at < _QUIET_S:
                return 0
            times, defect.count, defect.told_at = defect.count, 0, now
            return times

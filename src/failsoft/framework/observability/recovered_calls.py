"""Counts recovered calls by cause, so that each cause is logged once a minute with the number of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from failsoft.framework.clock import loop_time

if TYPE_CHECKING:
    from failsoft.framework.answer.receipt import RecoveryReceipt
    from failsoft.framework.call.call import Call
    from failsoft.framework.tool.bound_operation import BoundOperation

__all__ = ["calls_to_report"]

_PERIOD_S = 60.0

_counted: WeakKeyDictionary[BoundOperation, dict[tuple[str, str], tuple[float | None, int]]] = WeakKeyDictionary()
"""Operation -> strategy and code -> when it was last logged, and the calls since."""


def calls_to_report(call: Call, receipt: RecoveryReceipt) -> int:
    """Return the recovered calls of this cause since the last line, this one included; 0 if that is under a minute old.

    A cause is an operation, a strategy and the code of the error that was recovered from.
    """
    causes = _counted.setdefault(call.bound, {})
    cause = (receipt.strategy, "" if call.error is None else call.error.code)
    now = loop_time()
    logged_at, count = causes.get(cause, (None, 0))
    if logged_at is not None and 0 <= now - logged_at < _PERIOD_S:
        causes[cause] = (logged_at, count + 1)
        return 0
    causes[cause] = (now, 0)
    return count + 1

"""One place where a strategy at work is counted, logged and announced."""

from __future__ import annotations

from failsoft.framework import logs
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ToolError
from failsoft.framework.events import RecoveryEvent
from failsoft.framework.ports import RecoveryOutcome

__all__ = ["note_recovery"]


def note_recovery(call: CallContext, strategy: str, result: RecoveryOutcome, error: ToolError | None = None) -> None:
    """Count, log and announce that a strategy was tried on an error.

    Args:
        call: The call.
        strategy: The strategy's name.
        result: What came of it. One that had nothing to offer is not logged.
        error: What it was tried on; None for a run that was only slow, which is no event.
    """
    bound = call.bound
    bound.metrics.recovery(strategy, result)
    if result != "skipped":
        logs.log_recovery(call, strategy, result)
    if error is None or not bound.events.wants(RecoveryEvent):
        return
    event = RecoveryEvent(
        tool=call.tool,
        operation=call.operation,
        request_id=call.request_id,
        strategy=strategy,
        result=result,
        code=error.code,
        attempt=call.attempt,
    )
    bound.events.publish(event)

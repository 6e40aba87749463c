"""`TimeLimit`: a limit on one part of a call, inside its deadline; and what a deadline may keep in reserve."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft.framework.chain import Proceed
from failsoft.framework.context import CallContext
from failsoft.framework.errors import DeadlineExceeded

__all__ = ["TimeLimit", "run_with_reserve"]


class TimeLimit:
    """Cancels the running task at a point in time, and tells afterwards whether that is what ended the part.

    The rules are those of the deadline (ADR 0003): the task is cancelled once and uncancelled on `close`, a
    cancellation from outside wins, and a part that swallows ours and returns keeps its value. While a limit has run
    out and is not closed, `call.expired` holds, so that nothing more is started for the call.

    Args:
        call: The call that the part belongs to.
        at: When, on the event loop's clock, in seconds.
    """

    __slots__ = ("_before", "_call", "_task", "_timer", "has_run_out")

    def __init__(self, call: CallContext, at: float) -> None:
        task = asyncio.current_task()
        if task is None:
            msg = "a call needs a task to run in"
            raise RuntimeError(msg)
        self.has_run_out = False
        self._call = call
        self._task = task
        self._before = task.cancelling()
        self._timer = asyncio.get_running_loop().call_at(at, self._run_out)

    def close(self, raised: BaseException | None = None) -> bool:
        """Stop the clock; call it once, however the part ended.

        Args:
            raised: What the part raised; None if it returned.

        Returns:
            Whether what was raised is the limit's doing.
        """
        self._timer.cancel()
        if not self.has_run_out:
            return False
        self._call.expired -= 1
        is_cancelled_besides = self._task.uncancel() > self._before
        if raised is None:
            return False
        return not (is_cancelled_besides and issubclass(type(raised), asyncio.CancelledError))

    def _run_out(self) -> None:
        self.has_run_out = True
        self._call.expired += 1
        self._task.cancel()


async def run_with_reserve(call: CallContext, proceed: Proceed, reserve_s: float) -> Any:
    """Run the rest of the chain under a deadline that is so much earlier, and return its value.

    What stands outside of that part (a fallback, an old answer) then still has time to take its place. Inside, the call
    is over at the earlier deadline: no retry waits past it.

    Raises:
        DEADLINE_EXCEEDED: The earlier deadline passed. The call itself is not over.
    """
    end = call.deadline
    if end is None or reserve_s <= 0:
        return await proceed(call)
    call.deadline = end - reserve_s
    limit = TimeLimit(call, call.deadline)
    try:
        value = await proceed(call)
    except BaseException as raised:
        if not limit.close(raised):
            raise
        call.stop_reason = "deadline"
        raise DeadlineExceeded(limit_s=round((call.bound.timeout_s or 0.0) - reserve_s, 6)) from raised
    else:
        limit.close()
        return value
    finally:
        call.deadline = end

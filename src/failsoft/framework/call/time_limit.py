"""`TimeLimit`: a time limit for a part of a call, within its deadline; and reserves before a deadline."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed
from failsoft.framework.errors import DeadlineExceeded

__all__ = ["TimeLimit", "run_with_reserve"]


class TimeLimit:
    """Cancels the running task at a given time, and reports afterwards whether that ended the part.

    It follows the rules of the deadline (ADR 0002): the task is cancelled once and uncancelled on `close`, a
    cancellation from outside takes precedence, and a part that swallows ours and returns keeps its value. Between
    expiry and `close`, `call.expired` is above 0, so that nothing more is started for the call.

    Args:
        call: The call that the part belongs to.
        at: The time of expiry, on the event loop's clock, in seconds.
    """

    __slots__ = ("_before", "_call", "_task", "_timer", "has_run_out")

    def __init__(self, call: Call, at: float) -> None:
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
        """Stop the timer; call it once, however the part ended.

        Args:
            raised: The exception of the part; None if it returned.

        Returns:
            Whether the limit caused the exception.
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


async def run_with_reserve(call: Call, proceed: Proceed, reserve_s: float) -> Any:
    """Run the rest of the chain with an earlier deadline, and return its value.

    The remaining time is reserved for links outside, such as a fallback or a cached answer. No retry inside waits past
    the earlier deadline.

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

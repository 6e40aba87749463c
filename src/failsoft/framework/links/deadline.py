"""The total deadline: one timer for the whole call, its retries and recoveries included."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft.framework.chain import Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import DeadlineExceeded

__all__ = ["deadline"]


def deadline(limit_s: float) -> Step:
    """Return the link that ends a call after `limit_s` seconds.

    A timer of our own in place of `asyncio.timeout`, by the same rules and at half its cost: it is the dearest thing
    on the success path. The task is cancelled once, and only that cancellation becomes DEADLINE_EXCEEDED.

    Raises:
        DEADLINE_EXCEEDED: The limit passed. A handler that turns the cancellation into another exception gets
            the same answer; one that swallows it and returns keeps its value, late.
    """

    async def step(call: CallContext, proceed: Proceed) -> Any:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if task is None:
            msg = "a call needs a task to run in"
            raise RuntimeError(msg)
        cancelled_before = task.cancelling()

        def expire() -> None:
            call.expired += 1
            task.cancel()

        timer = loop.call_at(call.set_deadline(loop, limit_s), expire)
        try:
            value = await proceed(call)
        except BaseException as error:
            if not call.expired:
                raise
            if task.uncancel() > cancelled_before and issubclass(type(error), asyncio.CancelledError):
                raise
            call.stop_reason = "deadline"
            raise DeadlineExceeded(limit_s=limit_s) from error
        else:
            if call.expired:
                task.uncancel()
            return value
        finally:
            timer.cancel()

    return step

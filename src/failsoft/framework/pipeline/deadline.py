"""Enforces the deadline of the whole call, including retries and recoveries."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft.framework.call.budget import is_due_to_limit, run_until
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, Step
from failsoft.framework.errors import DeadlineExceeded

__all__ = ["deadline", "inherited_deadline"]


def deadline(limit_s: float) -> Step:
    """Return the link that ends a call after `limit_s` seconds.

    It follows the rules of `asyncio.timeout`: the task is cancelled once, and only that cancellation becomes
    DEADLINE_EXCEEDED. One timer serves all calls of the operation (ADR 0002), because a timer per call would be the
    most expensive part of the success path.

    Raises:
        DEADLINE_EXCEEDED: The limit passed, even if the handler turned the cancellation into another exception. If it
            swallows the cancellation and returns, its value is returned, late.
    """
    watch: _DeadlineTimer | None = None

    async def step(call: Call, proceed: Proceed) -> Any:
        nonlocal watch
        loop = asyncio.get_running_loop()
        if call.inherited_until is not None and call.inherited_until < loop.time() + limit_s:
            return await _within_budget(call, proceed, loop, call.inherited_until)
        task = asyncio.current_task(loop)
        if task is None:
            msg = "a call needs a task to run in"
            raise RuntimeError(msg)
        cancelled_before = task.cancelling()
        mine = watch
        if mine is None or mine.loop is not loop:
            mine = watch = _DeadlineTimer(loop)  # the timer of another loop continues for its own calls
        mine.begin(call, task, call.set_deadline(loop, limit_s))
        try:
            value = await proceed(call)
        except BaseException as error:
            if not call.expired:
                raise
            if not is_due_to_limit(task, cancelled_before, error):
                raise
            call.stop_reason = "deadline"
            raise DeadlineExceeded(limit_s=limit_s) from error
        else:
            if call.expired:
                task.uncancel()
            return value
        finally:
            mine.under_way.pop(call, None)

    return step


async def inherited_deadline(call: Call, proceed: Proceed) -> Any:
    """Run a call of an operation without a limit within the time left of its request or parent call.

    Raises:
        DEADLINE_EXCEEDED: That time has passed.
    """
    if call.inherited_until is None:
        return await proceed(call)
    return await _within_budget(call, proceed, asyncio.get_running_loop(), call.inherited_until)


async def _within_budget(call: Call, proceed: Proceed, loop: asyncio.AbstractEventLoop, until: float) -> Any:
    """Run a call whose parent call has less time left than the limit of its operation.

    Raises:
        DEADLINE_EXCEEDED: That time has passed.
    """
    remaining_s = until - loop.time()
    if remaining_s <= 0:  # nothing is begun that cannot be waited for
        call.stop_reason = "deadline"
        raise DeadlineExceeded(limit_s=0.0, effect="none")
    return await run_until(call, proceed, call.set_deadline(loop, remaining_s), round(remaining_s, 3))


class _DeadlineTimer:
    """Ends the calls of one operation on one event loop when their time limit expires.

    All calls have the same limit, so the oldest one expires first and a single timer serves all. It keeps running when
    its call ends in time: it then moves on to the next call, or stops if there is none.

    Args:
        loop: The event loop of the calls.
    """

    __slots__ = ("_is_set", "loop", "under_way")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.under_way: dict[Call, tuple[float, asyncio.Task[Any]]] = {}
        self._is_set = False

    def begin(self, call: Call, task: asyncio.Task[Any], until: float) -> None:
        """Watch a call until it is taken out of `under_way`."""
        self.under_way[call] = (until, task)
        if not self._is_set:
            self._is_set = True
            self.loop.call_at(until, self._look)

    def _look(self) -> None:
        self._is_set = False
        now = self.loop.time()
        while self.under_way:
            call, (until, task) = next(iter(self.under_way.items()))
            if until > now:
                self._is_set = True
                self.loop.call_at(until, self._look)
                return
            del self.under_way[call]
            call.expired += 1
            task.cancel()

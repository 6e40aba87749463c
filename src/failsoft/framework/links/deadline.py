"""The total deadline: one limit for the whole call, its retries and recoveries included."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft.framework.chain import Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import DeadlineExceeded

__all__ = ["deadline"]


def deadline(limit_s: float) -> Step:
    """Return the link that ends a call after `limit_s` seconds.

    By the rules of `asyncio.timeout`: the task is cancelled once, and only that cancellation becomes DEADLINE_EXCEEDED.
    One timer serves all calls of the operation (ADR 0019): one for each is the dearest thing on the success path.

    Raises:
        DEADLINE_EXCEEDED: The limit passed. A handler that turns the cancellation into another exception gets
            the same answer; one that swallows it and returns keeps its value, late.
    """
    watch: _Watch | None = None

    async def step(call: CallContext, proceed: Proceed) -> Any:
        nonlocal watch
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if task is None:
            msg = "a call needs a task to run in"
            raise RuntimeError(msg)
        cancelled_before = task.cancelling()
        mine = watch
        if mine is None or mine.loop is not loop:
            mine = watch = _Watch(loop)  # the one before goes on for the calls that it has
        mine.begin(call, task, call.set_deadline(loop, limit_s))
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
            mine.under_way.pop(call, None)

    return step


class _Watch:
    """Ends the calls of one operation, on one event loop, when their time is up.

    They all have the same limit, so the one that began first ends first, and a single timer for it serves the others
    too. It is left to run when its call ends in time: it then goes on to the next, or finds nobody and stops.

    Args:
        loop: The event loop of the calls.
    """

    __slots__ = ("_is_set", "loop", "under_way")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.under_way: dict[CallContext, tuple[float, asyncio.Task[Any]]] = {}
        self._is_set = False

    def begin(self, call: CallContext, task: asyncio.Task[Any], until: float) -> None:
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

"""Runs keyed calls in their own tasks: they continue when the client disconnects, and are drained at shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from failsoft.framework.call.call import Call

__all__ = ["DetachedCalls"]


class DetachedCalls:
    """The keyed calls in flight in one runtime."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        """Tasks that a server drains at shutdown; the event loop holds only weak references."""
        self.waiting: set[asyncio.Task[Any] | None] = set()
        """The tasks of requests that wait for such a call."""

    async def run(self, call: Call, calling: Awaitable[Any]) -> Any:
        """Run a call in a separate task and return its answer.

        If the caller is cancelled the call continues, unless that was requested (`CallScope.cancels`) and no effect has
        begun.
        """
        task = asyncio.get_running_loop().create_task(_awaited(calling))
        self.tasks.add(task)
        task.add_done_callback(self._over)
        caller = asyncio.current_task()
        self.waiting.add(caller)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done() and not call.effect_begun and call.scope.cancels():
                task.cancel()
                await asyncio.wait([task])
            raise
        finally:
            self.waiting.discard(caller)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, because the caller may be gone


async def _awaited(calling: Awaitable[Any]) -> Any:
    return await calling

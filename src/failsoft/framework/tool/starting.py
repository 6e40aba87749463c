"""Starts a toolset once, on first use; concurrent calls wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["Start"]


class Start:
    """Runs a toolset's `startup` once."""

    def __init__(self) -> None:
        self.is_done = False
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._starter: asyncio.Task[Any] | None = None

    async def begin(self, startup: Callable[[], Awaitable[None]]) -> None:
        """Await `startup`, unless it is done; calls that `startup` itself makes do not wait for it."""
        task = asyncio.current_task()
        if self.is_done or (task is not None and self._starter is task):
            return
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        async with self._lock[1]:
            self._starter = task
            try:
                if not self.has_begun():
                    await startup()
                    self.is_done = True
            finally:
                self._starter = None

    def has_begun(self) -> bool:
        """Return whether the start is done, possibly by a concurrent call."""
        return self.is_done

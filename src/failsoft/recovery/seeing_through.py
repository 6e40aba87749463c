"""Work that has to be finished although the call that began it was cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["begin", "see_through"]

T = TypeVar("T")
_under_way: set[asyncio.Task[Any]] = set()
"""The loop holds its tasks only weakly: without this one might vanish half-way."""


def begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start work that nobody needs to wait for."""
    task = asyncio.get_running_loop().create_task(work)
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task


async def see_through(work: Coroutine[Any, Any, T]) -> T:
    """Return the outcome of work; a cancellation ends the waiting, not the work."""
    return await asyncio.shield(begin(work))

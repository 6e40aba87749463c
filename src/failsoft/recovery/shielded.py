"""Runs coroutines to completion despite cancellation (shield)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_under_way: set[asyncio.Task[Any]] = set()
"""Strong references: the event loop holds only weak ones, so a pending task could be garbage-collected."""


def begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a coroutine in the background."""
    task = asyncio.get_running_loop().create_task(work)
    keep(task)
    return task


def keep(task: asyncio.Task[Any]) -> None:
    """Hold a reference to a task until it is done."""
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)


async def see_through(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine; a cancellation stops the waiting, not the coroutine."""
    return await asyncio.shield(begin(work))

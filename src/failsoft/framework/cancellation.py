"""Distinguishes a real cancellation from a stray `CancelledError`."""

from __future__ import annotations

import asyncio
import math
import sys

__all__ = ["is_real_cancellation"]


def is_real_cancellation(error: BaseException) -> bool:
    """Return whether the running call was really cancelled from outside.

    A `CancelledError` that a handler raises itself, or that comes from a task that it started, is an ordinary failure.
    asyncio counts cancellation requests on the task; anyio cancels through its scopes, which show as an effective
    deadline of minus infinity.
    """
    if not issubclass(type(error), asyncio.CancelledError):  # isinstance would ask `error.__class__`, which may raise
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    if task is not None and task.cancelling() > 0:
        return True
    anyio = sys.modules.get("anyio")
    return anyio is not None and anyio.current_effective_deadline() == -math.inf

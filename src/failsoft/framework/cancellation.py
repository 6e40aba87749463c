"""Telling a real cancellation from an exception that merely has its type (measured: mcp-facts, Containment)."""

from __future__ import annotations

import asyncio
import math
import sys

__all__ = ["is_real_cancellation"]


def is_real_cancellation(error: BaseException) -> bool:
    """Return whether somebody outside really cancelled the running call.

    A handler may raise `CancelledError` by itself, or get one from a task of its own that was cancelled: those are
    failures like any other. asyncio counts requests on the task; anyio cancels through its scopes, which show as an
    effective deadline in the past without end.
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

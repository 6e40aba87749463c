"""Progress reports and the time limit of the task that a worker runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_send: Callable[[tuple[Any, ...]], None] | None = None
_deadline: float | None = None


def begin(send: Callable[[tuple[Any, ...]], None] | None, limit_s: float | None) -> None:
    """Note how the next task reports, and its limit in seconds; the worker calls this before each task."""
    global _send, _deadline  # noqa: PLW0603 - a worker runs one task at a time, and tasks are plain functions
    _send = send
    _deadline = None if limit_s is None else time.monotonic() + limit_s


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Report the progress of the task; outside of a worker it does nothing."""
    if _send is not None:
        _send(("progress", done, total, message))


def remaining_s() -> float | None:
    """Return the seconds before the call's deadline, at least 0; None without one."""
    return None if _deadline is None else max(0.0, _deadline - time.monotonic())

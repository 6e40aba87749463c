"""The remaining time and runs of a call, shared with nested calls and upstream servers."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from typing import Any

from failsoft.framework.call.call import Call

__all__ = ["BUDGET_KEY", "current_budget", "current_call", "inherit", "nested", "running_call"]

BUDGET_KEY = "dev.failsoft/budget"
"""Key of the budget in a request's `_meta`: `{"remaining_ms": n, "runs_left": n}`; `runs_left` includes this run."""

current_call: ContextVar[Call | None] = ContextVar("failsoft_current_call", default=None)
"""The call whose handler is running."""


def running_call() -> Call | None:
    """Return the call whose handler is running here; None in a task that outlived it."""
    call = current_call.get()
    return call if call is not None and call.is_running else None


def current_budget() -> dict[str, int]:
    """Return the remaining budget of the current call, to be sent upstream; empty without limits."""
    call = running_call()
    if call is None:
        return {}
    remaining_s, runs_left = call.remaining_s(), call.runs_left
    budget = {} if remaining_s is None else {"remaining_ms": int(remaining_s * 1000)}
    return budget if runs_left is None else {**budget, "runs_left": runs_left}


def inherit(call: Call) -> Call | None:
    """Limit a call by its parent call, which is returned, and by the budget in its request.

    Both can only reduce the limits. A task that outlives its handler belongs to no call.
    """
    outer, received = running_call(), call.scope.meta.get(BUDGET_KEY)
    if outer is None and received is None:  # most calls; the look at an abstract class below is dear
        return None
    if outer is not None:
        call.bound_by(outer.remaining_s(), outer.runs_left)
    if isinstance(received, Mapping):
        remaining_s, runs_left = _number(received.get("remaining_ms"), 1000), _number(received.get("runs_left"))
        call.bound_by(remaining_s, None if runs_left is None else max(1, int(runs_left)))
    return outer


def _number(value: Any, divisor: int = 1) -> float | None:
    """Return a finite number divided by `divisor`, at least 0; None for any other value, which sets no bound."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return max(0.0, number / divisor) if math.isfinite(number) else None


async def nested(outer: Call, call: Call, calling: Awaitable[Any]) -> Any:
    """Run a call made by a handler, and count its runs as runs of the outer call."""
    response: Any = None
    try:
        response = await calling
    finally:
        failure = getattr(response, "error", None)
        outer.ran_below(call.attempt + call.runs_below, None if failure is None else failure.exception)
    return response

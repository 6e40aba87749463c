"""The state transition of a sliding-window rate limit as a pure function, with an equivalent Lua script."""

from __future__ import annotations

import math
from typing import Any, Final

from failsoft.framework.records import Changed, State, Transition

PARTS: Final = 200
"""Parts of the window. Calls in one part are stored as one entry, so some count for up to a part too long."""


def take(state: State | None, now: float, limit: int, period_s: float, cost: int) -> Changed:
    """Count calls if they are within the limit; the answer is 1 or 0, and the seconds until they would be.

    The state's `taken` holds the time and number of calls, the oldest first.

    Args:
        state: The state of one limit.
        now: The time in seconds.
        limit: The number of calls in a period.
        period_s: The length of a period, in seconds.
        cost: The number of calls to count.
    """
    taken: list[Any] = []
    for index in range(0, len(state["taken"]) if state else 0, 2):
        if state and state["taken"][index] > now - period_s:
            taken += state["taken"][index : index + 2]
    total = sum(taken[1::2])
    if total + cost > limit:
        wait_s, free = period_s, limit - total
        for index in range(0, len(taken), 2):
            free += taken[index + 1]
            wait_s = taken[index] + period_s - now
            if free >= cost:
                break
        return Changed({"taken": taken}, [0, wait_s], period_s)
    span = period_s / PARTS
    if taken and math.floor(taken[-2] / span) == math.floor(now / span):
        taken[-2:] = [now, taken[-1] + cost]
    else:
        taken += [now, cost]
    return Changed({"taken": taken}, [1, 0.0], period_s)


TAKE = Transition(
    "rate.take",
    take,
    """
    local limit, period_s, cost = unpack(arguments)
    local taken, total = {}, 0
    local before = state and state.taken or {}
    for index = 1, #before, 2 do
        if before[index] > now - period_s then
            taken[#taken + 1], taken[#taken + 2] = before[index], before[index + 1]
            total = total + before[index + 1]
        end
    end
    if total + cost > limit then
        local wait_s, free = period_s, limit - total
        for index = 1, #taken, 2 do
            free = free + taken[index + 1]
            wait_s = taken[index] + period_s - now
            if free >= cost then break end
        end
        return {taken = taken}, {0, wait_s}, period_s
    end
    local span, last = period_s / 200, #taken
    if last > 0 and math.floor(taken[last - 1] / span) == math.floor(now / span) then
        taken[last - 1], taken[last] = now, taken[last] + cost
    else
        taken[last + 1], taken[last + 2] = now, cost
    end
    return {taken = taken}, {1, 0}, period_s
    """,
)

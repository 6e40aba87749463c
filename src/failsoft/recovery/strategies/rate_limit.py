"""`RateLimit`: limits the number of calls in a period, across all replicas if state is shared."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import RateLimited
from failsoft.framework.state.backend import KEPT, Changed, State
from failsoft.framework.state.store import StateStore
from failsoft.recovery.strategy import shown_wait_s, state_of, strategy

Per: TypeAlias = Literal["dependency", "principal", "server"]

_RATE = re.compile(
    r"([0-9]{1,9}) *(?:/| per ) *([0-9]{1,9})? *(second|minute|hour|day|month)s?", re.IGNORECASE | re.ASCII
)
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "month": 30 * 86_400}


@strategy
class RateLimit:
    """Rejects calls beyond a rate with RATE_LIMITED and the exact wait, before any work is done for them.

    It is a sliding window, so no period of that length contains more calls than the limit. The counts are in the state
    store, which replicas can share.

    Args:
        limit: So many calls in a period of seconds, minutes, hours, days or months (of 30 days): `100/minute`,
            `5 per 2 seconds`, `1000/day`.
        per: Which calls share the limit. `dependency`: all calls to `dependency`, or to the operation if none is named.
            `principal`: the same, separately for each caller. `server`: all operations with this limit.
        dependency: The dependency to protect. By default every operation of a toolset has its own, under
            `<toolset>.<operation>`.

    Raises:
        ValueError: The options are invalid, such as a rate that allows no call.

    Examples:
        >>> @operation(recovery=[RateLimit("100/minute", per="principal")])
        ... async def send(self, text: str) -> str: "Send a letter."
    """

    name: ClassVar[str] = "rate_limit"
    limit: str
    _: KW_ONLY
    per: Per = "dependency"
    dependency: str | None = None

    def __post_init__(self) -> None:
        if self.per not in get_args(Per) or (self.per == "server" and self.dependency):
            msg = f"RateLimit is per 'dependency', 'principal' or 'server', the last without a dependency, not {self}"
            raise ValueError(msg)
        _parsed(self.limit)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that counts calls and rejects those beyond the rate."""
        store, subject = (bound.state, "server") if self.per == "server" else state_of(bound, self.dependency)
        return [Link(self.name, _counted(self, store, subject), "admit")]


def _counted(options: RateLimit, store: StateStore, subject: str) -> Step:
    calls, period_s = _parsed(options.limit)
    start, is_personal = f"rate:{calls}/{period_s}/{subject}", options.per == "principal"

    async def step(call: Call, proceed: Proceed) -> Any:
        key = f"{start}/{_fingerprint(call.principal)}" if is_personal else start
        if store.is_local:
            is_granted, wait_s = store.change_now(take, key, calls, period_s, 1)
        else:
            is_granted, wait_s = await store.change(take, key, calls, period_s, 1)
        if not is_granted:
            raise RateLimited(
                retry_after_seconds=shown_wait_s(wait_s),
                effect=call.effect_of(call.error),
                details={"limit": options.limit, "per": options.per},
            )
        return await proceed(call)

    return step


def _parsed(limit: str) -> tuple[int, int]:
    """Return the number of calls, and the length of the period in seconds."""
    found = _RATE.fullmatch(str(limit).strip())
    calls, periods = (int(found[1]), int(found[2] or 1)) if found else (0, 0)
    if not found or calls < 1 or periods < 1:
        msg = f"RateLimit takes one rate of at least one call, such as '100/minute', not {limit!r}"
        raise ValueError(msg)
    return calls, periods * _SECONDS[found[3].lower()]


def _fingerprint(principal: str | None) -> str:
    """Return the hash of a caller, so that a shared store contains no names of people."""
    return "" if principal is None else hashlib.sha256(principal.encode("utf-8", "replace")).hexdigest()[:20]


PARTS: Final = 20
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
            # A later time is that of a clock that was set back, or of a server that has taken over.
            taken += [min(state["taken"][index], now), state["taken"][index + 1]]
    total = sum(taken[1::2])
    if total + cost > limit:
        wait_s, free = period_s, limit - total
        for index in range(0, len(taken), 2):
            free += taken[index + 1]
            wait_s = taken[index] + period_s - now
            if free >= cost:
                break
        known = state["taken"] if state else []
        is_kept = known[len(known) - len(taken) :] == taken  # refused calls, which may be many, write nothing
        return Changed(KEPT if is_kept else {"taken": taken}, [0, wait_s], 0.0 if is_kept else period_s)
    span = period_s / PARTS
    if taken and math.floor(taken[-2] / span) == math.floor(now / span):
        taken[-2:] = [now, taken[-1] + cost]
    else:
        taken += [now, cost]
    return Changed({"taken": taken}, [1, 0.0], period_s)

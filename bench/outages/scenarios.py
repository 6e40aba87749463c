"""The scenarios: a service that slows down, one that is noisy, one that is down, and one that names a wait."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from failsoft import RateLimited, Retry
from failsoft.recovery import RetryBudget
from failsoft.testing import InstantClock
from outages.clients import Call, Client, tool
from outages.service import Busy, Service

__all__ = ["NEVER_S", "Course", "most_at_once", "noise", "outage", "slow_service"]

T = TypeVar("T")
TIME_OUT_S = 1.0
CALLS_A_SECOND = 75.0
SLOW_FROM_S, SLOW_UNTIL_S, END_S = 30.0, 50.0, 190.0
NEVER_S = END_S - SLOW_UNTIL_S
"""The value for calls that fail until the end."""
GOOD = 0.95
SETTLED_S = 5
"""For how many seconds together the share of successes has to be good."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a scenario went, second by second.

    Args:
        success: The share of successes among the calls that began in each second.
        load: The requests that reached the service in each second.
        until_s: When the trouble ended, in seconds.
    """

    success: Sequence[float]
    load: Sequence[int]
    until_s: float = SLOW_UNTIL_S

    @property
    def recovered_after_s(self) -> float:
        """Seconds from the end of the trouble until the calls of a second, and of the next ones, succeed again."""
        end = int(self.until_s)
        for second in range(end, len(self.success) - SETTLED_S):
            if min(self.success[second : second + SETTLED_S]) >= GOOD:
                return float(second - end)
        return len(self.success) - self.until_s


def slow_service(client: Client, seed: int) -> Course:
    """75 calls a second of 100 that the service can do; for 20 s each request takes ten times as long."""

    async def main() -> Course:
        service = Service(slow_from_s=SLOW_FROM_S, slow_until_s=SLOW_UNTIL_S)

        async def request() -> None:
            async with asyncio.timeout(TIME_OUT_S):
                await service.serve()

        began = await _calls(client(request), CALLS_A_SECOND, END_S, seed)
        seconds = range(int(END_S))
        calls, good = Counter(int(at) for at, _ in began), Counter(int(at) for at, well in began if well)
        load = Counter(int(at) for at in service.runs)
        return Course([good[one] / (calls[one] or 1) for one in seconds], [load[one] for one in seconds])

    return _run(main, seed)


def noise(client: Client, seed: int, *, share: float = 0.3, rate: float = 2.0, length_s: float = 3_600.0) -> float:
    """Return the share of successes where each request fails with the same probability."""

    async def main() -> float:
        chance = random.Random(seed + 1)  # noqa: S311 - noise

        async def request() -> None:
            await asyncio.sleep(0.02)
            if chance.random() < share:
                raise Busy

        began = await _calls(client(request), rate, length_s, seed)
        return sum(well for _, well in began) / len(began)

    return _run(main, seed)


def outage(client: Client, seed: int, *, healthy: int = 5_000, calls: int = 1_000) -> float:
    """Return the requests for each call while every request fails, after a healthy time."""

    async def main() -> float:
        requests, is_down = 0, False

        async def request() -> None:
            nonlocal requests
            requests += 1
            await asyncio.sleep(0.01)
            if is_down:
                raise Busy

        call = client(request)
        await _calls(call, CALLS_A_SECOND, healthy / CALLS_A_SECOND, seed)
        requests, is_down = 0, True
        made = await _calls(call, CALLS_A_SECOND, calls / CALLS_A_SECOND, seed)
        return requests / len(made)

    return _run(main, seed)


def most_at_once(seed: int, *, callers: int = 200, after_s: float = 1.0) -> float:
    """Return the greatest share of callers that come back within one 100 ms, after a wait that the service named."""

    async def main() -> float:
        clock = asyncio.get_running_loop().time
        began, came = clock(), []

        async def request() -> None:
            if clock() == began:
                raise RateLimited(retry_after_seconds=after_s)
            came.append(clock())

        call = tool([Retry(), RetryBudget(floor=callers)])(request)
        await asyncio.gather(*(call() for _ in range(callers)))
        return max(sum(at <= other < at + 0.1 for other in came) for at in came) / callers

    return _run(main, seed)


async def _calls(call: Call, rate: float, length_s: float, seed: int) -> list[tuple[float, bool]]:
    """Make calls at random times, `rate` a second; return when each began, in seconds, and whether it succeeded."""
    chance, began = random.Random(seed), []  # noqa: S311 - arrivals
    start = asyncio.get_running_loop().time()

    async def one(at: float) -> None:
        began.append((at, await call()))

    async with asyncio.TaskGroup() as group:
        at = chance.expovariate(rate)
        while at < length_s:
            await asyncio.sleep(start + at - asyncio.get_running_loop().time())
            group.create_task(one(at))
            at += chance.expovariate(rate)
    return began


def _run(main: Callable[[], Coroutine[Any, Any, T]], seed: int) -> T:
    random.seed(seed)  # the jitter of the policies
    return InstantClock().run(main())

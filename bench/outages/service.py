"""A service with one queue. It works through every request, also those whose caller has left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Busy", "Service"]


REFUSES_AFTER_S = 0.01


class Busy(ConnectionError):
    """The service refuses a request."""


@dataclass
class Service:
    """Takes requests one after the other.

    Args:
        rate: Requests a second that it can serve.
        slow_from_s: When it becomes slower, in seconds since its start.
        slow_until_s: When it is as fast as before.
        slower: How many times longer a request takes in between.
        down: From when until when it refuses every request, in seconds since its start.
    """

    rate: float = 100.0
    slow_from_s: float = 0.0
    slow_until_s: float = 0.0
    slower: float = 10.0
    down: Sequence[tuple[float, float]] = ()
    runs: list[float] = field(default_factory=list)
    """When each request arrived, in seconds since the start."""

    def __post_init__(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self._free_at = 0.0

    def now_s(self) -> float:
        """Return the seconds since the start."""
        return asyncio.get_running_loop().time() - self._began

    async def serve(self) -> None:
        """Return when a request that arrives now was served. A caller that leaves does not shorten the queue.

        Raises:
            Busy: It is down.
        """
        now = self.now_s()
        self.runs.append(now)
        if any(since <= now < until for since, until in self.down):
            await asyncio.sleep(REFUSES_AFTER_S)
            raise Busy
        starts = max(now, self._free_at)
        is_slow = self.slow_from_s <= starts < self.slow_until_s
        self._free_at = starts + (self.slower if is_slow else 1.0) / self.rate
        await asyncio.sleep(self._free_at - now)

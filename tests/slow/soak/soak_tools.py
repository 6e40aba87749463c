"""Tools that fail in every way, for servers that run for long."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time

from failsoft import BaseTool, Bulkhead, CircuitBreaker, Hedge, NotFound, Retry, Unavailable, operation
from failsoft.recovery import StaleCache

_numbers = itertools.count()


class Soak(BaseTool):
    """Works, fails, hangs and crashes."""

    @operation(read_only=True, timeout=5, recovery=[Retry(base_s=0.001), CircuitBreaker(min_calls=1000), Bulkhead(50)])
    async def flaky(self) -> str:
        """Fail each third time."""
        await asyncio.sleep(0.002)
        if next(_numbers) % 3 == 0:
            raise Unavailable
        return "done"

    @operation(read_only=True, timeout=5, recovery=[Hedge(delay_s=0.01), StaleCache(ttl_s=0.5, stale_s=5)])
    async def cached(self, number: int) -> str:
        """Take some time."""
        await asyncio.sleep(0.02)
        return "x" * number

    @operation(read_only=True)
    def missing(self, name: str) -> str:
        """Find nothing."""
        raise NotFound(message=f"No {name}.")

    @operation(read_only=True)
    async def crash(self) -> str:
        """Break."""
        raise RuntimeError("broken " * 100)

    @operation(read_only=True, timeout=0.05)
    async def hang(self) -> str:
        """Take longer than allowed."""
        await asyncio.sleep(60)
        return "late"

    @operation(timeout=5)
    def book(self, text: str, seconds: float = 0.0) -> str:
        """Change something."""
        time.sleep(seconds)
        return text

    @operation(read_only=True)
    async def census(self) -> dict[str, int]:
        """Count what runs."""
        return {"tasks": len(asyncio.all_tasks()), "threads": threading.active_count()}

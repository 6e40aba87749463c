"""The present moment: as the wire formats write it, and as the event loop counts it."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache

__all__ = ["loop_time", "utc_timestamp"]


def loop_time() -> float:
    """Return the event loop's time in seconds, which deadlines are on; outside of a loop what a plain one would say.

    The time of a loop of tests may jump, so what is compared with a deadline must not ask `time.monotonic`.
    """
    loop = asyncio._get_running_loop()  # noqa: SLF001 - documented, and no exception where there is none
    return time.monotonic() if loop is None else loop.time()


def utc_timestamp() -> str:
    """Return now in UTC as ISO 8601 with milliseconds and `Z`."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    return f"{_to_the_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=1)  # failures come in bursts: their common second is put into words once
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))

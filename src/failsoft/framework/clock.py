"""The present moment: as the wire formats write it, and as the event loop counts it."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import lru_cache

__all__ = ["Home", "home", "loop_time", "utc_timestamp"]


class Home(threading.local):
    """Where a worker thread's call comes from."""

    loop: asyncio.AbstractEventLoop | None = None


home = Home()


def loop_time() -> float:
    """Return the event loop's time in seconds, which deadlines are on; in a worker thread that of its call's loop.

    A loop of tests may jump, so nothing that is compared with a deadline may ask `time.monotonic`.
    """
    loop = asyncio._get_running_loop() or home.loop  # noqa: SLF001 - documented, and no exception where there is none
    return time.monotonic() if loop is None else loop.time()


def utc_timestamp() -> str:
    """Return now in UTC as ISO 8601 with milliseconds and `Z`."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    return f"{_to_the_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=1)  # failures come in bursts: their common second is put into words once
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))

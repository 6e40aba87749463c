"""The present moment as the wire formats write it."""

from __future__ import annotations

import time
from functools import lru_cache

__all__ = ["utc_timestamp"]


def utc_timestamp() -> str:
    """Return now in UTC as ISO 8601 with milliseconds and `Z`."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    return f"{_to_the_second(seconds)}.{milliseconds:03}Z"


@lru_cache(maxsize=1)  # failures come in bursts: their common second is put into words once
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))

"""Now, for the wire and on the clock of the event loop; and new ids."""

from __future__ import annotations

import asyncio
import os
import random
import time
from functools import lru_cache


def loop_time() -> float:
    """Return the event loop's time in seconds, which deadlines use; without a running loop, the monotonic time.

    In tests the loop's time may jump, so code that compares times with a deadline must not use `time.monotonic`.
    """
    loop = asyncio._get_running_loop()  # noqa: SLF001 - documented, and no exception where there is none
    return time.monotonic() if loop is None else loop.time()


def utc_timestamp(*, after_s: float = 0.0) -> str:
    """Return now, or `after_s` seconds from now, in UTC as ISO 8601 with milliseconds and `Z`."""
    now = time.time_ns() // 1_000_000
    seconds, milliseconds = divmod(now + int(after_s * 1_000) if after_s else now, 1_000)
    return f"{_to_the_second(seconds)}.{str(milliseconds).zfill(3)}Z"  # a format costs twice as much


@lru_cache(maxsize=1)  # failures come in bursts: the text of a second is cached
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


_random = random.Random()  # noqa: S311 - ids are no secrets, and a system call for each would take 3 % of a failed call


if hasattr(os, "register_at_fork"):  # a child would go on with its parent's ids
    os.register_at_fork(after_in_child=_random.seed)


def new_id() -> str:
    """Return 16 hexadecimal digits that no other call has, in no other process either."""
    return f"{_random.getrandbits(64):016x}"

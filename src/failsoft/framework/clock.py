"""Now, for the wire, on the clock of the event loop, and on one that does not jump; new ids; once a minute."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cache, lru_cache
from pathlib import Path


def loop_time() -> float:
    """Return the event loop's time in seconds, which deadlines use; without a running loop, the monotonic time.

    In tests the loop's time may jump, so code that compares times with a deadline must not use `time.monotonic`.
    """
    loop = asyncio._get_running_loop()  # noqa: SLF001 - documented, and no exception where there is none
    return time.monotonic() if loop is None else loop.time()


def elapsed_s() -> float:
    """Return the seconds since the machine started, suspends included: a clock that nothing can set."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


_BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", None)


def steady_clock() -> Callable[[], float]:
    """Return a clock that starts at the system time and ignores its jumps, in seconds since the epoch.

    For whatever expires: an hour that the system time skips makes nothing an hour older.
    """
    ahead_s = time.time() - elapsed_s()
    return lambda: elapsed_s() + ahead_s


@cache
def boot_id() -> str:
    """Return what identifies this start of the machine, for all its processes; empty where that is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # not Linux
        return ""


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


_QUIET_S = 60.0
_KINDS_AT_MOST = 1_000


class OnceAMinute:
    """Counts equal events, of which there may be thousands a second.

    The first is due at once, the others together, with the next one after a minute.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()

    def due(self, kind: Hashable = None) -> int:
        """Count an event, and return how many of its kind are to be logged now; 0 if it is not yet time.

        Args:
            kind: Events of other kinds are counted apart; the last 1,000 kinds are kept.
        """
        with self._lock:
            count, told_at = self._counts.get(kind, (0, float("-inf")))
            now = self._clock()
            is_due = now - told_at >= _QUIET_S
            self._counts[kind] = (0, now) if is_due else (count + 1, told_at)
            self._counts.move_to_end(kind)
            if len(self._counts) > _KINDS_AT_MOST:
                self._counts.popitem(last=False)
            return count + 1 if is_due else 0

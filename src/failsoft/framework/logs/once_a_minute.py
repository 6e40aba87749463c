"""What may happen thousands of times a second, in one record a minute that says how often."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_QUIET_S = 60.0
_KINDS_AT_MOST = 1_000


class OnceAMinute:
    """Counts equal events; the first is due at once, the others together, with the next one after a minute.

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

"""Decides when a worker is started again and when its silence counts: numbers only, without processes and clocks."""

from __future__ import annotations

from dataclasses import dataclass

STABLE_S = 10.0
"""A worker that served for so long, in seconds, has its earlier ends forgotten."""
FIRST_PAUSE_S = 0.5
"""The shortest pause before a start, in seconds, apart from none."""
_PAUSE_S_AT_MOST = 10.0
_ENDS_OF_A_LOOP = 4


@dataclass(frozen=True, slots=True)
class Restarts:
    """How often a worker has ended in a row, each time soon after its start.

    The first restart is immediate; the pauses before further ones double up to a bound.
    """

    ends: int = 0

    def after(self, served_s: float) -> Restarts:
        """Return the count after one more end; `served_s` is how long the worker served, 0 if it did not start."""
        return Restarts(1 if served_s >= STABLE_S else self.ends + 1)

    @property
    def pause_s(self) -> float:
        """The pause before the next start, in seconds."""
        if self.ends <= 1:
            return 0.0
        doublings = min(self.ends - 2, 16)
        return min(FIRST_PAUSE_S * 2.0**doublings, _PAUSE_S_AT_MOST)

    @property
    def is_loop(self) -> bool:
        """Whether the last end makes the ends a crash loop; true once in a row of ends."""
        return self.ends == _ENDS_OF_A_LOOP


class Silence:
    """How long another part has been silent while this one watched.

    Where the watching part did not run either (a stopped machine, a debugger), the time before that does not count. A
    pause of less than half the limit need not be noticed: the other part has been silent for the rest by itself.

    Args:
        limit_s: What counts as a stall, in seconds.
        now_s: The time, on a monotonic clock.
    """

    def __init__(self, limit_s: float, now_s: float) -> None:
        self.limit_s = limit_s
        self._looked_at_s = self._watching_since_s = now_s

    def look(self, now_s: float) -> None:
        """Note that the watching part runs; it has to do so four times in each `limit_s`."""
        if now_s - self._looked_at_s > self.limit_s / 2:
            self._watching_since_s = now_s
        self._looked_at_s = now_s

    def is_stall(self, silent_s: float) -> bool:
        """Return whether so long a silence, up to the last look, is a stall."""
        return min(silent_s, self._looked_at_s - self._watching_since_s) > self.limit_s

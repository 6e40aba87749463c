"""How long calls take in the last seconds, before they have ended: percentiles show a slow dependency minutes later."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from failsoft.framework.clock import utc_timestamp

WATCHED_S = 6.0
"""From which age on readings are forgotten, in seconds, apart from the last three."""
_WATCHED_AT_LEAST_S, _FORGOTTEN_S = 3.0, 15.0
_READINGS_AT_LEAST = 3
_SLOW_S, _SLOWER = 1.0, 5.0
"""A slow call takes so many seconds, and so many times as long as usual."""
Key: TypeAlias = tuple[str, str]


class Slow(NamedTuple):
    """How slow the calls of an operation are.

    Args:
        mean_s: How long they take, in seconds; they may take longer.
        since: Since when that is known.
    """

    mean_s: float
    since: str


class _Moment(NamedTuple):
    """The calls in flight at one moment, of operations with any, and the calls that have ended, of all."""

    at_s: float
    running: Mapping[Key, int]
    ended: Mapping[Key, int]


class Pace:
    """Compares the calls in flight over the last readings with those that have ended since."""

    def __init__(self) -> None:
        self._readings: deque[_Moment] = deque()
        self._since: dict[Key, str] = {}

    def slow(self, operations: Sequence[Mapping[str, Any]], at_s: float) -> dict[Key, Slow]:
        """Return the operations that are slow now, a second and five times their median at least.

        Args:
            operations: Those of the status.
            at_s: When it was read, on a monotonic clock.
        """
        rows = {(one["tool"], one["operation"]): one for one in operations}
        running = {key: row["in_flight"] for key, row in rows.items() if row["in_flight"]}
        readings = self._readings
        readings.append(_Moment(at_s, running, {key: sum(row["calls"].values()) for key, row in rows.items()}))
        while at_s - readings[0].at_s > (WATCHED_S if len(readings) > _READINGS_AT_LEAST else _FORGOTTEN_S):
            readings.popleft()
        means = {key: self._mean_s(key) for key in {key for reading in readings for key in reading.running}}
        began = utc_timestamp(after_s=readings[0].at_s - at_s)
        self._since = {key: self._since.get(key, began) for key, mean_s in means.items() if mean_s > _SLOW_S}
        return {
            key: Slow(means[key], since)
            for key, since in self._since.items()
            if key in rows and means[key] * 1_000 >= _SLOWER * (rows[key]["p50_ms"] or 0.0)
        }

    def _mean_s(self, key: Key) -> float:
        """Return how long calls took, in seconds; 0 if too little is known."""
        seen = [reading for reading in self._readings if key in reading.ended]
        if len(seen) < _READINGS_AT_LEAST or seen[-1].at_s - seen[0].at_s < _WATCHED_AT_LEAST_S:
            return 0.0
        busy_s = sum(
            min(before.running.get(key, 0), after.running.get(key, 0)) * (after.at_s - before.at_s)
            for before, after in pairwise(seen)
        )
        return busy_s / max(1, seen[-1].ended[key] - seen[0].ended[key])

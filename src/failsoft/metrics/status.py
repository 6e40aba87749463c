"""Rates, percentiles, errors and the burn of the objective of a server, over all its workers, for its page."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from operator import sub
from typing import Any, TypeAlias

from failsoft.framework.clock import utc_timestamp
from failsoft.metrics.definitions import (
    CALLS,
    CIRCUIT_TRANSITIONS,
    DURATION,
    ERRORS,
    INFLIGHT,
    NEXT_STEPS,
    REFUSED,
    REPEATED_FAILURES,
    MetricDefinition,
)
from failsoft.metrics.families import Merged, Series
from failsoft.metrics.recorder import PrometheusRecorder
from failsoft.metrics.rules import FAULTS

SAMPLE_EVERY_S = 60.0
_SAMPLES_AT_MOST = 62
_WINDOW_S, _LONG_WINDOW_S = 300.0, 3_600.0
_RATE_S = 60.0
_SIGNS = (REFUSED, REPEATED_FAILURES)
"""Counters of incidents that no failed call tells of; how often a circuit closed is another."""
Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The counts at one moment.

    Args:
        at_s: When, on a monotonic clock.
        calls: How many calls there were.
        faults: How many failed by fault of the server.
        outcomes: The calls by outcome, by operation.
        durations: The buckets of their durations, by operation.
        errors: The failures by code.
    """

    at_s: float
    calls: float = 0.0
    faults: float = 0.0
    outcomes: Series = field(default_factory=dict)
    durations: Series = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)


class _Signs:
    """By how much the counters of incidents have risen, and when."""

    def __init__(self) -> None:
        self._before: dict[Key, int] | None = None
        self._rises: deque[tuple[float, Key, int]] = deque()
        self._lock = threading.Lock()

    def note(self, series: Mapping[str, Series], at_s: float) -> list[dict[str, Any]]:
        """Return the counters that rose in the short window; what was there at the first call is no rise."""
        now: dict[Key, int] = {
            (metric.name, label): int(count)
            for metric in _SIGNS
            for labels, counts in series[metric.name].items()
            for label, count in zip(_labels(metric, labels), counts, strict=True)
        }
        for (dependency,), counts in series[CIRCUIT_TRANSITIONS.name].items():
            closings = counts[CIRCUIT_TRANSITIONS.values.index("closed")]
            now[CIRCUIT_TRANSITIONS.name, dependency] = int(closings)
        with self._lock:
            before = now if self._before is None else self._before
            self._before = now
            rises = {key: count - before.get(key, 0) for key, count in now.items()}
            self._rises.extend((at_s, key, by) for key, by in rises.items() if by > 0)
            while self._rises and at_s - self._rises[0][0] > _WINDOW_S:
                self._rises.popleft()
            found: dict[Key, dict[str, Any]] = {}
            for seen_s, key, by in self._rises:
                seen = utc_timestamp(after_s=seen_s - at_s)
                sign = found.setdefault(key, {"metric": key[0], "label": key[1], "count": 0, "first": seen})
                sign |= {"count": sign["count"] + by, "last": seen}
            return list(found.values())


class StatusNumbers:
    """Reads the numbers, and keeps a sample of each minute of the last hour.

    Args:
        recorders: Those of the runtimes of the server.
        objective: The share of calls that should not fail by fault of the server.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        recorders: Sequence[PrometheusRecorder],
        *,
        objective: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._recorders, self._objective, self._clock = recorders, objective, clock
        self._samples: deque[_Sample] = deque([_Sample(clock())], maxlen=_SAMPLES_AT_MOST)
        self._signs = _Signs()

    def begin(self) -> None:
        """Take the counters of incidents as they are: what they rise by from now on are signs."""
        self._signs.note(Merged(self._recorders).series, self._clock())

    def sample(self) -> None:
        """Keep the numbers as they are now; of samples older than the short window the totals alone."""
        series = Merged(self._recorders).series
        now = self._sampled(series)
        self._signs.note(series, now.at_s)
        for at, old in enumerate(self._samples):
            if old.outcomes and now.at_s - old.at_s > _WINDOW_S + SAMPLE_EVERY_S:
                self._samples[at] = replace(old, outcomes={}, durations={})
        self._samples.append(now)

    def history(self) -> dict[str, Any]:
        """Return the counts of all samples, oldest first, with `at` in ISO 8601."""
        samples, now_s = list(self._samples), self._clock()
        codes = sorted({code for sample in samples for code in sample.errors})
        return {
            "at": [utc_timestamp(after_s=sample.at_s - now_s) for sample in samples],
            "errors": {code: [sample.errors.get(code, 0) for sample in samples] for code in codes},
        }

    def read(self) -> dict[str, Any]:
        """Return `operations`, `errors`, `objective` and `advice`, and what the status does not show as it is.

        That is `signs`, the counters of incidents that have risen in the short window; `failing_since`, the minute in
        which calls began to fail more often than the objective permits, or None; and `series`, by metric.
        """
        series = Merged(self._recorders).series
        now = self._sampled(series)
        signs = self._signs.note(series, now.at_s)
        before, minute = self._before(now.at_s - _WINDOW_S), self._before(now.at_s - _RATE_S)
        running = series[INFLIGHT.name]
        return {
            "operations": [
                {
                    "tool": tool,
                    "operation": operation,
                    "calls": dict(zip(CALLS.values, map(int, outcomes), strict=True)),
                    "rate_per_s": _rate(outcomes, minute.outcomes.get((tool, operation)), now.at_s - minute.at_s),
                    **_percentiles(now.durations.get((tool, operation)), before.durations.get((tool, operation))),
                    "in_flight": int(running.get((tool, operation), (0,))[0]),
                }
                for (tool, operation), outcomes in sorted(now.outcomes.items())
            ],
            "errors": [
                {"tool": tool, "operation": operation, "category": category, "code": code, "count": int(count)}
                for (tool, operation, category, code), (count,) in sorted(series[ERRORS.name].items())
            ],
            "objective": {
                "target": self._objective,
                "burn_5m": self._burn(now, _WINDOW_S),
                "burn_1h": self._burn(now, _LONG_WINDOW_S),
            },
            "advice": dict(zip(NEXT_STEPS.values, _summed(series[NEXT_STEPS.name]), strict=True)),
            "signs": signs,
            "failing_since": self._failing_since(now),
            "series": series,
        }

    def _sampled(self, series: Mapping[str, Series]) -> _Sample:
        outcomes: Series = {key: tuple(values) for key, values in series[CALLS.name].items()}
        durations: Series = {key: tuple(values) for key, values in series[DURATION.name].items()}
        faults, errors = 0.0, Counter[str]()
        for (_, _, category, code), (count,) in series[ERRORS.name].items():
            faults += count if category in FAULTS else 0
            errors[code] += int(count)
        return _Sample(self._clock(), sum(map(sum, outcomes.values())), faults, outcomes, durations, errors)

    def _before(self, at_s: float) -> _Sample:
        """Return the last sample that is as old; the oldest if none is."""
        return next((sample for sample in reversed(self._samples) if sample.at_s <= at_s), self._samples[0])

    def _failing_since(self, now: _Sample) -> str | None:
        """Return since when calls fail more often than permitted, without a break until now; None if they do not."""
        since_s = None
        for before, after in reversed([*pairwise([*self._samples, now])]):
            calls = after.calls - before.calls
            if calls <= 0 and after is now:
                continue
            if calls <= 0 or (after.faults - before.faults) / calls <= 1 - self._objective:
                break
            since_s = before.at_s
        return None if since_s is None else utc_timestamp(after_s=since_s - now.at_s)

    def _burn(self, now: _Sample, window_s: float) -> float:
        """Return how many times faster than the objective permits calls failed: 1 uses up what it permits."""
        before = self._before(now.at_s - window_s)
        calls, permitted = now.calls - before.calls, 1 - self._objective
        return round((now.faults - before.faults) / calls / permitted, 3) if calls > 0 and permitted > 0 else 0.0


def _labels(metric: MetricDefinition, labels: Key) -> Key:
    """Return the values of the only label of a metric, one for each of its numbers."""
    return metric.values or labels


def _rate(now: Sequence[float], before: Sequence[float] | None, seconds: float) -> float:
    return round((sum(now) - sum(before or ())) / max(seconds, 1.0), 3)


def _percentiles(now: Sequence[float] | None, before: Sequence[float] | None) -> dict[str, float | None]:
    """Return p50, p95 and p99 in milliseconds, interpolated within buckets; None without calls."""
    if now is None:
        return dict.fromkeys(("p50_ms", "p95_ms", "p99_ms"))
    counts = list(now[:-1] if before is None else map(sub, now[:-1], before[:-1]))
    if sum(counts) <= 0:
        counts = list(now[:-1])
    return {f"p{percent}_ms": _percentile(counts, percent / 100) for percent in (50, 95, 99)}


def _percentile(counts: Sequence[float], share: float) -> float | None:
    total = sum(counts)
    if total <= 0:
        return None
    wanted, below = share * total, 0.0
    bounds = (0.0, *DURATION.buckets)
    for number, until in enumerate(accumulate(counts)):
        if until >= wanted:
            lower = bounds[min(number, len(bounds) - 1)]
            upper = bounds[number + 1] if number + 1 < len(bounds) else lower
            within = (wanted - below) / (until - below) if until > below else 1.0
            return round((lower + (upper - lower) * within) * 1_000, 3)
        below = until
    return None


def _summed(rows: Series) -> list[int]:
    return [int(sum(values[at] for values in rows.values())) for at in range(len(NEXT_STEPS.values))]

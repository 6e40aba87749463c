"""The recorder of a single process: plain numbers under one lock per operation, made into families at scrape.

Measured against kept prometheus-client children on one successful call: about a quarter of the time.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from failsoft.framework.ports import AttemptResult, Outcome, RecoveryOutcome
from failsoft.metrics.definitions import DURATION_BUCKETS_S, definition

__all__ = ["SlotCollector", "Slots"]

Labels: TypeAlias = tuple[str, ...]
_BOUNDS = (*DURATION_BUCKETS_S, float("inf"))


class Slots:
    """The numbers of one operation."""

    __slots__ = (
        "_attempts",
        "_buckets",
        "_calls",
        "_errors",
        "_inflight",
        "_lock",
        "_recoveries",
        "_seconds",
        "labels",
    )

    def __init__(self, tool: str, operation: str) -> None:
        self.labels = (tool, operation)
        self._lock = threading.Lock()
        self._inflight = 0
        self._seconds = 0.0
        self._buckets = [0] * len(_BOUNDS)
        self._calls: dict[Labels, int] = {("ok",): 0}
        self._attempts: dict[Labels, int] = {("ok",): 0}
        self._errors: dict[Labels, int] = {}
        self._recoveries: dict[Labels, int] = {}

    def started(self) -> None:
        """Count a call as in flight."""
        with self._lock:
            self._inflight += 1

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a call as over, with its outcome and its duration in seconds."""
        key = (outcome,)
        with self._lock:
            self._inflight -= 1
            self._seconds += duration_s
            self._buckets[bisect_left(DURATION_BUCKETS_S, duration_s)] += 1
            self._calls[key] = self._calls.get(key, 0) + 1

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""
        key = (result,)
        with self._lock:
            self._attempts[key] = self._attempts.get(key, 0) + 1

    def failed(self, category: str, code: str) -> None:
        """Count an error that the caller was told."""
        with self._lock:
            self._errors[category, code] = self._errors.get((category, code), 0) + 1

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""
        with self._lock:
            self._recoveries[strategy, result] = self._recoveries.get((strategy, result), 0) + 1

    def add_to(self, families: _Families) -> None:
        """Add these numbers, all from one moment, to the families of a scrape."""
        with self._lock:
            inflight, seconds, buckets = self._inflight, self._seconds, list(self._buckets)
            counted = [dict(table) for table in (self._calls, self._errors, self._attempts, self._recoveries)]
        counters = (families.calls, families.errors, families.attempts, families.recoveries)
        for family, table in zip(counters, counted, strict=True):
            for labels, value in table.items():
                family.add_metric((*self.labels, *labels), value)
        families.durations.add_metric(self.labels, _cumulative(buckets), seconds)
        families.inflight.add_metric(self.labels, inflight)


class _Families:
    """The families of one scrape, in the order of the definitions."""

    def __init__(self) -> None:
        self.calls = _counter("mcp_tool_calls_total")
        duration = definition("mcp_tool_call_duration_seconds")
        self.durations = HistogramMetricFamily(duration.name, duration.help, labels=duration.labels)
        self.errors = _counter("mcp_tool_errors_total")
        self.attempts = _counter("mcp_tool_attempts_total")
        self.recoveries = _counter("mcp_tool_recoveries_total")
        inflight = definition("mcp_tool_inflight")
        self.inflight = GaugeMetricFamily(inflight.name, inflight.help, labels=inflight.labels)

    def __iter__(self) -> Iterator[Metric]:
        yield from (self.calls, self.durations, self.errors, self.attempts, self.recoveries, self.inflight)


class SlotCollector(Collector):
    """Shows the slots of all operations to a registry."""

    def __init__(self, slots: Iterable[Slots]) -> None:
        self._slots = slots

    def collect(self) -> Iterable[Metric]:
        """Return the families with the numbers of this moment."""
        families = _Families()
        for slots in tuple(self._slots):
            slots.add_to(families)
        return families

    def describe(self) -> Iterable[Metric]:
        """Return the families without numbers: a registry asks for their names when it takes the collector."""
        return _Families()


def _counter(name: str) -> CounterMetricFamily:
    metric = definition(name)
    return CounterMetricFamily(metric.name, metric.help, labels=metric.labels)


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    total = 0
    rows: list[tuple[str, float]] = []
    for bound, count in zip(_BOUNDS, buckets, strict=True):
        total += count
        rows.append((floatToGoString(bound), total))  # type: ignore[no-untyped-call]
    return rows

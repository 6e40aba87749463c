"""Per-operation metrics with several workers: children of prometheus-client, with values in shared files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from failsoft.framework.events import AttemptResult, Outcome, RecoveryOutcome
from failsoft.metrics.definitions import (
    ATTEMPTS,
    CALLS,
    DEFINITIONS,
    DURATION,
    ERRORS,
    INFLIGHT,
    OTHER,
    RECOVERIES,
    RETRY_BUDGET,
    MetricDefinition,
)
from failsoft.metrics.labels import Admission, label

_MODES: dict[str, Any] = {"sum": "livesum", "max": "livemax", "min": "livemin"}
Families: TypeAlias = Mapping[MetricDefinition, Any]


def make_families(registry: CollectorRegistry | None) -> Families:
    """Return prometheus-client's metric for every definition, registered if there is a registry."""
    return {item: _make(item, registry) for item in DEFINITIONS}


@cache
def shared_families() -> Families:
    """Return the metrics of this process; a second set would overwrite the values of the first in the same files."""
    return make_families(None)


def _make(item: MetricDefinition, registry: CollectorRegistry | None) -> Any:
    if item.kind == "counter":
        return Counter(item.name, item.help, item.labels, registry=registry)
    if item.kind == "histogram":
        return Histogram(item.name, item.help, item.labels, registry=registry, buckets=item.buckets)
    return Gauge(
        item.name,
        item.help,
        item.labels,
        registry=registry,
        multiprocess_mode="livemostrecent" if item is RETRY_BUDGET else _MODES[item.merge],
    )


class Children:
    """The cached children of one operation. Counting never raises: a full disk must not fail calls.

    Args:
        families: The metrics.
        tool: The first label.
        operation: The second label.
        limit: Distinct codes, and distinct strategies, with a series of their own.
    """

    def __init__(self, families: Families, tool: str, operation: str, limit: int) -> None:
        own = (tool, operation)
        self._own = own
        self._families = families
        self._inflight = families[INFLIGHT].labels(*own)
        self._duration = families[DURATION].labels(*own)
        self._calls = {outcome: families[CALLS].labels(*own, outcome) for outcome in CALLS.values}
        self._attempts = {result: families[ATTEMPTS].labels(*own, result) for result in ATTEMPTS.values}
        self._codes = Admission[tuple[str, str]](limit, (OTHER, OTHER))
        self._strategies = Admission[tuple[str, str]](limit, (OTHER, OTHER))
        self._lock = Lock()

    def started(self) -> None:
        """Count a call as in flight."""
        with suppress(Exception):
            self._inflight.inc()

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a finished call, with its outcome and its duration in seconds."""
        with suppress(Exception):
            self._inflight.dec()
            self._calls[outcome].inc()
            self._duration.observe(duration_s)

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""
        with suppress(Exception):
            self._attempts[result].inc()

    def failed(self, category: str, code: str) -> None:
        """Count an error that was returned to the caller."""
        with suppress(Exception):
            self._count(ERRORS, self._codes, category, code)

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""
        with suppress(Exception):
            self._count(RECOVERIES, self._strategies, strategy, result)

    def _count(self, item: MetricDefinition, admission: Admission[tuple[str, str]], first: str, second: str) -> None:
        with self._lock:
            pair = admission((label(first), label(second)))
        self._families[item].labels(*self._own, *pair).inc()

"""Per-operation metrics of one process: plain values with one lock, converted to families at the scrape.

A call takes three short locks instead of five chains of methods: 0.7 us, where prometheus-client's children take 2.7.
Several workers need those, with values in shared files (`children.py`); a test compares the two expositions byte for
byte, so a new metric of calls goes into both. Here prometheus_client loads with the first scrape, and there are no
`_created` series.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

from failsoft.framework.events import AttemptResult, Outcome, RecoveryOutcome
from failsoft.metrics.definitions import (
    ATTEMPTS,
    CALLS,
    DURATION,
    ERRORS,
    INFLIGHT,
    OTHER,
    RECOVERIES,
    MetricDefinition,
)
from failsoft.metrics.labels import Admission, label

Pair: TypeAlias = tuple[str, str]
Row: TypeAlias = tuple[str, tuple[str, ...], float]
"""A suffix of the metric's name, the values of its labels, and the number."""

_BOUNDS = DURATION.buckets
_LE = (*(str(bound) for bound in _BOUNDS), "+Inf")


class Numbers(NamedTuple):
    """A snapshot of the slots of one operation; `buckets` are not cumulative, the last one has no upper bound."""

    labels: Pair
    inflight: int
    buckets: list[int]
    seconds: float
    counted: dict[MetricDefinition, dict[Any, int]]

    def rows(self, item: MetricDefinition) -> Iterator[Row]:
        """Yield the samples of one metric."""
        own = self.labels
        if item is DURATION:
            total = 0
            for bound, total in zip(_LE, accumulate(self.buckets), strict=True):
                yield "_bucket", (*own, bound), total
            yield "_count", own, total
            yield "_sum", own, self.seconds
        elif item is INFLIGHT:
            yield "", own, self.inflight
        else:
            for key, count in self.counted.get(item, {}).items():
                yield "_total", (*own, *(key if isinstance(key, tuple) else (key,))), count


class Slots:
    """The metric values of one operation. Thread-safe and exact; counting never raises.

    Args:
        tool: The first label.
        operation: The second label.
        limit: Distinct codes, and distinct strategies, with a series of their own.
    """

    never_raises = True

    __slots__ = (
        "_acquire",
        "_attempts",
        "_buckets",
        "_calls",
        "_codes",
        "_errors",
        "_inflight",
        "_recoveries",
        "_release",
        "_seconds",
        "_strategies",
        "labels",
    )

    def __init__(self, tool: str, operation: str, limit: int) -> None:
        self.labels = (tool, operation)
        lock = Lock()
        # Bound once: `with lock` looks both methods up every time, which makes a call a quarter more expensive.
        self._acquire: Callable[[], bool] = lock.acquire
        self._release: Callable[[], None] = lock.release
        self._inflight = 0
        self._seconds = 0.0
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._calls = dict.fromkeys(CALLS.values, 0)
        self._attempts = dict.fromkeys(ATTEMPTS.values, 0)
        self._errors: dict[Pair, int] = {}
        self._recoveries: dict[Pair, int] = {}
        self._codes = Admission[Pair](limit, (OTHER, OTHER))
        self._strategies = Admission[Pair](limit, (OTHER, OTHER))

    def started(self) -> None:
        """Count a call as in flight."""
        self._acquire()
        try:
            self._inflight += 1
        finally:
            self._release()

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a call as over, with its outcome and its duration in seconds."""
        self._acquire()
        try:
            self._inflight -= 1
            self._calls[outcome] += 1
            self._buckets[bisect_left(_BOUNDS, duration_s)] += 1
            self._seconds += duration_s
        except Exception:  # noqa: BLE001, S110 - an unknown outcome is not counted; the call goes on
            pass
        finally:
            self._release()

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""
        self._acquire()
        try:
            self._attempts[result] += 1
        except Exception:  # noqa: BLE001, S110 - as above
            pass
        finally:
            self._release()

    def failed(self, category: str, code: str) -> None:
        """Count an error that was returned to the caller."""
        self._count(self._errors, self._codes, category, code)

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""
        self._count(self._recoveries, self._strategies, strategy, result)

    def numbers(self) -> Numbers:
        """Return a consistent copy of the values."""
        self._acquire()
        try:
            return Numbers(
                self.labels,
                self._inflight,
                self._buckets.copy(),
                self._seconds,
                {
                    CALLS: self._calls.copy(),
                    ERRORS: self._errors.copy(),
                    ATTEMPTS: self._attempts.copy(),
                    RECOVERIES: self._recoveries.copy(),
                },
            )
        finally:
            self._release()

    def _count(self, table: dict[Pair, int], admission: Admission[Pair], first: str, second: str) -> None:
        self._acquire()
        try:
            pair = first, second
            if pair not in table:
                pair = admission((label(first), label(second)))
            table[pair] = table.get(pair, 0) + 1
        except Exception:  # noqa: BLE001, S110 - as above
            pass
        finally:
            self._release()

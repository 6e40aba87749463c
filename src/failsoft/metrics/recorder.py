"""The recorder of a runtime: counts calls and events into numbers, and reads gauges."""

from __future__ import annotations

import threading
import time
import weakref
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from failsoft.framework.events import (
    AttemptResult,
    AuditEvent,
    CircuitEvent,
    Event,
    NextStepEvent,
    Outcome,
    RecoveryOutcome,
    RefusalEvent,
    ReloadEvent,
    RepeatedFailureEvent,
    StoreEvent,
    StoreLatencyEvent,
    WorkerEvent,
)
from failsoft.framework.recorders import Gauges
from failsoft.metrics.board import Gauge, in_use
from failsoft.metrics.definitions import (
    ATTEMPTS,
    AUDIT_FAILURES,
    BY_NAME,
    CALLS,
    CIRCUIT_TRANSITIONS,
    DURATION,
    ERRORS,
    INFLIGHT,
    NEXT_STEPS,
    OTHER,
    RECOVERIES,
    REFUSED,
    RELOAD_OK,
    REPEATED_FAILURES,
    STATE_STORE_LATENCY,
    STATE_STORE_LOSSES,
    WORKER_RESTARTS,
    MetricDefinition,
)
from failsoft.metrics.families import FamilyCollector
from failsoft.metrics.values import Cells, FirstKeys, Numbers, Traced, label

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Pair: TypeAlias = tuple[str, str]
_BOUNDS = DURATION.buckets
_OUTCOMES = {outcome: number for number, outcome in enumerate(CALLS.values)}
_RESULTS = {result: number for number, result in enumerate(ATTEMPTS.values)}


class PrometheusRecorder:
    """The recorder of a runtime: exact, thread-safe, bounded; it never raises into a call.

    Calls are counted through `bind`, what else happens from events. Gauges are read at each scrape. In a worker the
    numbers are on its board, where the scrapes of the other workers find them. prometheus-client is loaded by the first
    scrape.

    Args:
        registry: Where the families are registered; by default a separate registry, so that runtimes do not share
            metrics with each other or with the process.
        label_limit: Operations, dependencies and other labels of a metric with a series of their own; further ones
            share `__other__`.
        code_limit: Codes, and strategies, with a series of their own within one operation.

    Examples:
        >>> runtime = Runtime(metrics=PrometheusRecorder(label_limit=200))
    """

    listens_to = (
        *(AuditEvent, CircuitEvent, RefusalEvent, ReloadEvent, StoreEvent, StoreLatencyEvent),
        *(NextStepEvent, RepeatedFailureEvent, WorkerEvent),
    )
    """The events that `on_event` handles; others need not be created for it."""

    def __init__(
        self, registry: CollectorRegistry | None = None, *, label_limit: int = 1_000, code_limit: int = 100
    ) -> None:
        self._label_limit, self._code_limit = label_limit, code_limit
        self._operations = FirstKeys[Pair](label_limit, (OTHER, OTHER))
        self._bound: dict[Pair, OperationNumbers] = {}
        self._admitted: dict[str, FirstKeys[tuple[str, ...]]] = {}
        self._cells: dict[tuple[str, tuple[str, ...]], Cells] = {}
        self._lock = threading.Lock()
        self._gauges: weakref.WeakSet[Gauges] = weakref.WeakSet()
        self._last: dict[tuple[str, tuple[str, ...]], float] = {}
        """Gauges that events tell."""
        self._registry: CollectorRegistry | None = None
        board = in_use()
        self.numbers = Numbers() if board is None else board.numbers
        if board is not None:
            board.gauges.append(self.gauges)
        if registry is not None:
            self._registry = self._registered(registry)
        self.count(REFUSED, "401", by=0)  # so that the first scrape of a flood shows a rate

    @property
    def registry(self) -> CollectorRegistry:
        """The registry with the values; in a worker, those of all workers."""
        with self._lock:
            if self._registry is None:
                from prometheus_client import CollectorRegistry  # noqa: PLC0415 - 60 ms, for those who scrape

                self._registry = self._registered(CollectorRegistry())
            return self._registry

    def bind(self, tool: str, operation: str) -> OperationNumbers:
        """Return the recorder of one operation; the same one for the same names."""
        with self._lock:
            key = self._operations((label(tool), label(operation)))
            bound = self._bound.get(key)
            if bound is None:
                bound = self._bound[key] = OperationNumbers(self.numbers, *key, self._code_limit)
            return bound

    def on_event(self, event: Event) -> None:
        """Count what happened."""
        if isinstance(event, RepeatedFailureEvent):
            self.count(REPEATED_FAILURES, event.code)
        elif isinstance(event, NextStepEvent):
            self.count(NEXT_STEPS, event.code, event.result)
        elif isinstance(event, StoreLatencyEvent):
            self.observe(STATE_STORE_LATENCY, event.latency_s)
        elif isinstance(event, RefusalEvent):
            self.count(REFUSED, str(event.status))
        elif isinstance(event, CircuitEvent):
            self.count(CIRCUIT_TRANSITIONS, event.dependency, event.state, by=int(event.was is not None))
        elif isinstance(event, StoreEvent):
            self.count(STATE_STORE_LOSSES, by=int(not event.available))
        elif isinstance(event, AuditEvent):
            self.count(AUDIT_FAILURES, by=int(not event.ok))
        elif isinstance(event, ReloadEvent):
            self._last[RELOAD_OK.name, ()] = float(event.ok)
        elif isinstance(event, WorkerEvent) and event.kind == "ended" and event.reason != "stopped":
            self.count(WORKER_RESTARTS, event.reason or "exited")

    def count(self, metric: MetricDefinition, *labels: str, by: int = 1) -> None:
        """Count something else than a call, under the values of the labels of its metric; it never raises."""
        with suppress(Exception):
            own, number = (labels[:-1], metric.values.index(labels[-1])) if metric.values else (labels, 0)
            with self._lock:
                self._row(metric, own)[number] += by

    def observe(self, metric: MetricDefinition, value: float, *labels: str) -> None:
        """Add a value to a histogram; it never raises."""
        with suppress(Exception), self._lock:
            cells = self._row(metric, labels)
            cells[bisect_left(metric.buckets, value)] += 1
            cells[-1] += value

    def watch(self, gauges: Gauges) -> None:
        """Show these gauges for as long as their runtime lives."""
        self._gauges.add(gauges)

    async def refresh(self) -> None:
        """Ask shared stores for what `gauges` returns."""
        for gauges in list(self._gauges):
            await gauges.refresh()

    def gauges(self, *, shared: bool = False) -> list[Gauge]:
        """Return the gauges as they are now.

        Args:
            shared: Whether to return those that `refresh` asks for, which are the same in every process of a server;
                otherwise those of this process.
        """
        read = [] if shared else [(*key, value) for key, value in self._last.items()]
        for gauges in list(self._gauges):
            read += gauges.read(shared=shared)
        with self._lock:
            return [(name, self._admit(name, labels), value) for name, labels, value in read if name in BY_NAME]

    def exemplars(self) -> dict[tuple[str, ...], dict[int, Traced]]:
        """Return the examples of the durations of calls in this process, by labels and bucket."""
        with self._lock:
            bound = list(self._bound.values())
        return {numbers.labels: numbers.exemplars.copy() for numbers in bound if numbers.exemplars}

    def _row(self, metric: MetricDefinition, labels: tuple[str, ...]) -> Cells:
        cells = self._cells.get((metric.name, labels))
        if cells is None:
            key = metric.name, self._admit(metric.name, labels)
            cells = self._cells.get(key)
            if cells is None:
                cells = self._cells[key] = self.numbers.new(*key)
        return cells

    def _admit(self, name: str, labels: tuple[str, ...]) -> tuple[str, ...]:
        admitted = self._admitted.get(name)
        if admitted is None:
            admitted = self._admitted[name] = FirstKeys(self._label_limit, (OTHER,) * len(labels))
        return admitted(tuple(map(label, labels)))

    def _registered(self, registry: CollectorRegistry) -> CollectorRegistry:
        registry.register(FamilyCollector(self))
        return registry


class OperationNumbers:
    """The numbers of one operation. Thread-safe and exact; counting never raises.

    Args:
        numbers: Where they are.
        tool: The first label.
        operation: The second label.
        limit: Distinct codes, and distinct strategies, with a series of their own.
    """

    never_raises = True

    __slots__ = (
        "_acquire",
        "_admitted",
        "_attempts",
        "_calls",
        "_counted",
        "_duration",
        "_inflight",
        "_numbers",
        "_release",
        "exemplars",
        "labels",
    )

    def __init__(self, numbers: Numbers, tool: str, operation: str, limit: int) -> None:
        self.labels = own = (tool, operation)
        self.exemplars: dict[int, Traced] = {}
        """The last call of a sampled trace, by bucket."""
        self._numbers = numbers
        lock = threading.Lock()
        # Bound once: `with lock` looks both methods up every time, which makes a call a quarter more expensive.
        self._acquire, self._release = lock.acquire, lock.release
        self._inflight = numbers.new(INFLIGHT.name, own)
        self._calls = numbers.new(CALLS.name, own)
        self._attempts = numbers.new(ATTEMPTS.name, own)
        self._duration = numbers.new(DURATION.name, own)
        self._counted: dict[tuple[MetricDefinition, str, str], Cells] = {}
        self._admitted = {metric: FirstKeys[Pair](limit, (OTHER, OTHER)) for metric in (ERRORS, RECOVERIES)}

    def started(self) -> None:
        """Count a call as in flight."""
        self._acquire()
        try:
            self._inflight[0] += 1
        finally:
            self._release()

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a call as over, with its outcome and its duration in seconds."""
        self._acquire()
        try:
            self._inflight[0] -= 1
            self._calls[_OUTCOMES[outcome]] += 1
            duration = self._duration
            duration[bisect_left(_BOUNDS, duration_s)] += 1
            duration[-1] += duration_s
        except Exception:  # noqa: BLE001, S110 - an unknown outcome is not counted; the call goes on
            pass
        finally:
            self._release()

    def exemplify(self, duration_s: float, trace_id: str) -> None:
        """Keep a call of a sampled trace as the example of its bucket; scrapes in OpenMetrics show it."""
        self.exemplars[bisect_left(_BOUNDS, duration_s)] = Traced(trace_id, duration_s, time.time())

    def put_off(self) -> None:
        """Take back a call that was counted as in flight."""
        self._acquire()
        try:
            self._inflight[0] -= 1
        finally:
            self._release()

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""
        self._acquire()
        try:
            self._attempts[_RESULTS[result]] += 1
        except Exception:  # noqa: BLE001, S110 - as above
            pass
        finally:
            self._release()

    def failed(self, category: str, code: str) -> None:
        """Count an error that was returned to the caller."""
        self._count(ERRORS, category, code)

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""
        self._count(RECOVERIES, strategy, result)

    def _count(self, metric: MetricDefinition, first: str, second: str) -> None:
        self._acquire()
        try:
            cells = self._counted.get((metric, first, second))
            if cells is None:
                pair = self._admitted[metric]((label(first), label(second)))
                cells = self._counted.get((metric, *pair))
                if cells is None:
                    cells = self._counted[metric, *pair] = self._numbers.new(metric.name, (*self.labels, *pair))
            cells[0] += 1
        except Exception:  # noqa: BLE001, S110 - as above
            pass
        finally:
            self._release()

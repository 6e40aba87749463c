"""`PrometheusRecorder`: metrics per operation, exposed by one registry."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from failsoft._version import __version__
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.events import BudgetEvent, CircuitEvent, Event, LoadEvent, StateStoreEvent
from failsoft.framework.recorders import OperationMetrics
from failsoft.metrics.definitions import BUILD_INFO, OTHER, MetricDefinition
from failsoft.metrics.dependencies import DependencyChildren, DependencySlots
from failsoft.metrics.labels import Admission, label
from failsoft.metrics.slots import Row, Slots
from failsoft.metrics.state_store import StateStoreChildren, StateStoreSlots

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
Pair: TypeAlias = tuple[str, str]
Source: TypeAlias = Callable[[MetricDefinition], Iterator[Row]]


def is_multiprocess() -> bool:
    """Return whether prometheus-client keeps its values in files that several worker processes share."""
    return _FOLDER in os.environ


class PrometheusRecorder:
    """The recorder of a runtime: exact, thread-safe, bounded; it never raises into a call.

    Calls are counted through `bind`; dependencies and the state store are counted from events.

    prometheus-client is loaded when the registry is first used, unless several workers share their values through it
    (`PROMETHEUS_MULTIPROC_DIR`).

    Args:
        registry: Where the families are registered; by default a separate registry, so that runtimes do not share
            metrics with each other or with the process.
        label_limit: Operations, and dependencies, that get labels of their own; further ones share `__other__`.
        code_limit: Codes, and strategies, with a series of their own within one operation.

    Raises:
        CONFIG_ERROR: Workers cannot share their values.
    """

    listens_to = (CircuitEvent, BudgetEvent, LoadEvent, StateStoreEvent)
    """The events that `on_event` handles; others need not be created for it."""

    def __init__(
        self, registry: CollectorRegistry | None = None, *, label_limit: int = 1_000, code_limit: int = 100
    ) -> None:
        self._code_limit = code_limit
        self._operations = Admission[Pair](label_limit, (OTHER, OTHER))
        self._names = Admission[str](label_limit, OTHER)
        self._bound: dict[Pair, OperationMetrics] = {}
        self._dependencies: dict[str, DependencySlots | DependencyChildren] = {}
        self._store: StateStoreSlots | StateStoreChildren = StateStoreSlots()
        self._lock = threading.Lock()
        self._shared = is_multiprocess()
        self._registry: CollectorRegistry | None = None
        if self._shared:
            _check_sharing()
            self._share()
        if registry is not None:
            self._registry = self._registered(registry)

    @property
    def registry(self) -> CollectorRegistry:
        """The registry with the values; with several workers, those of all of them."""
        with self._lock:
            if self._registry is None:
                from prometheus_client import CollectorRegistry  # noqa: PLC0415 - 60 ms, for those who scrape

                self._registry = self._registered(CollectorRegistry())
            return self._registry

    def bind(self, tool: str, operation: str) -> OperationMetrics:
        """Return the recorder of one operation; the same one for the same names."""
        with self._lock:
            key = self._operations((label(tool), label(operation)))
            bound = self._bound.get(key)
            if bound is None:
                bound = self._bound[key] = self._make(*key)
            return bound

    def on_event(self, event: Event) -> None:
        """Record an event of a dependency or of the state store."""
        if isinstance(event, CircuitEvent):
            self.circuit_state(event.dependency, event.state)
        elif isinstance(event, BudgetEvent):
            self.retry_budget(event.dependency, event.tokens)
        elif isinstance(event, LoadEvent):
            self._dependency(event.dependency).load(event.gauge, event.value)
        elif isinstance(event, StateStoreEvent):
            self._store.note(is_available=event.available)

    def circuit_state(self, dependency: str, state: str) -> None:
        """Note the state of a circuit breaker: closed, open or half_open. A change counts as a transition."""
        self._dependency(dependency).enter(state)

    def retry_budget(self, dependency: str, tokens: float) -> None:
        """Note how many retries the budget of a dependency still allows."""
        self._dependency(dependency).allow(tokens)

    def _dependency(self, name: str) -> DependencySlots | DependencyChildren:
        if (known := self._dependencies.get(name)) is not None:  # a name that is its own label
            return known
        with self._lock:
            key = self._names(label(name))
            known = self._dependencies.get(key)
            if known is None:
                if self._shared:
                    from failsoft.metrics.children import shared_families  # noqa: PLC0415 - as above

                    known = DependencyChildren(shared_families(), key)
                else:
                    known = DependencySlots(key)
                self._dependencies[key] = known
            return known

    def _make(self, tool: str, operation: str) -> OperationMetrics:
        if not self._shared:
            return Slots(tool, operation, self._code_limit)
        from failsoft.metrics.children import Children, shared_families  # noqa: PLC0415 - loads prometheus-client

        return Children(shared_families(), tool, operation, self._code_limit)

    def _registered(self, registry: CollectorRegistry) -> CollectorRegistry:
        if self._shared:
            from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415 - as above

            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # prometheus_client has no types here
        else:
            from failsoft.metrics.collector import SlotCollector  # noqa: PLC0415 - as above

            registry.register(SlotCollector(self._sources))
        return registry

    def _sources(self) -> list[Source]:
        with self._lock:
            operations, dependencies = tuple(self._bound.values()), tuple(self._dependencies.values())
        sources: list[Source] = [item.numbers().rows for item in operations if isinstance(item, Slots)]
        sources += [item.rows for item in dependencies if isinstance(item, DependencySlots)]
        if isinstance(self._store, StateStoreSlots):
            sources.append(self._store.rows)
        return [*sources, _build_rows]

    def _share(self) -> None:
        from failsoft.metrics.children import shared_families  # noqa: PLC0415 - as above

        shared_families()[BUILD_INFO].labels(*_build()).set(1)
        self._store = StateStoreChildren(shared_families())


def _build() -> tuple[str, str]:
    return __version__, platform.python_version()


def _build_rows(item: MetricDefinition) -> Iterator[Row]:
    if item is BUILD_INFO:
        yield "", _build(), 1


def _check_sharing() -> None:
    """Reject configurations that would lose values: no folder, or a prometheus-client that was loaded without it."""
    if not Path(os.environ[_FOLDER]).is_dir():
        raise ConfigurationError(
            issue=f"{_FOLDER} is not a folder", resolution="create an empty folder for it before the workers start"
        )
    from prometheus_client import values  # noqa: PLC0415 - as above

    if not getattr(values.ValueClass, "_multiprocess", False):
        raise ConfigurationError(
            issue=f"{_FOLDER} was set after prometheus-client had been loaded", resolution="set it before the start"
        )

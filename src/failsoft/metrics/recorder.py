"""`PrometheusRecorder`: gives every operation its own numbers and shows them on a registry."""

from __future__ import annotations

import os
import platform
import threading
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from failsoft._version import __version__
from failsoft.framework.ports import OperationMetrics
from failsoft.metrics.children import Children
from failsoft.metrics.definitions import DEFINITIONS, DURATION_BUCKETS_S, MetricDefinition
from failsoft.metrics.slots import SlotCollector, Slots

__all__ = ["OTHER", "PrometheusRecorder", "is_multiprocess"]

OTHER = "__other__"
"""The label value of everything beyond the limit, so that no caller can make the server's memory grow."""

_Family: TypeAlias = Counter | Gauge | Histogram


def is_multiprocess() -> bool:
    """Return whether prometheus-client keeps its values in files that several worker processes share."""
    return "PROMETHEUS_MULTIPROC_DIR" in os.environ


class PrometheusRecorder:
    """The recorder of a runtime. Codes and strategies come from classes, so that only operations need a limit.

    Args:
        registry: Where the families are registered; a registry of its own by default, so that nothing of the process
            shows through and two runtimes do not meet.
        label_limit: Operations that get labels of their own; further ones share `__other__`.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, label_limit: int = 500) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._label_limit = label_limit
        self._bound: dict[tuple[str, str], OperationMetrics] = {}
        self._slots: list[Slots] = []
        self._lock = threading.Lock()
        self._shared = is_multiprocess()
        if not self._shared:
            self.registry.register(SlotCollector(self._slots))
        self._families: dict[str, _Family] = {
            item.name: _family(item, self.registry)
            for item in DEFINITIONS
            if self._shared or not item.name.startswith("mcp_tool_")
        }
        self.family("mcp_build_info").labels(__version__, platform.python_version()).set(1)

    def family(self, name: str) -> Any:
        """Return the prometheus-client metric of that name, to count what is not a call (breakers, budgets).

        Raises:
            KeyError: There is none.
        """
        return self._families[name]

    def bind(self, tool: str, operation: str) -> OperationMetrics:
        """Return the recorder of one operation; the same one for the same names."""
        with self._lock:
            key = (tool, operation)
            if key not in self._bound and len(self._bound) >= self._label_limit:
                key = (OTHER, OTHER)
            if key not in self._bound:
                self._bound[key] = self._make(*key)
            return self._bound[key]

    def _make(self, tool: str, operation: str) -> OperationMetrics:
        if self._shared:
            return Children(self._families, tool, operation)
        slots = Slots(tool, operation)
        self._slots.append(slots)
        return slots


def _family(metric: MetricDefinition, registry: CollectorRegistry) -> _Family:
    if metric.kind == "counter":
        return Counter(metric.name, metric.help, metric.labels, registry=registry)
    if metric.kind == "histogram":
        return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=DURATION_BUCKETS_S)
    mode: Any = "livemax" if metric.name == "mcp_build_info" else "livesum"
    return Gauge(metric.name, metric.help, metric.labels, registry=registry, multiprocess_mode=mode)

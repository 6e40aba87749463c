"""Records calls with prometheus-client. Every operation keeps its own children, so that no label is looked up twice."""

from __future__ import annotations

import os
import platform
import threading
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from failsoft._version import __version__
from failsoft.framework.ports import AttemptResult, Outcome, RecoveryOutcome
from failsoft.metrics.definitions import DEFINITIONS, DURATION_BUCKETS_S, MetricDefinition

__all__ = ["OTHER", "PrometheusRecorder", "is_multiprocess"]

OTHER = "__other__"
"""The label value of everything beyond a limit, so that no caller can make the server's memory grow."""
_CODES_AT_MOST = 100

_Family: TypeAlias = Counter | Gauge | Histogram


def is_multiprocess() -> bool:
    """Return whether prometheus-client keeps its values in files that several worker processes share."""
    return "PROMETHEUS_MULTIPROC_DIR" in os.environ


class PrometheusRecorder:
    """The recorder of a runtime.

    Args:
        registry: Where the families are registered; a registry of its own by default, so that nothing of the process
            shows through and two runtimes do not meet.
        label_limit: Operations that get labels of their own; further ones share `__other__`.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, label_limit: int = 500) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._families: dict[str, _Family] = {item.name: _family(item, self.registry) for item in DEFINITIONS}
        self._label_limit = label_limit
        self._bound: dict[tuple[str, str], _OperationRecorder] = {}
        self._lock = threading.Lock()
        self.family("mcp_build_info").labels(__version__, platform.python_version()).set(1)

    def family(self, name: str) -> Any:
        """Return the prometheus-client metric of that name, to count what is not a call (breakers, budgets).

        Raises:
            KeyError: `failsoft.metrics.definitions` does not know it.
        """
        return self._families[name]

    def bind(self, tool: str, operation: str) -> _OperationRecorder:
        """Return the recorder of one operation; the same one for the same names."""
        with self._lock:
            key = (tool, operation)
            if key not in self._bound and len(self._bound) >= self._label_limit:
                key = (OTHER, OTHER)
            if key not in self._bound:
                self._bound[key] = _OperationRecorder(self._families, *key)
            return self._bound[key]


class _OperationRecorder:
    """The children of one operation. The ones of every success are made at once, the others when first needed."""

    def __init__(self, families: dict[str, _Family], tool: str, operation: str) -> None:
        self._families = families
        self._labels = (tool, operation)
        self._children: dict[tuple[str, ...], Any] = {}
        self._codes: set[tuple[str, str]] = set()
        inflight = self._child("mcp_tool_inflight")
        self._enter, self._leave = inflight.inc, inflight.dec
        self._observe = self._child("mcp_tool_call_duration_seconds").observe
        self._count_ok = self._child("mcp_tool_calls_total", "ok").inc
        self._attempt_ok = self._child("mcp_tool_attempts_total", "ok").inc

    def started(self) -> None:
        """Count a call as in flight."""
        self._enter()

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a call as over, with its outcome and its duration in seconds."""
        self._leave()
        self._observe(duration_s)
        if outcome == "ok":
            self._count_ok()
        else:
            self._child("mcp_tool_calls_total", outcome).inc()

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""
        if result == "ok":
            self._attempt_ok()
        else:
            self._child("mcp_tool_attempts_total", result).inc()

    def failed(self, category: str, code: str) -> None:
        """Count an error that the caller was told."""
        if (category, code) not in self._codes:
            if len(self._codes) >= _CODES_AT_MOST:
                category = code = OTHER
            self._codes.add((category, code))
        self._child("mcp_tool_errors_total", category, code).inc()

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""
        self._child("mcp_tool_recoveries_total", strategy, result).inc()

    def _child(self, name: str, *labels: str) -> Any:
        key = (name, *labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._families[name].labels(*self._labels, *labels)
        return child


def _family(metric: MetricDefinition, registry: CollectorRegistry) -> _Family:
    if metric.kind == "counter":
        return Counter(metric.name, metric.help, metric.labels, registry=registry)
    if metric.kind == "histogram":
        return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=DURATION_BUCKETS_S)
    mode: Any = "livemax" if metric.name == "mcp_build_info" else "livesum"
    return Gauge(metric.name, metric.help, metric.labels, registry=registry, multiprocess_mode=mode)

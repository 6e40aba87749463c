"""The recorder of one worker among several: prometheus-client's own children, whose values live in shared files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.ports import AttemptResult, Outcome, RecoveryOutcome

__all__ = ["Children"]


class Children:
    """The children of one operation. The ones of every success are made at once, the others when first needed."""

    def __init__(self, families: Mapping[str, Any], tool: str, operation: str) -> None:
        self._families = families
        self.labels = (tool, operation)
        self._made: dict[tuple[str, ...], Any] = {}
        inflight = self._child("mcp_tool_inflight")
        self._enter, self._leave = inflight.inc, inflight.dec
        self._observe = self._child("mcp_tool_call_duration_seconds").observe
        self._child("mcp_tool_calls_total", "ok")
        self._child("mcp_tool_attempts_total", "ok")

    def started(self) -> None:
        """Count a call as in flight."""
        self._enter()

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        """Count a call as over, with its outcome and its duration in seconds."""
        self._leave()
        self._observe(duration_s)
        self._child("mcp_tool_calls_total", outcome).inc()

    def attempted(self, result: AttemptResult) -> None:
        """Count one run of the handler."""
        self._child("mcp_tool_attempts_total", result).inc()

    def failed(self, category: str, code: str) -> None:
        """Count an error that the caller was told."""
        self._child("mcp_tool_errors_total", category, code).inc()

    def recovery(self, strategy: str, result: RecoveryOutcome) -> None:
        """Count one recovery strategy at work."""
        self._child("mcp_tool_recoveries_total", strategy, result).inc()

    def _child(self, name: str, *labels: str) -> Any:
        key = (name, *labels)
        child = self._made.get(key)
        if child is None:
            child = self._made[key] = self._families[name].labels(*self.labels, *labels)
        return child

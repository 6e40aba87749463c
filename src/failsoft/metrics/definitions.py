"""Every metric as data: the recorder, the exposition's order and the docs are made from this list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["DEFINITIONS", "DURATION_BUCKETS_S", "Kind", "MetricDefinition", "definition"]

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

DURATION_BUCKETS_S = (
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
)  # fmt: skip
"""Upper bounds in seconds: the convention for MCP from 0.01 to 300, and three finer ones for answers from memory."""


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One metric family.

    Args:
        name: As it is exposed; a counter's ends in `_total`.
        kind: What Prometheus calls its type.
        help: What it counts, with the unit.
        labels: Its labels, all of them bounded.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]


_CALL = ("tool", "operation")

DEFINITIONS = (
    MetricDefinition(
        "mcp_tool_calls_total",
        "counter",
        "Calls by outcome: ok, recovered, degraded, error, rejected (the handler never ran) or cancelled.",
        (*_CALL, "outcome"),
    ),
    MetricDefinition(
        "mcp_tool_call_duration_seconds", "histogram", "How long calls took, whatever their outcome.", _CALL
    ),
    MetricDefinition(
        "mcp_tool_errors_total",
        "counter",
        "Errors that callers were told, bad arguments included.",
        (*_CALL, "category", "code"),
    ),
    MetricDefinition(
        "mcp_tool_attempts_total",
        "counter",
        "Runs of handlers by result: ok, error, timeout or cancelled.",
        (*_CALL, "result"),
    ),
    MetricDefinition(
        "mcp_tool_recoveries_total",
        "counter",
        "Recovery strategies at work: recovered, failed or skipped.",
        (*_CALL, "strategy", "result"),
    ),
    MetricDefinition("mcp_tool_inflight", "gauge", "Calls that are running.", _CALL),
    MetricDefinition(
        "mcp_circuit_state",
        "gauge",
        "1 for the state that a dependency's circuit breaker is in, 0 for the others.",
        ("dependency", "state"),
    ),
    MetricDefinition(
        "mcp_circuit_transitions_total", "counter", "Changes of a circuit breaker's state.", ("dependency", "to")
    ),
    MetricDefinition(
        "mcp_retry_budget_tokens", "gauge", "Retries that a dependency's budget still allows.", ("dependency",)
    ),
    MetricDefinition("mcp_build_info", "gauge", "1, with the versions as labels.", ("version", "python")),
)

_by_name = {metric.name: metric for metric in DEFINITIONS}


def definition(name: str) -> MetricDefinition:
    """Return the definition of that name.

    Raises:
        KeyError: There is none.
    """
    return _by_name[name]

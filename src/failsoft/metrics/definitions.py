"""The metrics as data, for the recorder, the exposition, the reference page and dashboards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from failsoft.framework.events import LoadGauge

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

OTHER = "__other__"
"""The label value of everything beyond a limit, so that callers cannot make the server's memory grow."""


@dataclass(frozen=True, slots=True, eq=False)
class MetricDefinition:
    """One metric family.

    Args:
        name: The exposed name; that of a counter ends in `_total`.
        kind: Its Prometheus type.
        help: What it counts, with the unit.
        labels: Its labels, all of them bounded.
        values: Labels whose values are known in advance. Their series exist from the start, at zero: otherwise the
            first failure of a kind would show no rate.
        buckets: Upper bounds of a histogram, without the infinite one.
        across_workers: How prometheus-client combines a gauge of several processes.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    buckets: tuple[float, ...] = ()
    across_workers: Literal["livesum", "livemax", "livemostrecent"] = "livesum"


_CALL = ("tool", "operation")
_STATES = ("closed", "open", "half_open")

CALLS = MetricDefinition(
    "mcp_tool_calls_total",
    "counter",
    "Calls by outcome: ok, replayed, recovered, degraded, error, rejected (the handler never ran) or cancelled.",
    (*_CALL, "outcome"),
    values={"outcome": ("ok", "replayed", "recovered", "degraded", "error", "rejected", "cancelled")},
)
DURATION = MetricDefinition(
    "mcp_tool_call_duration_seconds",
    "histogram",
    "How long calls took, whatever their outcome.",
    _CALL,
    # The conventional buckets for MCP from 0.01 to 300 seconds, three smaller ones, and two for calls of half an hour.
    buckets=(
        *(0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
        *(900.0, 1_800.0),
    ),
)
ERRORS = MetricDefinition(
    "mcp_tool_errors_total",
    "counter",
    "Errors returned to callers, bad arguments included.",
    (*_CALL, "category", "code"),
)
ATTEMPTS = MetricDefinition(
    "mcp_tool_attempts_total",
    "counter",
    "Runs of handlers by result: ok, error, timeout or cancelled.",
    (*_CALL, "result"),
    values={"result": ("ok", "error", "timeout", "cancelled")},
)
RECOVERIES = MetricDefinition(
    "mcp_tool_recoveries_total",
    "counter",
    "Recovery strategies at work: recovered, failed or skipped.",
    (*_CALL, "strategy", "result"),
)
INFLIGHT = MetricDefinition("mcp_tool_inflight", "gauge", "Calls that are running.", _CALL)
CIRCUIT_STATE = MetricDefinition(
    "mcp_circuit_state",
    "gauge",
    "1 for the state that a dependency's circuit breaker is in, 0 for the others.",
    ("dependency", "state"),
    values={"state": _STATES},
)
CIRCUIT_TRANSITIONS = MetricDefinition(
    "mcp_circuit_transitions_total",
    "counter",
    "Changes of a circuit breaker's state.",
    ("dependency", "to"),
    values={"to": _STATES},
)
RETRY_BUDGET = MetricDefinition(
    "mcp_retry_budget_tokens",
    "gauge",
    "Retries that a dependency's budget still allows.",
    ("dependency",),
    across_workers="livemostrecent",  # workers share their budgets, so a sum would count a budget several times
)
_LOADS: dict[LoadGauge, str] = {
    "bulkhead_running": "Runs that hold a place of a dependency's bulkhead.",
    "bulkhead_waiting": "Calls that wait for a place of a dependency's bulkhead.",
    "hedges_running": "Extra runs of Hedge that are running.",
    "idempotency_leases": "Calls with an idempotency key that are running here.",
}
LOADS = {name: MetricDefinition(f"mcp_{name}", "gauge", text, ("dependency",)) for name, text in _LOADS.items()}
"""The metric of each gauge of a `LoadEvent`."""
STATE_STORE_UNAVAILABLE = MetricDefinition(
    "mcp_state_store_unavailable", "gauge", "1 while the shared state store is lost and calls use local state.", ()
)
STATE_STORE_LOSSES = MetricDefinition(
    "mcp_state_store_losses_total", "counter", "How often the shared state store was lost.", ()
)
BUILD_INFO = MetricDefinition(
    "mcp_build_info", "gauge", "1, with the versions as labels.", ("version", "python"), across_workers="livemax"
)

DEFINITIONS = (
    CALLS,
    DURATION,
    ERRORS,
    ATTEMPTS,
    RECOVERIES,
    INFLIGHT,
    CIRCUIT_STATE,
    CIRCUIT_TRANSITIONS,
    RETRY_BUDGET,
    *LOADS.values(),
    STATE_STORE_UNAVAILABLE,
    STATE_STORE_LOSSES,
    BUILD_INFO,
)
"""All metrics, in the order of the exposition."""

"""The metrics as data, for the recorder, the exposition, the reference page and dashboards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

OTHER = "__other__"
"""The label value of everything beyond a limit, so that callers cannot make the server's memory grow."""


Merge: TypeAlias = Literal["sum", "max", "min"]


@dataclass(frozen=True, slots=True, eq=False)
class MetricDefinition:
    """One metric family.

    Args:
        name: The exposed name; that of a counter ends in `_total`.
        kind: Its Prometheus type.
        help: What it counts, with the unit.
        labels: Its labels, all of them bounded.
        values: The values of the last label, if they are known in advance. Their series exist from the start, at zero:
            otherwise the first failure of a kind would show no rate.
        buckets: Upper bounds of a histogram, without the infinite one.
        merge: What a gauge of several workers and runtimes is together: the sum, the highest, or the lowest.
        default: What a gauge without labels is if it has no reader.
        is_one_of: Whether a gauge is 1 for one value of its last label and 0 for all others. Its readers return the
            position of the value, without that label; of several the highest is taken.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    merge: Merge = "sum"
    default: float = 0.0
    is_one_of: bool = False

    @property
    def cells(self) -> int:
        """How many numbers one row has: one for each known value, or the buckets, the infinite one, and the sum."""
        return len(self.buckets) + 2 if self.buckets else len(self.values) or 1

    @property
    def is_counted(self) -> bool:
        """Whether what a process counted stays true after its end."""
        return self.kind != "gauge"


_CALL = ("tool", "operation")
_STATES = ("closed", "half_open", "open")
_OUTCOMES = ("ok", "replayed", "recovered", "degraded", "error", "rejected", "cancelled")
# The conventional buckets for MCP from 0.01 to 300 seconds, three smaller ones, and two for calls of half an hour.
_CALL_BUCKETS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
    *(900.0, 1_800.0),
)
_STORE_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

CALLS = MetricDefinition(
    "mcp_tool_calls_total",
    "counter",
    "Calls by outcome: ok, replayed, recovered, degraded, error, rejected (the handler never ran) or cancelled.",
    (*_CALL, "outcome"),
    values=_OUTCOMES,
)
DURATION = MetricDefinition(
    "mcp_tool_call_duration_seconds",
    "histogram",
    "How long calls took, whatever their outcome.",
    _CALL,
    buckets=_CALL_BUCKETS,
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
    values=("ok", "error", "timeout", "cancelled"),
)
RECOVERIES = MetricDefinition(
    "mcp_tool_recoveries_total",
    "counter",
    "Recovery strategies at work: recovered, failed or skipped.",
    (*_CALL, "strategy", "result"),
)
INFLIGHT = MetricDefinition("mcp_tool_inflight", "gauge", "Calls that are running.", _CALL)
PRINCIPAL_CALLS = MetricDefinition(
    "mcp_principal_calls_total",
    "counter",
    "Calls of each principal by outcome.",
    ("principal", "outcome"),
    values=_OUTCOMES,
)
REPEATED_FAILURES = MetricDefinition(
    "mcp_repeated_failures_total",
    "counter",
    "Third and later identical failures of a caller within ten minutes.",
    ("code",),
)
NEXT_STEPS = MetricDefinition(
    "mcp_next_steps_total",
    "counter",
    "Next steps of failures that their callers followed within a minute, and it succeeded or failed, or ignored.",
    ("code", "result"),
    values=("followed_ok", "followed_failed", "ignored"),
)
CIRCUIT_STATE = MetricDefinition(
    "mcp_circuit_state",
    "gauge",
    "1 for the state that a dependency's circuit breaker is in, 0 for the others.",
    ("dependency", "state"),
    values=_STATES,
    merge="max",
    is_one_of=True,
)
CIRCUIT_TRANSITIONS = MetricDefinition(
    "mcp_circuit_transitions_total",
    "counter",
    "Changes of a circuit breaker's state.",
    ("dependency", "to"),
    values=_STATES,
)
RETRY_BUDGET = MetricDefinition(
    "mcp_retry_budget_tokens", "gauge", "Retries that a dependency's budget still allows.", ("dependency",)
)
BULKHEAD_RUNNING = MetricDefinition(
    "mcp_bulkhead_running", "gauge", "Runs that hold a place of a dependency's bulkhead.", ("dependency",)
)
BULKHEAD_WAITING = MetricDefinition(
    "mcp_bulkhead_waiting", "gauge", "Calls that wait for a place of a dependency's bulkhead.", ("dependency",)
)
HEDGES_RUNNING = MetricDefinition(
    "mcp_hedges_running", "gauge", "Extra runs of Hedge that are running.", ("dependency",)
)
IDEMPOTENCY_LEASES = MetricDefinition(
    "mcp_idempotency_leases", "gauge", "Calls with an idempotency key that are running here.", ("dependency",)
)
STATE_STORE_UNAVAILABLE = MetricDefinition(
    "mcp_state_store_unavailable",
    "gauge",
    "1 for the fault for which the shared state store cannot be used, 0 for the others.",
    ("fault",),
    values=("lost", "read_only", "full", "busy", "denied", "loading", "damaged"),
    merge="max",
)
STATE_STORE_LOSSES = MetricDefinition(
    "mcp_state_store_losses_total", "counter", "How often a process lost the shared state store."
)
STATE_STORE_LATENCY = MetricDefinition(
    "mcp_state_store_latency_seconds",
    "histogram",
    "How long round trips to the shared state store took.",
    buckets=_STORE_BUCKETS,
)
STATE_QUOTA = MetricDefinition(
    "mcp_state_quota_used_ratio", "gauge", "The share of its quota that the fullest principal has used.", merge="max"
)
JOBS = MetricDefinition(
    "mcp_jobs",
    "gauge",
    "Jobs in the state store by their state; ended ones as long as they are kept.",
    ("state",),
    values=("working", "input_required", "completed", "failed", "cancelled"),
    merge="max",
)
WORKERS = MetricDefinition("mcp_workers", "gauge", "Processes of the server that take calls.", default=1.0)
WORKER_RESTARTS = MetricDefinition(
    "mcp_worker_restarts_total",
    "counter",
    "Workers that were replaced because they exited or stalled.",
    ("reason",),
    values=("exited", "stalled"),
)
LOOP_LAG = MetricDefinition(
    "mcp_event_loop_lag_seconds", "gauge", "The longest delay of an event loop within 10 seconds.", merge="max"
)
THREADS_BUSY = MetricDefinition("mcp_threads_busy", "gauge", "Threads that run handlers.")
THREADS_WAITING = MetricDefinition("mcp_threads_waiting", "gauge", "Calls that wait for the result of a thread.")
CONNECTIONS = MetricDefinition("mcp_connections", "gauge", "Open HTTP connections.")
REFUSED = MetricDefinition(
    "mcp_http_refused_total", "counter", "HTTP requests that were refused before any tool was asked.", ("status",)
)
AUDIT_FAILURES = MetricDefinition(
    "mcp_audit_failures_total", "counter", "How often the audit log could not be written."
)
ALERT_FAILURES = MetricDefinition(
    "mcp_alert_failures_total",
    "counter",
    "How often the server's own alerts could not be delivered.",
    ("sink",),
    values=("log", "webhook", "alertmanager", "other"),
)
RELOAD_OK = MetricDefinition(
    "mcp_recovery_reload_ok",
    "gauge",
    "1 if the last reload of the recovery file succeeded in every process, else 0.",
    merge="min",
    default=1.0,
)
BUILD_INFO = MetricDefinition(
    "mcp_build_info", "gauge", "1, with the versions as labels.", ("version", "python"), merge="max"
)

DEFINITIONS = tuple(item for item in list(globals().values()) if isinstance(item, MetricDefinition))
"""All metrics, in the order of the exposition."""
BY_NAME = {item.name: item for item in DEFINITIONS}

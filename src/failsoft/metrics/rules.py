"""Prometheus' recording and alert rules, as data; `failsoft monitoring export` writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from failsoft.framework.errors import ToolError, Unsupported

Severity: TypeAlias = Literal["critical", "warning"]
FAST_BURN, _SLOW_BURN = 14.4, 6.0
"""Burn rates: 2 % of a month's error budget in an hour, 5 % in six hours (Google's SRE workbook, chapter 5)."""
_WINDOWS = ("5m", "30m", "1h", "6h")
_HTTP_FAULTS = 500

FAULTS = tuple(
    sorted(
        kind.category
        for kind in ToolError.__subclasses__()
        if kind.http_status >= _HTTP_FAULTS and kind is not Unsupported
    )
)
"""The categories of failures that are no fault of the caller: they count against the objective."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert rule.

    Args:
        name: The name of the alert, without the prefix `Failsoft`.
        expr: The query; what it finds is alerted about.
        severity: `critical`: callers suffer, or data is at risk; `warning`: it can wait until the morning.
        summary: One line; `{{ $labels.dependency }}` and the like are filled in by Prometheus.
        incident: The heading in the page about incidents.
        for_: How long the query has to find it, as Prometheus writes durations.
    """

    name: str
    expr: str
    severity: Severity
    summary: str
    incident: str
    for_: str = "0s"


ALERTS = (
    Alert(
        "ReplicaDown",
        "up == 0 and on (job, instance) last_over_time(mcp_build_info[1d])",
        "critical",
        "{{ $labels.instance }} cannot be scraped.",
        "A replica is down",
        "15s",
    ),
    Alert(
        "TooFewWorkers",
        "mcp_workers < max_over_time(mcp_workers[1h])",
        "warning",
        "{{ $labels.instance }} has {{ $value }} workers, fewer than before.",
        "Workers crash in a loop",
        "30s",
    ),
    Alert(
        "WorkersCrashLoop",
        'increase(mcp_worker_restarts_total{reason="exited"}[5m]) > 3',
        "critical",
        "Workers of {{ $labels.instance }} end again and again.",
        "Workers crash in a loop",
    ),
    Alert(
        "WorkerKilled",
        'increase(mcp_worker_restarts_total{reason="exited"}[5m]) > 0',
        "warning",
        "A worker of {{ $labels.instance }} was killed or crashed.",
        "A worker was killed",
    ),
    Alert(
        "WorkerStalled",
        'increase(mcp_worker_restarts_total{reason="stalled"}[5m]) > 0',
        "critical",
        "A worker of {{ $labels.instance }} was replaced because a handler blocked its event loop.",
        "A worker stalls",
    ),
    Alert(
        "EventLoopBlocked",
        "mcp_event_loop_lag_seconds > 1",
        "warning",
        "An event loop of {{ $labels.instance }} was blocked for {{ $value | humanizeDuration }}.",
        "The event loop is blocked",
    ),
    Alert(
        "HandlerCrashes",
        'sum by (job, tool, operation) (increase(mcp_tool_errors_total{category="internal"}[5m])) > 0',
        "warning",
        "{{ $labels.operation }} fails by a defect.",
        "A handler crashes",
    ),
    Alert(
        "DependencyDown",
        'max by (job, dependency) (max_over_time(mcp_circuit_state{state="open"}[1m])) == 1',
        "critical",
        "Calls to {{ $labels.dependency }} are refused: its circuit breaker is open.",
        "A dependency is down",
    ),
    Alert(
        "DependencyFlaps",
        'sum by (job, dependency) (increase(mcp_circuit_transitions_total{to="closed"}[15m])) > 3',
        "warning",
        "The circuit breaker of {{ $labels.dependency }} opens and closes again and again.",
        "A dependency flaps",
    ),
    Alert(
        "OperationSlow",
        "histogram_quantile(0.95, sum by (job, le, tool, operation) (rate(mcp_tool_call_duration_seconds_bucket[5m])))"
        " > 5",
        "warning",
        "5 % of the calls of {{ $labels.operation }} take longer than {{ $value | humanizeDuration }}.",
        "A dependency is slow",
        "1m",
    ),
    Alert(
        "RecoveriesRising",
        'sum by (job, tool, operation) (rate(mcp_tool_calls_total{outcome=~"recovered|degraded"}[5m]))'
        " / sum by (job, tool, operation) (rate(mcp_tool_calls_total[5m])) > 0.2",
        "warning",
        "{{ $value | humanizePercentage }} of the calls of {{ $labels.operation }} work only after recovery.",
        "Calls work only after recovery",
        "2m",
    ),
    Alert(
        "ThreadsUsedUp",
        "mcp_threads_busy / mcp_workers >= 20",
        "warning",
        "The threads of {{ $labels.instance }} are used up.",
        "Threads are used up",
        "15s",
    ),
    Alert(
        "CallsRefused",
        'sum by (job, tool, operation) (increase(mcp_tool_errors_total{code="OVERLOADED"}[5m])) > 0',
        "critical",
        "Calls of {{ $labels.operation }} are refused because the server is overloaded.",
        "Threads are used up",
    ),
    Alert(
        "StoreUnavailable",
        "max by (job, fault) (mcp_state_store_unavailable) == 1",
        "critical",
        "The state store cannot be used: {{ $labels.fault }}. Calls with idempotency keys are refused.",
        "The state store cannot be used",
    ),
    Alert(
        "StoreSlow",
        "histogram_quantile(0.99, sum by (job, le) (rate(mcp_state_store_latency_seconds_bucket[5m]))) > 0.1",
        "warning",
        "The state store answers in {{ $value | humanizeDuration }}.",
        "The state store is slow",
        "1m",
    ),
    Alert(
        "QuotaNearlyUsed",
        "max by (job) (mcp_state_quota_used_ratio) > 0.8",
        "warning",
        "A caller has used {{ $value | humanizePercentage }} of its quota in the state store.",
        "A quota is nearly used up",
    ),
    Alert(
        "AuditFails",
        "increase(mcp_audit_failures_total[5m]) > 0",
        "critical",
        "{{ $labels.instance }} cannot write its audit log.",
        "The audit log cannot be written",
    ),
    Alert(
        "KeyedWriteLost",
        'sum by (job, tool, operation) (increase(mcp_tool_errors_total{code="IDEMPOTENCY_OUTCOME_UNKNOWN"}[5m])) > 0',
        "critical",
        "It is unknown whether a keyed call of {{ $labels.operation }} was done.",
        "A keyed write was lost",
    ),
    Alert(
        "ReloadFailed",
        "mcp_recovery_reload_ok == 0",
        "warning",
        "{{ $labels.instance }} keeps its last recovery options: the file has a mistake.",
        "The recovery file has a mistake",
    ),
    Alert(
        "HandlerLeaks",
        "process_open_fds / process_max_fds > 0.8 or delta(process_threads[1h]) > 50",
        "warning",
        "A process of {{ $labels.instance }} has too many open files, connections or threads.",
        "A handler leaks",
        "1m",
    ),
    Alert(
        "Unauthorized",
        'sum by (job) (increase(mcp_http_refused_total{status="401"}[5m])) > 50',
        "warning",
        "Many requests have no valid token.",
        "A flood of 401",
    ),
    Alert(
        "RequestsRefused",
        'sum by (job, status) (increase(mcp_http_refused_total{status!~"401|503"}[5m])) > 10',
        "warning",
        "Requests are refused with {{ $labels.status }} before any tool is asked.",
        "Requests are refused",
    ),
    Alert(
        "ClientRepeatsFailure",
        "sum by (job, code) (increase(mcp_repeated_failures_total[5m])) > 10",
        "warning",
        "A client repeats a call that fails with {{ $labels.code }}.",
        "A client repeats a failing call",
    ),
)


def rule_file(*, objective: float = 0.99, docs_url: str = "") -> dict[str, Any]:
    """Return a rule file of Prometheus: the recording rules, and the alerts on them and on the metrics.

    Args:
        objective: The share of calls that should not fail by fault of the server, 0 to 1.
        docs_url: The address of the documentation.
    """
    recorded = [
        {"record": f"job:mcp_failed_calls:ratio_rate{window}", "expr": failed_ratio(window)} for window in _WINDOWS
    ]
    burning = (
        _burn("FailuresFast", FAST_BURN, ("5m", "1h"), "critical", objective),
        _burn("FailuresSlow", _SLOW_BURN, ("30m", "6h"), "warning", objective),
    )
    alerts = [_written(alert, docs_url) for alert in (*burning, *ALERTS)]
    return {"groups": [{"name": "failsoft-ratios", "rules": recorded}, {"name": "failsoft", "rules": alerts}]}


def alertmanager_file() -> dict[str, Any]:
    """Return an example of a configuration of Alertmanager: where it sends alerts is to be filled in.

    A server sends its own alerts (`FAILSOFT_ALERT_ALERTMANAGER_URL`) when a critical failure happens, and not that it
    is over, so they end after `resolve_timeout`. Those of a service and a name come as one message.
    """
    critical = {"receiver": "page", "matchers": ['severity="critical"'], "repeat_interval": "1h"}
    return {
        "global": {"resolve_timeout": "5m"},
        "route": {
            "receiver": "chat",
            "group_by": ["alertname", "job", "service"],
            "group_wait": "10s",
            "group_interval": "1m",
            "repeat_interval": "12h",
            "routes": [critical],
        },
        "inhibit_rules": [
            {
                "source_matchers": ['alertname="FailsoftReplicaDown"'],
                "target_matchers": ['severity="warning"', 'alertname=~"Failsoft.*"'],
                "equal": ["job", "instance"],
            }
        ],
        "receivers": [
            {"name": name, "webhook_configs": [{"url": f"http://127.0.0.1:9000/{name}"}]} for name in ("chat", "page")
        ],
    }


def failed_ratio(window: str, on: str = "") -> str:
    """Return the query of the share of calls that failed by fault of the server.

    Args:
        window: Over how long.
        on: What the labels of the series are.
    """
    by_fault = ",".join(filter(None, (on, f'category=~"{"|".join(FAULTS)}"')))
    failed = f"sum by (job) (rate(mcp_tool_errors_total{{{by_fault}}}[{window}]))"
    return f"{failed} / sum by (job) (rate(mcp_tool_calls_total{f'{{{on}}}' if on else ''}[{window}]))"


def _burn(name: str, rate: float, windows: tuple[str, str], severity: Severity, objective: float) -> Alert:
    bound = f"{rate * (1 - objective):.6g}"
    expr = " and ".join(f"job:mcp_failed_calls:ratio_rate{window} > {bound}" for window in windows)
    return Alert(
        name,
        expr,
        severity,
        "{{ $value | humanizePercentage }} of the calls fail by a fault of the server or of what it needs; "
        f"the objective allows {100 * (1 - objective):.3g}%.",
        "Callers suffer",
    )


def _written(alert: Alert, docs_url: str) -> dict[str, Any]:
    anchor = re.sub(r"\W+", "-", alert.incident.lower())
    rule: dict[str, Any] = {"alert": f"Failsoft{alert.name}", "expr": alert.expr}
    if alert.for_ != "0s":
        rule["for"] = alert.for_
    runbook = f"{docs_url.rstrip('/')}/how-to/incidents/#{anchor}"
    return rule | {
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "runbook_url": runbook},
    }

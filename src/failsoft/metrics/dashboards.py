"""Dashboards for Grafana: one for operators, one for authors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from failsoft.metrics.rules import FAULTS, failed_ratio

Kind: TypeAlias = Literal["timeseries", "stat", "table"]
_WIDTH = 24
"""Columns of Grafana's grid."""
_HEIGHT: dict[Kind, int] = {"timeseries": 8, "stat": 4, "table": 9}
_ON = 'job=~"$job"'
_BY_FAULT = f'{_ON},category=~"{"|".join(FAULTS)}"'
_OF_OPERATION = f'{_ON},operation=~"$operation"'


def _rate(metric: str, by: str, on: str = _ON) -> str:
    return f"sum by ({by}) (rate({metric}{{{on}}}[$__rate_interval]))"


_BUCKETS = "mcp_tool_call_duration_seconds_bucket"


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Args:
        title: Its title.
        queries: A query for each legend; `{{operation}}` and the like in a legend are filled in by Grafana.
        unit: Grafana's name of the unit.
        kind: How it is drawn.
        width: Columns of 24.
        about: What it shows, and when it is bad.
    """

    title: str
    queries: dict[str, str]
    unit: str = "short"
    kind: Kind = "timeseries"
    width: int = 12
    about: str = ""


OPERATORS = (
    Panel(
        "Calls that fail by a fault of the server",
        {"5 minutes": failed_ratio("5m", _ON), "1 hour": failed_ratio("1h", _ON)},
        "percentunit",
        "stat",
        8,
        "Bad arguments and objects that do not exist are no fault of the server.",
    ),
    Panel("Calls in flight", {"": f"sum(mcp_tool_inflight{{{_ON}}})"}, "short", "stat", 4),
    Panel("Workers", {"": f"sum(mcp_workers{{{_ON}}})"}, "short", "stat", 4),
    Panel(
        "State store and audit log",
        {
            "store {{fault}}": f"max by (fault) (mcp_state_store_unavailable{{{_ON}}}) > 0 or vector(0)",
            "alerts lost": f"sum(increase(mcp_alert_failures_total{{{_ON}}}[5m]))",
            "audit failures": f"sum(increase(mcp_audit_failures_total{{{_ON}}}[5m]))",
        },
        "short",
        "stat",
        8,
        "0 is good.",
    ),
    Panel("Errors by code", {"{{code}}": f"topk(10, {_rate('mcp_tool_errors_total', 'code', _BY_FAULT)} > 0)"}, "ops"),
    Panel("Calls by outcome", {"{{outcome}}": _rate("mcp_tool_calls_total", "outcome")}, "ops"),
    Panel(
        "Dependencies: circuit breakers",
        {"{{dependency}}": f'max by (dependency) (mcp_circuit_state{{{_ON},state="open"}})'},
        about="1: calls to it are refused.",
    ),
    Panel(
        "Slowest operations, 95th percentile",
        {"{{operation}}": f"topk(10, histogram_quantile(0.95, {_rate(_BUCKETS, 'le, operation')}))"},
        "s",
    ),
    Panel(
        "Workers: event loop and threads",
        {
            "loop lag of {{instance}}": f"mcp_event_loop_lag_seconds{{{_ON}}}",
            "busy threads of {{instance}}": f"mcp_threads_busy{{{_ON}}}",
        },
    ),
    Panel(
        "Workers: restarts",
        {"{{reason}}": f"sum by (reason) (increase(mcp_worker_restarts_total{{{_ON}}}[$__rate_interval]))"},
    ),
    Panel(
        "State store: round trips, 99th percentile",
        {"": f"histogram_quantile(0.99, {_rate('mcp_state_store_latency_seconds_bucket', 'le')})"},
        "s",
    ),
    Panel("Requests that were refused", {"{{status}}": _rate("mcp_http_refused_total", "status")}, "ops"),
)
AUTHORS = (
    Panel("Calls", {"{{operation}}": _rate("mcp_tool_calls_total", "operation")}, "ops"),
    Panel("Outcomes", {"{{outcome}}": _rate("mcp_tool_calls_total", "outcome", _OF_OPERATION)}, "ops"),
    Panel(
        "Errors by code",
        {"{{operation}} {{code}}": _rate("mcp_tool_errors_total", "operation, code", _OF_OPERATION)},
        "ops",
    ),
    Panel(
        "Duration",
        {f"p{p}": f"histogram_quantile(0.{p}, {_rate(_BUCKETS, 'le', _OF_OPERATION)})" for p in (50, 95, 99)},
        "s",
    ),
    Panel("Runs of handlers", {"{{result}}": _rate("mcp_tool_attempts_total", "result", _OF_OPERATION)}, "ops"),
    Panel(
        "Recovery",
        {"{{strategy}} {{result}}": _rate("mcp_tool_recoveries_total", "strategy, result", _OF_OPERATION)},
        "ops",
    ),
    Panel(
        "Does the advice work",
        {"{{code}} {{result}}": _rate("mcp_next_steps_total", "code, result")},
        "ops",
        about="What callers did within a minute of a failure that named the next call.",
    ),
    Panel("Callers that repeat a failing call", {"{{code}}": _rate("mcp_repeated_failures_total", "code")}, "ops"),
)


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the dashboards, as Grafana imports them, by the name of their file."""
    return {
        "failsoft-operators": _dashboard("failsoft: operators", OPERATORS),
        "failsoft-authors": _dashboard("failsoft: authors", AUTHORS, operations=True),
    }


def _dashboard(title: str, panels: tuple[Panel, ...], *, operations: bool = False) -> dict[str, Any]:
    variables = [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        _variable("job", "Job", "label_values(mcp_build_info, job)"),
    ]
    if operations:
        variables.append(
            _variable("operation", "Operation", 'label_values(mcp_tool_calls_total{job=~"$job"}, operation)')
        )
    return {
        "title": title,
        "uid": title.replace(": ", "-"),
        "schemaVersion": 39,
        "tags": ["failsoft"],
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables},
        "panels": _placed(panels),
    }


def _variable(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _placed(panels: tuple[Panel, ...]) -> list[dict[str, Any]]:
    """Return the panels in rows, from the left."""
    placed: list[dict[str, Any]] = []
    x = y = height = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > _WIDTH:
            x, y, height = 0, y + height, 0
        height = max(height, _HEIGHT[panel.kind])
        placed.append(
            _drawn(panel) | {"id": number, "gridPos": {"x": x, "y": y, "w": panel.width, "h": _HEIGHT[panel.kind]}}
        )
        x += panel.width
    return placed


def _drawn(panel: Panel) -> dict[str, Any]:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": _SOURCE, "expr": query, "legendFormat": legend}
            for at, (legend, query) in enumerate(panel.queries.items())
        ],
    }

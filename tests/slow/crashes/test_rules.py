"""Rules for Prometheus, run by promtool over made-up series: each alert fires and is over again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from tests.doors import ALERTS, rule_file
from tests.programs.incidents import alerts_of

SITE = 'job="j",instance="i"'
CALL = f'{SITE},tool="t",operation="o"'
FIRING: dict[str, dict[str, str]] = {
    "FailuresFast": {
        f'mcp_tool_calls_total{{{CALL},outcome="error"}}': "0+10x40 400x140",
        f'mcp_tool_errors_total{{{CALL},category="upstream_error",code="C"}}': "0+10x40 400x140",
    },
    "FailuresSlow": {
        f'mcp_tool_calls_total{{{CALL},outcome="error"}}': "0+10x40 400x140",
        f'mcp_tool_errors_total{{{CALL},category="internal",code="C"}}': "0+1x40 40x140",
    },
    "ReplicaDown": {f"up{{{SITE}}}": "1x10 0x30 1x140", f"mcp_build_info{{{SITE}}}": "1x10 _x30 1x140"},
    "TooFewWorkers": {f"mcp_workers{{{SITE}}}": "2x10 1x30 2x140"},
    "WorkersCrashLoop": {f'mcp_worker_restarts_total{{{SITE},reason="exited"}}': "0x10 1+1x30 31x140"},
    "WorkerKilled": {f'mcp_worker_restarts_total{{{SITE},reason="exited"}}': "0x10 1x170"},
    "WorkerStalled": {f'mcp_worker_restarts_total{{{SITE},reason="stalled"}}': "0x10 1x170"},
    "EventLoopBlocked": {f"mcp_event_loop_lag_seconds{{{SITE}}}": "0x10 3x30 0x140"},
    "HandlerCrashes": {f'mcp_tool_errors_total{{{CALL},category="internal",code="C"}}': "0x10 1x170"},
    "DependencyDown": {f'mcp_circuit_state{{{SITE},dependency="d",state="open"}}': "0x10 1 0 1 0 1 0 1x24 0x140"},
    "DependencyFlaps": {f'mcp_circuit_transitions_total{{{SITE},dependency="d",to="closed"}}': "0x10 1+1x30 31x140"},
    "OperationSlow": {
        f'mcp_tool_call_duration_seconds_bucket{{{CALL},le="5.0"}}': "0x180",
        f'mcp_tool_call_duration_seconds_bucket{{{CALL},le="10.0"}}': "0+1x40 40x140",
        f'mcp_tool_call_duration_seconds_bucket{{{CALL},le="+Inf"}}': "0+1x40 40x140",
    },
    "RecoveriesRising": {
        f'mcp_tool_calls_total{{{CALL},outcome="ok"}}': "0+1x180",
        f'mcp_tool_calls_total{{{CALL},outcome="recovered"}}': "0+1x40 40x140",
    },
    "ThreadsUsedUp": {f"mcp_threads_busy{{{SITE}}}": "0x10 48x30 0x140", f"mcp_workers{{{SITE}}}": "2x180"},
    "CallsRefused": {f'mcp_tool_errors_total{{{CALL},category="overloaded",code="OVERLOADED"}}': "0x10 1x170"},
    "StoreUnavailable": {f'mcp_state_store_unavailable{{{SITE},fault="lost"}}': "0x10 1x30 0x140"},
    "StoreSlow": {
        f'mcp_state_store_latency_seconds_bucket{{{SITE},le="0.1"}}': "0x180",
        f'mcp_state_store_latency_seconds_bucket{{{SITE},le="0.25"}}': "0+1x40 40x140",
        f'mcp_state_store_latency_seconds_bucket{{{SITE},le="+Inf"}}': "0+1x40 40x140",
    },
    "QuotaNearlyUsed": {f"mcp_state_quota_used_ratio{{{SITE}}}": "0.5x10 0.9x30 0.5x140"},
    "AuditFails": {f"mcp_audit_failures_total{{{SITE}}}": "0x10 1x170"},
    "KeyedWriteLost": {
        f'mcp_tool_errors_total{{{CALL},category="internal",code="IDEMPOTENCY_OUTCOME_UNKNOWN"}}': "0x10 1x170"
    },
    "ReloadFailed": {f"mcp_recovery_reload_ok{{{SITE}}}": "1x10 0x30 1x140"},
    "HandlerLeaks": {
        f"process_open_fds{{{SITE}}}": "5x10 90x30 5x140",
        f"process_max_fds{{{SITE}}}": "100x180",
    },
    "Unauthorized": {f'mcp_http_refused_total{{{SITE},status="401"}}': "0x10 0+10x30 300x140"},
    "RequestsRefused": {f'mcp_http_refused_total{{{SITE},status="421"}}': "0x10 0+10x30 300x140"},
    "ClientRepeatsFailure": {f'mcp_repeated_failures_total{{{SITE},code="C"}}': "0x10 0+10x30 300x140"},
}
"""The series of a fault by alert: a sample each 15 seconds; it fires within ten minutes, and is over in the end."""
STEP_S, FIRED_S, OVER_S = 15, 600, 2_700


def test_every_alert_fires_for_its_fault_and_is_over_after_it(promtool: str, tmp_path: Path) -> None:
    written = rule_file()
    names = [rule["alert"] for rule in written["groups"][1]["rules"]]
    assert names == [f"Failsoft{name}" for name in FIRING]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(written))
    (tmp_path / "tests.yml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "tests": list(map(_case, FIRING))})
    )
    ran = subprocess.run(
        [promtool, "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _case(name: str) -> dict[str, object]:
    firing = f'ALERTS{{alertname="Failsoft{name}",alertstate="firing"}}'
    once = [{"labels": "{}", "value": 1}]
    return {
        "name": name,
        "interval": f"{STEP_S}s",
        "input_series": [{"series": series, "values": values} for series, values in FIRING[name].items()],
        "promql_expr_test": [
            {"expr": f"max(max_over_time({firing}[10m]))", "eval_time": f"{FIRED_S}s", "exp_samples": once},
            {"expr": firing, "eval_time": f"{OVER_S}s", "exp_samples": []},
        ],
    }


def test_every_alert_is_on_the_page_of_its_incident() -> None:
    shown = {alert: incident for incident, alerts in alerts_of().items() for alert in alerts}
    expected = {f"Failsoft{alert.name}": alert.incident for alert in ALERTS}
    assert shown == {**expected, "FailsoftFailuresFast": "Callers suffer", "FailsoftFailuresSlow": "Callers suffer"}

"""The lines on top of `failsoft top`: what is wrong, since when, and what to do."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.doors import findings_of

SINCE = "2026-01-02T03:04:05.000Z"
WELL: dict[str, Any] = {
    "phase": "ready",
    "store": {"kind": "redis", "available": True},
    "audit": {"ok": True},
    "reload": {"ok": True},
    "dependencies": [{"name": "bank", "circuit": "closed", "since": SINCE}],
    "recent": [],
    "workers": [],
}


def call(code: str, category: str) -> dict[str, Any]:
    now = dt.datetime.now(dt.UTC).isoformat()
    return {"operation": "pay", "code": code, "category": category, "outcome": "error", "timestamp": now}


def sign(metric: str, label: str) -> dict[str, Any]:
    return {"metric": metric, "label": label, "count": 20, "first": SINCE, "last": SINCE}


def test_nothing_is_said_of_a_server_that_works() -> None:
    assert findings_of(WELL) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"phase": "draining"}, "The server is draining"),
        ({"dependencies": [{"name": "bank", "circuit": "open", "since": SINCE}]}, f"bank is down since {SINCE}: "),
        ({"signs": [sign("mcp_circuit_transitions_total", "bank")]}, "bank is up and down again and again since "),
        ({"store": {"kind": "redis", "available": False, "fault": "lost", "since": SINCE}}, "The state store (redis)"),
        ({"store": {"kind": "redis", "available": True, "quota_used": 0.9}}, "A caller has used 90% of its quota"),
        ({"audit": {"ok": False, "since": SINCE}}, f"The audit log cannot be written since {SINCE}: "),
        ({"reload": {"ok": False, "error": "line 1", "since": SINCE}}, "The recovery file has a mistake since "),
        ({"recent": [call("UNKNOWN_ERROR", "internal")]}, "pay crashes (UNKNOWN_ERROR) since "),
        ({"recent": [call("OVERLOADED", "overloaded")]}, "Calls of pay are refused (OVERLOADED) since "),
        ({"recent": [call("IDEMPOTENCY_OUTCOME_UNKNOWN", "conflict")]}, "A keyed write of pay was lost since "),
        ({"signs": [sign("mcp_http_refused_total", "421")]}, "20 requests were refused with status 421 since "),
        ({"signs": [sign("mcp_repeated_failures_total", "NOT_FOUND")]}, "A client repeats a call that fails with"),
    ],
)
def test_a_fault_is_named_with_since_when_and_what_to_do(change: dict[str, Any], said: str) -> None:
    [line] = findings_of(WELL | change)
    assert line.startswith(said)
    assert ": " in line

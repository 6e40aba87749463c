"""What the headline of a server says, by its status and what is known beside it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from tests.doors import Evidence, Pace, Slow, headline_of, utc_timestamp

INCIDENTS = Path(__file__).parents[3] / "docs/how-to/incidents.md"
ROW = {
    "tool": "shop",
    "operation": "sell",
    "calls": {"ok": 10},
    "rate_per_s": 5.0,
    "p50_ms": 3.0,
    "in_flight": 0,
}
WELL: dict[str, Any] = {
    "phase": "ready",
    "store": {"kind": "redis", "available": True},
    "audit": {"ok": True},
    "reload": {"ok": True},
    "dependencies": [{"name": "bank", "circuit": "closed", "since": "2026-01-02T03:04:05.000Z"}],
    "recent": [],
    "errors": [],
    "workers": [{"pid": 7, "phase": "ready", "loop_lag_s": 0.01}],
    "operations": [ROW],
    "objective": {"target": 0.99, "burn_5m": 0.0},
}
BURNING = {"objective": {"target": 0.99, "burn_5m": 20.0}}


def ago(seconds: float) -> str:
    return str(utc_timestamp(after_s=-seconds))


def call(code: str, category: str, seconds: float, **more: str) -> dict[str, Any]:
    facts = {"tool": "shop", "operation": "sell", "code": code, "category": category, "outcome": "error"}
    return {**facts, "timestamp": ago(seconds), **more}


def sign(metric: str, label: str, *, count: int = 20, last: float = 1) -> Evidence:
    return Evidence(signs=[{"metric": metric, "label": label, "count": count, "first": ago(9), "last": ago(last)}])


def bank(circuit: str = "open", **more: str) -> dict[str, Any]:
    return {"dependencies": [{"name": "bank", "circuit": circuit, "since": ago(1), **more}]}


def lagging(**more: Any) -> dict[str, Any]:
    return {"workers": [{"pid": 7, "phase": "ready", "loop_lag_s": 4.0, **more}]}


def found(change: dict[str, Any], evidence: Evidence = Evidence()) -> list[dict[str, Any]]:  # noqa: B008 - frozen
    findings: list[dict[str, Any]] = headline_of({**WELL, **change}, evidence)["findings"]
    return findings


CIRCUITS = "mcp_circuit_transitions_total"
REFUSED = "mcp_http_refused_total"
REPEATS = "mcp_repeated_failures_total"
LOST = {"store": {"kind": "redis", "available": False, "fault": "lost"}}


def outage() -> list[dict[str, Any]]:
    return [call("UNAVAILABLE", "unavailable", 4)]


def faults() -> dict[str, tuple[dict[str, Any], Evidence, list[Any]]]:
    """Return a status, what is known beside it, and what the worst finding is, by case."""
    return {
        "down": (
            {**bank(), "recent": outage(), **BURNING},
            Evidence(failing_since=ago(30)),
            ["error", 4, "A dependency is down"],
        ),
        "down for long": (bank(since=ago(900)), Evidence(), ["error", 900, "A dependency is down"]),
        "half open": (bank("half_open"), Evidence(), ["error", 1, "A dependency is down"]),
        "over": (
            {"recent": [call("UNAVAILABLE", "unavailable", 15)], **BURNING},
            Evidence(failing_since=ago(30)),
            ["note", None, "Callers suffer"],
        ),
        "fails": ({"recent": outage(), **BURNING}, Evidence(failing_since=ago(30)), ["error", 4, "Callers suffer"]),
        "fails slowly": (
            {"recent": outage(), "objective": {"target": 0.99, "burn_5m": 2.0}},
            Evidence(),
            ["warning", 4, "Callers suffer"],
        ),
        "failed": (
            {"errors": [{"operation": "sell", "code": "X", "count": 3}], **BURNING},
            Evidence(),
            ["note", None, "Callers suffer"],
        ),
        "flaps": (bank(), sign(CIRCUITS, "bank"), ["error", 9, "A dependency flaps"]),
        "is down again": (bank(), sign(CIRCUITS, "bank", count=1), ["error", 9, "A dependency flaps"]),
        "flaps and is up": ({}, sign(CIRCUITS, "bank", count=2), ["warning", 9, "A dependency flaps"]),
        "held open": (bank(held_by="ann"), sign(CIRCUITS, "bank"), ["error", 1, "An operator has stopped calls"]),
        "held closed": (bank("closed", held_by="ann"), Evidence(), ["note", 1, "An operator has stopped calls"]),
        "slow": ({}, Evidence(slow={("shop", "sell"): Slow(5.0, ago(5))}), ["warning", 5, "A dependency is slow"]),
        "crashes": ({"recent": [call("UNKNOWN_ERROR", "internal", 1)]}, Evidence(), ["error", 1, "A handler crashes"]),
        "crashed": (
            {"recent": [call("UNKNOWN_ERROR", "internal", 15)]},
            Evidence(),
            ["note", None, "A handler crashes"],
        ),
        "killed": ({}, Evidence(ends=[(ago(3), "exited")]), ["warning", None, "A worker was killed"]),
        "was killed": ({}, Evidence(ends=[(ago(90), "exited")]), ["note", None, "A worker was killed"]),
        "stalled": ({}, Evidence(ends=[(ago(9), "exited"), (ago(3), "stalled")]), ["warning", None, "A worker stalls"]),
        "loops": ({}, Evidence(ends=[(ago(9), "exited")] * 4), ["error", 9, "Workers crash in a loop"]),
        "blocked": (lagging(), Evidence(), ["warning", 4, "The event loop is blocked"]),
        "blocked without its store": ({**lagging(), **LOST}, Evidence(), ["error", 4, "The event loop is blocked"]),
        "store": (LOST, Evidence(failing={"store": ago(4)}), ["error", 4, "The state store cannot be used"]),
        "audit": (
            {"audit": {"ok": False}},
            Evidence(failing={"audit": ago(4)}),
            ["error", 4, "The audit log cannot be written"],
        ),
        "reload": (
            {"reload": {"ok": False, "error": "line 1"}},
            Evidence(failing={"reload": ago(4)}),
            ["warning", 4, "The recovery file has a mistake"],
        ),
        "quota": ({}, Evidence(quota_used=0.9), ["warning", None, "A quota is nearly used up"]),
        "quota is used up": (
            {"recent": [call("QUOTA_EXHAUSTED", "quota_exhausted", 2)]},
            Evidence(quota_used=1.0),
            ["error", 2, "A quota is nearly used up"],
        ),
        "refused": ({}, sign(REFUSED, "421"), ["warning", 9, "Requests are refused"]),
        "tokens": ({}, sign(REFUSED, "401"), ["warning", 9, "A flood of 401"]),
        "overload": (
            {"recent": [call("OVERLOADED", "overloaded", 1)]},
            Evidence(),
            ["error", 1, "Threads are used up"],
        ),
        "lost": (
            {"recent": [call("IDEMPOTENCY_OUTCOME_UNKNOWN", "conflict", 4)]},
            Evidence(),
            ["error", 4, "A keyed write was lost"],
        ),
        "repeats": ({}, sign(REPEATS, "NOT_FOUND"), ["note", 9, "A client repeats a failing call"]),
        "recovers": (
            {"recent": [call("TIMEOUT", "timeout", 4, outcome="recovered")] * 3},
            Evidence(),
            ["note", 4, "Calls work only after recovery"],
        ),
        "paused": (
            {"operations": [{**ROW, "paused": {"reason": "Stock", "by": "ann", "since": ago(4)}}]},
            Evidence(),
            ["note", 4, None],
        ),
        "drains": ({"phase": "draining"}, Evidence(), ["warning", None, None]),
    }


@pytest.mark.parametrize("case", faults())
def test_a_fault_is_named_with_since_when_its_incident_and_what_to_do(case: str) -> None:
    change, evidence, expected = faults()[case]
    worst = found(change, evidence)[0]
    since = worst.get("since")
    age = int((dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(since)).total_seconds()) if since else None
    assert [worst["severity"], age, worst.get("incident")] == expected
    assert worst["todo"]
    assert not worst["what"].endswith(".")


@pytest.mark.parametrize(("status", "named"), [("421", "access_refused"), ("403", "access_refused"), ("404", "client")])
def test_what_to_do_about_refused_requests_names_what_is_logged_of_them_and_nothing_else(
    status: str, named: str
) -> None:
    todo = found({}, sign(REFUSED, status))[0]["todo"]
    assert named in todo
    assert ("access_refused" in todo) == (named == "access_refused")


def harmless() -> dict[str, tuple[dict[str, Any], Evidence]]:
    """Return a status and what is known beside it, by case."""
    return {
        "well": ({}, Evidence()),
        "no breaker": ({"dependencies": [{"name": "bank", "limit": 3}]}, Evidence()),
        "it was down once": ({}, sign(CIRCUITS, "bank", count=1)),
        "it is stable again": ({}, sign(CIRCUITS, "bank", count=2, last=61)),
        "another one flaps": ({}, sign(CIRCUITS, "post")),
        "a server that drains refuses": ({}, sign(REFUSED, "503")),
        "few requests are refused": ({}, sign(REFUSED, "421", count=9)),
        "requests were refused": ({}, sign(REFUSED, "421", last=61)),
        "a failure was repeated": ({}, sign(REPEATS, "NOT_FOUND", last=61)),
        "a crash of long ago": ({"recent": [call("UNKNOWN_ERROR", "internal", 301)]}, Evidence()),
        "a worker that was killed long ago": ({}, Evidence(ends=[(ago(301), "exited")])),
        "a worker that starts": (lagging(phase="starting"), Evidence()),
        "an overload that is over": ({"recent": [call("OVERLOADED", "overloaded", 15)]}, Evidence()),
        "a quota that was used up": (
            {"recent": [call("QUOTA_EXHAUSTED", "quota_exhausted", 15)]},
            Evidence(quota_used=0.8),
        ),
        "two recoveries": ({"recent": [call("TIMEOUT", "timeout", 4, outcome="recovered")] * 2}, Evidence()),
        "a keyed write that was recovered": (
            {"recent": [call("IDEMPOTENCY_OUTCOME_UNKNOWN", "conflict", 4, outcome="recovered")]},
            Evidence(),
        ),
        "a fault of a caller": ({"recent": [call("NOT_FOUND", "not_found", 1)]}, Evidence()),
        "permitted failures": ({"recent": outage(), "objective": {"target": 0.99, "burn_5m": 1.0}}, Evidence()),
    }


@pytest.mark.parametrize("case", harmless())
def test_nothing_is_said_of_what_is_well_or_over(case: str) -> None:
    assert found(*harmless()[case]) == []


def test_a_repeated_failure_of_the_server_is_its_own() -> None:
    assert "repeats UNAVAILABLE" not in [
        one["key"] for one in found({"recent": outage()}, sign(REPEATS, "UNAVAILABLE"))
    ]


def test_what_is_over_says_when_it_was_seen_last_and_not_since_when() -> None:
    crash = call("UNKNOWN_ERROR", "internal", 15)
    [finding] = found({"recent": [crash]})
    assert (finding["last"], "since" in finding) == (crash["timestamp"], False)


def test_calls_that_an_operator_has_paused_do_not_fail() -> None:
    paused = {**ROW, "paused": {"reason": "Stocktaking", "by": "ann", "since": ago(5)}}
    refused = call("UNAVAILABLE", "unavailable", 4)

    [only] = found({"operations": [paused], "recent": [refused], **BURNING})
    worst = found({"operations": [paused], "recent": [refused, call("UNAVAILABLE", "unavailable", 7)], **BURNING})[0]

    assert only["what"] == "sell is paused: Stocktaking"
    assert worst["incident"] == "Callers suffer"


def test_calls_fail_with_what_fails_now_and_not_with_what_failed_more_often_before() -> None:
    before = [call("AUDIT_LOG_FAILED", "storage_error", 90)] * 9

    [fails] = found({"recent": [*outage(), *before], **BURNING})

    assert fails["what"] == "Calls fail, most often sell with UNAVAILABLE"


def test_a_lost_write_that_is_repeated_is_not_counted_again() -> None:
    lost = call("IDEMPOTENCY_OUTCOME_UNKNOWN", "conflict", 3)

    [once], [again] = (found({"recent": [lost] * times}) for times in (1, 7))

    assert once == again


def test_a_rare_operation_fails_until_a_minute_has_passed() -> None:
    seldom = {"operations": [{**ROW, "rate_per_s": 0.01}]}
    ages = {
        age: found({"recent": [call("UNKNOWN_ERROR", "internal", age)], **seldom})[0]["severity"] for age in (50, 70)
    }
    assert ages == {50: "error", 70: "note"}


def test_each_handler_that_crashes_is_named_though_another_has_crashed_since() -> None:
    recent = [
        call("UNKNOWN_ERROR", "internal", 12),
        call("UNKNOWN_ERROR", "internal", 20, operation="find"),
        call("UNKNOWN_ERROR", "internal", 30, operation="find"),
    ]
    assert [(one["key"], one["severity"]) for one in found({"recent": recent})] == [
        ("defect find", "error"),
        ("defect sell", "note"),
    ]


def test_calls_fail_as_long_as_those_of_one_operation_do() -> None:
    recent = [call("UNAVAILABLE", "unavailable", 12), call("UNAVAILABLE", "unavailable", 20, operation="find")]
    [finding] = found({"recent": recent, **BURNING})
    assert finding["key"] == "burn"


def test_the_line_that_crashes_is_named_where_it_is_known() -> None:
    [finding] = found({"recent": [call("UNKNOWN_ERROR", "internal", 1, origin="/srv/app/shop/sell.py:7")]})
    assert "shop/sell.py:7" in finding["todo"]
    assert "/srv" not in finding["todo"]


def test_the_operation_that_blocks_an_event_loop_is_named_and_nothing_is_slow_meanwhile() -> None:
    slow = {("shop", "find"): Slow(5.0, ago(5))}
    [finding] = found(lagging(), Evidence(blocking={7: "sell"}, slow=slow))
    assert finding["what"] == "The event loop of worker 7 is blocked by sell"


def test_calls_fail_since_their_minute_if_its_first_failure_is_not_among_the_last_calls() -> None:
    many = [call("UNAVAILABLE", "unavailable", 4)] * 200
    minute = ago(30)
    [finding] = found({"recent": many, **BURNING}, Evidence(failing_since=minute))
    assert finding["since"] == minute


def test_findings_come_worst_first_and_causes_before_what_follows() -> None:
    change = {**bank(), "recent": outage(), "reload": {"ok": False}, "phase": "draining", **BURNING}
    keys = [one["key"] for one in found(change, sign(REPEATS, "NOT_FOUND"))]
    assert keys == ["down bank", "burn", "phase", "reload", "repeats NOT_FOUND"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "no call failed by fault of the server in the last 5 minutes"),
        (BURNING, "20 % of calls failed in the last 5 minutes"),
        (
            {"objective": {"target": 0.99, "burn_5m": 0.5}},
            "0.5 % of calls failed in the last 5 minutes, which is permitted",
        ),
    ],
)
def test_it_is_said_whether_callers_suffer(change: dict[str, Any], said: str) -> None:
    assert headline_of({**WELL, **change}, Evidence())["callers"] == said


def test_it_is_said_that_callers_get_their_answers_by_recovery() -> None:
    status = {**WELL, "recent": [call("TIMEOUT", "timeout", 4, outcome="recovered")]}
    assert headline_of(status, Evidence())["callers"] == "callers get their answers, by recovery"


def test_the_incidents_that_are_named_are_in_the_documentation() -> None:
    headings = INCIDENTS.read_text().splitlines()
    named = {finding["incident"] for case in faults().values() for finding in found(*case[:2]) if "incident" in finding}
    assert len(named) > 8
    assert {incident for incident in named if f"## {incident}" not in headings} == set()


def pace(
    in_flight: int, *, ended: int = 0, usual_ms: float = 3.0, every_s: float = 1.0, times: int = 6
) -> dict[Any, Any]:
    """Return what is slow after some readings."""
    seen, slow = Pace(), {}
    for at in range(times):
        row = {**ROW, "in_flight": in_flight, "calls": {"ok": 10 + at * ended}, "p50_ms": usual_ms}
        slow = seen.slow([row], at * every_s)
    return slow


def test_calls_in_flight_that_do_not_end_are_slow_since_the_first_reading() -> None:
    [(key, slow)] = pace(4).items()
    assert key == ("shop", "sell")
    assert slow.mean_s == pytest.approx(20.0)
    assert ago(4) < slow.since < ago(2)


@pytest.mark.parametrize("every_s", [2.0, 3.0])
def test_slowness_is_seen_by_readers_of_every_rhythm(every_s: float) -> None:
    assert pace(4, every_s=every_s) != {}


@pytest.mark.parametrize(
    "readings",
    [
        {"in_flight": 0},
        {"in_flight": 4, "ended": 100},
        {"in_flight": 4, "usual_ms": 10_000.0},
        {"in_flight": 4, "times": 2},
        {"in_flight": 4, "every_s": 0.5, "times": 4},
        {"in_flight": 4, "every_s": 60.0},
    ],
)
def test_calls_that_end_that_take_as_long_as_usual_or_were_not_watched_are_not_slow(readings: dict[str, Any]) -> None:
    assert pace(**readings) == {}

"""What is wrong with a server, by its status: the lines on top of `failsoft top`, as on the page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from failsoft.metrics.rules import FAULTS

_RECENT_S, _QUIET_S, _SIGNS_FROM = 300.0, 60.0, 10
_FAILED = {"error", "rejected"}
Status = dict[str, Any]


def findings(status: Status) -> list[str]:
    """Return what is wrong, worst first: since when, and what to do."""
    finders: tuple[Callable[[Status], Iterator[str]], ...] = (
        *(_of_the_parts, _of_dependencies, _of_calls, _of_workers, _of_signs, _of_repeats),
    )
    return [line for find in finders for line in find(status)]


def callers(status: Status) -> str:
    """Return whether callers suffer, in a clause."""
    objective = status["objective"]
    if failing := objective["burn_5m"] * (1 - objective["target"]):
        return f"{failing:.1%} of calls failed in the last 5 minutes"
    return "no call failed in the last 5 minutes"


def _of_the_parts(status: Status) -> Iterator[str]:
    store, audit, reload = status["store"], status["audit"], status["reload"]
    if status["phase"] != "ready":
        yield f"The server is {status['phase']}: calls go to the other replicas"
    if not store["available"]:
        what = f"The state store ({store['kind']}) cannot be used: {store.get('fault', 'lost')}"
        yield _line(what, store.get("since"), "repair it; calls with idempotency keys are refused until then")
    if not audit["ok"]:
        todo = "make room on its disk, or give its permissions back"
        yield _line("The audit log cannot be written", audit.get("since"), todo)
    if not reload["ok"]:
        todo = f"the last good one stays in force; correct it: {reload.get('error', 'the log says where')}"
        yield _line("The recovery file has a mistake", reload.get("since"), todo)
    if used := store.get("quota_used"):
        yield f"A caller has used {used:.0%} of its quota: raise FAILSOFT_STATE_QUOTA_BYTES, or keep keys for less time"


def _of_dependencies(status: Status) -> Iterator[str]:
    closings = {sign["label"]: sign for sign in _signs(status, "mcp_circuit_transitions_total", at_least=2)}
    for one in status["dependencies"]:
        name, since, circuit = one["name"], one.get("since"), one.get("circuit", "closed")
        if holder := one.get("held_by"):
            yield _line(f"The breaker of {name} is held {circuit} by {holder}", since, f"failsoft state reset {name}")
        elif sign := closings.get(name):
            todo = f"look at it, and hold its breaker meanwhile: failsoft state open {name}"
            yield _line(f"{name} is up and down again and again", sign["first"], todo)
        elif circuit != "closed":
            yield _line(f"{name} is down", since, "repair it: its breaker closes by itself")


def _of_calls(status: Status) -> Iterator[str]:
    kinds = {
        "internal": ("{operation} crashes ({code})", "fix the line that the log names as place, or roll back"),
        "OVERLOADED": ("Calls of {operation} are refused ({code})", "find the handler that hangs, or the caller"),
        "IDEMPOTENCY_OUTCOME_UNKNOWN": ("A keyed write of {operation} was lost", "look whether it was done"),
        "QUOTA_EXHAUSTED": ("A caller has used up its quota ({code})", "raise FAILSOFT_STATE_QUOTA_BYTES"),
    }
    calls = [call for call in status["recent"] if call["outcome"] in _FAILED and _age_s(call["timestamp"]) < _RECENT_S]
    for kind, (what, todo) in kinds.items():
        if found := [call for call in calls if kind in {call["code"], call["category"]}]:
            until = found[0]["timestamp"] if _age_s(found[0]["timestamp"]) > _QUIET_S else ""
            since = f"{found[-1]['timestamp']} until {until}" if until else found[-1]["timestamp"]
            yield _line(what.format(**found[0]), since, todo)


def _of_workers(status: Status) -> Iterator[str]:
    ends = sorted(_signs(status, "mcp_worker_restarts_total", at_least=1), key=lambda sign: sign["last"])
    word = {"stalled": "stalled", "exited": "was killed or crashed"}[ends[-1]["label"]] if ends else "ended or stalled"
    for worker in status["workers"]:
        started = worker.get("started")
        if started and _age_s(started) < _RECENT_S:
            yield f"A worker {word}, and {worker['pid']} was started at {started}: worker_ended in the log says why"
        if worker["loop_lag_s"] > 1:
            yield f"The event loop of worker {worker['pid']} is blocked: the log names the operation (loop_blocked)"


def _of_signs(status: Status) -> Iterator[str]:
    for sign in _signs(status, "mcp_http_refused_total", at_least=_SIGNS_FROM):
        if sign["label"] != "503":
            todo = "the log says why (access_refused)"
            yield _line(f"{sign['count']} requests were refused with status {sign['label']}", sign["first"], todo)


def _of_repeats(status: Status) -> Iterator[str]:
    for sign in _signs(status, "mcp_repeated_failures_total", at_least=_SIGNS_FROM):
        if any(call["code"] == sign["label"] and call["category"] in FAULTS for call in status["recent"]):
            continue  # its cause is named above
        todo = "call_failed in the log names it"
        yield _line(f"A client repeats a call that fails with {sign['label']}", sign["first"], todo)


def _signs(status: Status, metric: str, *, at_least: int) -> list[dict[str, Any]]:
    return [sign for sign in status.get("signs", ()) if sign["metric"] == metric and sign["count"] >= at_least]


def _line(what: str, since: str | None, todo: str) -> str:
    return f"{what}{f' since {since}' if since else ''}: {todo}"


def _age_s(timestamp: str) -> float:
    return (dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(timestamp)).total_seconds()

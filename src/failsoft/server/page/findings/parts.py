"""Rules about the parts of a server: phase, event loops, store, audit log, dependencies, workers, recovery file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.metrics.definitions import CIRCUIT_TRANSITIONS, REFUSED
from failsoft.server.page.findings.evidence import (
    QUIET_AT_MOST_S,
    RECENT_S,
    HeadlineFinding,
    Reading,
    Severity,
    ago,
    lasts,
)

_FLAPS_FROM, _CRASH_LOOP_FROM = 2, 4
_STORE = {
    "lost": "cannot be reached",
    "read_only": "can only be read",
    "full": "is full",
    "busy": "is busy",
    "denied": "refuses access",
    "loading": "is loading its data",
    "damaged": "is damaged",
}
_NAMED = "the log has them as access_refused: often a Host or Origin that is not in FAILSOFT_ALLOWED_HOSTS"
_REFUSED_WITH = {
    "403": _NAMED,
    "413": "let the client send less, or raise FAILSOFT_MAX_REQUEST_BYTES",
    "421": _NAMED,
}
"""What to do about requests that are refused with a status."""
_ELSE = "see which client sends them, in the log of the proxy in front of the server"


def of_phase(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name a server that takes no calls."""
    phase = reading.status["phase"]
    if phase == "ready":
        return
    what = "The server is draining and takes no new calls" if phase == "draining" else f"The server is {phase}"
    yield HeadlineFinding("phase", "warning", what, "calls go to the other replicas until it is started again")


def of_blocked_loops(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name each worker whose event loop is blocked; with the state store away that is its cause."""
    severity: Severity = "warning" if reading.status["store"]["available"] else "error"
    for worker in reading.blocked:
        pid, lag_s = worker["pid"], worker["loop_lag_s"]
        operation = reading.evidence.blocking.get(pid)
        yield HeadlineFinding(
            f"late {pid}",
            severity,
            f"The event loop of worker {pid} is blocked{f' by {operation}' if operation else ''}",
            f"fix {operation}: let it await, or make it sync"
            if operation
            else "fix the operation that the log names; with none, the process is stopped or has too little CPU",
            since=ago(lag_s),
            incident="The event loop is blocked",
        )


def of_store(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name a state store that cannot be used."""
    store = reading.status["store"]
    if not store["available"]:
        yield HeadlineFinding(
            "store",
            "error",
            f"The state store ({store['kind']}) {_STORE.get(store.get('fault', 'lost'), 'cannot be used')}",
            "repair it; until then calls with idempotency keys are refused, which harms nothing",
            since=reading.evidence.failing.get("store"),
            incident="The state store cannot be used",
        )


def of_audit(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name an audit log that cannot be written."""
    if not reading.status["audit"]["ok"]:
        yield HeadlineFinding(
            "audit",
            "error",
            "The audit log cannot be written",
            "make room on its disk or give its permissions back: failures are answered with AUDIT_LOG_FAILED",
            since=reading.evidence.failing.get("audit"),
            incident="The audit log cannot be written",
        )


def of_dependencies(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name each dependency that is down, flaps or is held by an operator."""
    closings = reading.evidence.rising(CIRCUIT_TRANSITIONS.name)
    for one in reading.status["dependencies"]:
        name, circuit, since = one["name"], one.get("circuit", "closed"), one.get("since")
        closed = closings.get(name)
        if holder := one.get("held_by"):
            yield _held(name, circuit, holder, since)
        elif closed is not None and _flaps(circuit, closed):
            yield HeadlineFinding(
                f"flaps {name}",
                "warning" if circuit == "closed" else "error",
                f"{name} is up and down again and again",
                "hold its circuit breaker open until it is stable, then reset it",
                since=closed["first"],
                incident="A dependency flaps",
            )
        elif circuit != "closed":
            yield HeadlineFinding(
                f"down {name}",
                "error",
                f"{name} is down",
                f"repair it: its circuit breaker ({circuit.replace('_', '-')}) closes by itself",
                since=min(reading.failing_since or since, since),
                incident="A dependency is down",
            )


def _flaps(circuit: str, closed: Mapping[str, Any]) -> bool:
    """Return whether a circuit has closed twice lately, or is open again after it has closed."""
    if circuit != "closed":
        return True
    return bool(closed["count"] >= _FLAPS_FROM and closed["last"] > ago(QUIET_AT_MOST_S))


def _held(name: str, circuit: str, holder: str, since: str | None) -> HeadlineFinding:
    incident = "An operator has stopped calls"
    if circuit == "closed":
        what = f"{name} is held closed by an operator ({holder})"
        return HeadlineFinding(
            f"closed {name}", "note", what, "reset its breaker to end that", since, incident=incident
        )
    what = f"An operator ({holder}) has stopped the calls of {name}"
    return HeadlineFinding(
        f"held {name}", "error", what, "reset its breaker once the dependency works", since, incident=incident
    )


def of_workers(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name workers that had to be replaced in the last minutes."""
    ends = [(at, reason) for at, reason in reading.evidence.ends if at > ago(RECENT_S)]
    if not ends:
        return
    last, reason = ends[-1]
    exits = [at for at, why in ends if why == "exited"]
    severity: Severity = "warning" if last > ago(QUIET_AT_MOST_S) else "note"
    if len(exits) >= _CRASH_LOOP_FROM:
        todo = "read the log before each worker_ended, and roll back what was changed"
        incident = "Workers crash in a loop"
        yield HeadlineFinding("loop", "error", "Workers end again and again", todo, since=exits[0], incident=incident)
    elif reason == "stalled":
        what = "A worker stalled and had to be replaced"
        todo = "fix the operation of worker_stalled in the log; with none, the process was stopped or lacked CPU"
        yield HeadlineFinding("stalled", severity, what, todo, last=last, incident="A worker stalls")
    else:
        what = "A worker was killed or crashed and had to be replaced"
        todo = "see its exit_status in the log at worker_ended: -9 is often too little memory"
        yield HeadlineFinding("ended", severity, what, todo, last=last, incident="A worker was killed")


def of_reload(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name a recovery file with a mistake."""
    reload = reading.status["reload"]
    if not reload["ok"]:
        error = reload.get("error", "").rstrip(".")
        yield HeadlineFinding(
            "reload",
            "warning",
            "The recovery file has a mistake",
            f"the last good one stays in force; correct it{f': {error}' if error else ''}",
            since=reading.evidence.failing.get("reload"),
            incident="The recovery file has a mistake",
        )


def of_requests(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name statuses with which many requests were refused, but not those of a server that drains."""
    for label, sign in reading.evidence.rising(REFUSED.name).items():
        if label == "503" or not lasts(sign):
            continue
        count, since = f"{sign['count']:,} requests", sign["first"]
        if label == "401":
            what, incident = f"{count} had no valid token", "A flood of 401"
            todo = "give the client the new token, or block its address"
        else:
            what, incident = f"{count} were refused with status {label}", "Requests are refused"
            todo = _REFUSED_WITH.get(label, _ELSE)
        yield HeadlineFinding(f"refused {label}", "warning", what, todo, since, incident=incident)


def of_pauses(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name each operation that an operator has paused."""
    for one in reading.status["operations"]:
        if pause := one.get("paused"):
            name = one["operation"]
            what = f"{name} is paused: {pause['reason']}"
            yield HeadlineFinding(
                f"paused {name}", "note", what, "resume it when the reason is gone", since=pause["since"]
            )

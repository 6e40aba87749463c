"""Rules about calls that fail, are slow, were recovered or are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from failsoft.metrics.definitions import REPEATED_FAILURES
from failsoft.metrics.rules import FAST_BURN, FAULTS
from failsoft.server.page.findings.evidence import (
    QUIET_AT_MOST_S,
    RECOVERED,
    Call,
    HeadlineFinding,
    Reading,
    Severity,
    ago,
    is_fault,
    lasts,
    share,
)
from failsoft.server.page.findings.pace import WATCHED_S

_RECOVERED_FROM = 3
_QUOTA_NEARLY_USED = 0.8


def of_lost_writes(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name keyed writes of which nobody knows whether they were done."""
    code = "IDEMPOTENCY_OUTCOME_UNKNOWN"
    lost = [call for call in reading.lately if call["code"] == code and call["outcome"] not in RECOVERED]
    if lost:
        yield HeadlineFinding(
            "unknown",
            "error",
            f"It is unknown whether what {lost[0]['operation']} was called for with an idempotency key was done",
            "look whether it was done, and tell the callers",
            since=lost[-1]["timestamp"],
            incident="A keyed write was lost",
        )


def of_overload(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name calls that are refused for want of a place."""
    refused = [call for call in reading.lately if call["code"] == "OVERLOADED"]
    if refused and not reading.is_over(refused):
        yield HeadlineFinding(
            "overload",
            "error",
            f"Calls of {refused[0]['operation']} are refused, because the server is overloaded",
            "find the handler that hangs (calls in flight, DEADLINE_EXCEEDED) or the caller that sends too much",
            since=refused[-1]["timestamp"],
            incident="Threads are used up",
        )


def of_defects(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name each handler that crashes, or has crashed."""
    crashes: dict[tuple[str, str], list[Call]] = {}
    for call in reading.lately:
        if call["category"] == "internal" and is_fault(call):
            crashes.setdefault((call["tool"], call["operation"]), []).append(call)
    for (_, operation), defects in crashes.items():
        is_over, origin = reading.is_over(defects), defects[0].get("origin")
        line = f"its line {'/'.join(PurePath(origin).parts[-2:])}" if origin else "the line that the log names as place"
        yield HeadlineFinding(
            f"defect {operation}",
            "note" if is_over else "error",
            f"{operation} {'crashed' if is_over else 'crashes'} ({defects[0]['code']})",
            f"fix {line}, or roll back",
            since=None if is_over else defects[-1]["timestamp"],
            last=defects[0]["timestamp"] if is_over else None,
            incident="A handler crashes",
        )


def of_slowness(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name each operation that has become slow, unless its calls wait for a blocked event loop."""
    if reading.blocked:
        return
    for (_, operation), slow in reading.evidence.slow.items():
        yield HeadlineFinding(
            f"slow {operation}",
            "warning",
            f"{operation} is slow: its calls take {min(slow.mean_s, WATCHED_S):.1f} s or longer",
            "look at what it depends on; a shorter time limit keeps threads and places free",
            since=slow.since,
            incident="A dependency is slow",
        )


def of_burn(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name what fails more often than the objective permits, or has until a while ago."""
    status = reading.status
    burn = status["objective"]["burn_5m"]
    if burn <= 1:
        return
    faults = [call for call in reading.lately if is_fault(call) and not reading.is_paused(call)]
    if not faults and any(map(is_fault, reading.lately)):
        return
    current = [call for call in faults if call["timestamp"] > ago(QUIET_AT_MOST_S)]
    counts = Counter(f"{call['operation']} with {call['code']}" for call in current or faults)
    counts = counts or Counter({f"{one['operation']} with {one['code']}": one["count"] for one in status["errors"]})
    worst = "".join(f", most often {name}" for name, _ in counts.most_common(1))
    incident = "Callers suffer"
    if not faults or reading.is_over(faults):
        last = faults[0]["timestamp"] if faults else None
        todo = "look into the last failures if they come back"
        yield HeadlineFinding("burnt", "note", f"Calls failed{worst}", todo, last=last, incident=incident)
        return
    since = reading.failing_since or faults[-1]["timestamp"]
    todo = "look at the story of the last failure, and repair what it names"
    severity: Severity = "error" if burn > FAST_BURN else "warning"
    yield HeadlineFinding("burn", severity, f"Calls fail{worst}", todo, since, incident=incident)


def of_quotas(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name a quota in the state store that is used up, or nearly."""
    refused = [call for call in reading.lately if call["code"] == "QUOTA_EXHAUSTED"]
    is_full = bool(refused) and not reading.is_over(refused)
    used = reading.evidence.quota_used
    if is_full or used > _QUOTA_NEARLY_USED:
        spent = "up its" if is_full else f"{share(used)} of its"
        yield HeadlineFinding(
            "quota",
            "error" if is_full else "warning",
            f"A caller has used {spent} quota in the state store",
            "raise FAILSOFT_STATE_QUOTA_BYTES, or keep its keys for a shorter time",
            since=refused[-1]["timestamp"] if is_full else None,
            incident="A quota is nearly used up",
        )


def of_repeats(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name a failure that a client repeats, unless the server is at fault."""
    of_the_server = {call["code"] for call in reading.status["recent"] if call["category"] in FAULTS}
    for label, sign in reading.evidence.rising(REPEATED_FAILURES.name).items():
        if label not in of_the_server and lasts(sign):
            what = f"A client repeats a call that fails with {label}"
            todo, incident = "call_failed in the log names its user and session", "A client repeats a failing call"
            yield HeadlineFinding(f"repeats {label}", "note", what, todo, sign["first"], incident=incident)


def of_recoveries(reading: Reading) -> Iterator[HeadlineFinding]:
    """Name calls that work only after recovery."""
    recovered = [call for call in reading.lately if call["outcome"] in RECOVERED]
    if len(recovered) >= _RECOVERED_FROM:
        yield HeadlineFinding(
            "recoveries",
            "note",
            f"{recovered[0]['operation']} works only after recovery from {recovered[0]['code']}",
            "look at what it depends on before it fails altogether",
            since=recovered[-1]["timestamp"],
            incident="Calls work only after recovery",
        )

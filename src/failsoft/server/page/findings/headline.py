"""The headline of a server's page, and the first lines of `failsoft top`: what is wrong, and whether callers suffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from failsoft.server.page.findings import calls, parts
from failsoft.server.page.findings.evidence import RECENT_S, Evidence, HeadlineFinding, Reading, ago, share

_RULES: tuple[Callable[[Reading], Iterator[HeadlineFinding]], ...] = (
    parts.of_phase,
    parts.of_blocked_loops,
    parts.of_store,
    parts.of_audit,
    parts.of_dependencies,
    calls.of_lost_writes,
    calls.of_overload,
    calls.of_defects,
    parts.of_workers,
    calls.of_slowness,
    calls.of_burn,
    calls.of_quotas,
    parts.of_reload,
    parts.of_requests,
    calls.of_repeats,
    calls.of_recoveries,
    parts.of_pauses,
)
"""Findings of one severity are in this order: causes come before what follows from them."""


def headline(status: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    """Return the headline of a status: `callers`, whether they suffer, and `findings`, worst first."""
    found = [{key: value for key, value in asdict(one).items() if value} for one in findings(status, evidence)]
    return {"callers": callers(status), "findings": found}


def findings(status: Mapping[str, Any], evidence: Evidence) -> list[HeadlineFinding]:
    """Return what is wrong, worst first."""
    reading = Reading(status, evidence)
    found = [finding for rule in _RULES for finding in rule(reading)]
    return sorted(found, key=lambda one: ("error", "warning", "note").index(one.severity))


def callers(status: Mapping[str, Any]) -> str:
    """Return whether callers suffer, in a clause."""
    objective = status["objective"]
    if failing := objective["burn_5m"] * (1 - objective["target"]):
        permitted = ", which is permitted" if objective["burn_5m"] <= 1 else ""
        return f"{share(failing)} of calls failed in the last 5 minutes{permitted}"
    begin = ago(RECENT_S)
    if any(call["outcome"] == "recovered" and call["timestamp"] > begin for call in status["recent"]):
        return "callers get their answers, by recovery"
    return "no call failed by fault of the server in the last 5 minutes"

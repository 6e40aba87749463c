"""The headline of a server's page, and the first lines of `failsoft top`: what is wrong, and whether callers suffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from failsoft.server.page.findings import calls, parts
from failsoft.server.page.findings.evidence import Evidence, HeadlineFinding, Reading, share

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
    reading = Reading(status, evidence)
    found = [finding for rule in _RULES for finding in rule(reading)]
    found.sort(key=lambda one: ("error", "warning", "note").index(one.severity))
    shown = [{key: value for key, value in asdict(one).items() if value} for one in found]
    return {"callers": _callers(reading), "findings": shown}


def _callers(reading: Reading) -> str:
    """Return whether callers suffer, in a clause."""
    objective = reading.status["objective"]
    if failing := objective["burn_5m"] * (1 - objective["target"]):
        permitted = ", which is permitted" if objective["burn_5m"] <= 1 else ""
        return f"{share(failing)} of calls failed in the last 5 minutes{permitted}"
    if any(call["outcome"] == "recovered" for call in reading.lately):
        return "callers get their answers, by recovery"
    return "no call failed by fault of the server in the last 5 minutes"

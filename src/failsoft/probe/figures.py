"""What a report says in sum, for every form that it is shown in."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.probe.report import ProbeFinding, ProbeReport
from failsoft.rules import by_name

_WORST = 3
_LISTED = 8


def worst(report: ProbeReport) -> list[ProbeFinding]:
    """Return the three worst findings, each of another rule as far as there are."""
    first: dict[str, ProbeFinding] = {}
    for one in report.findings:
        first.setdefault(one.name, one)
    more = [one for one in report.findings if one is not first[one.name]]
    return [*first.values(), *more][:_WORST]


def by_rule(report: ProbeReport) -> list[tuple[str, str, list[str]]]:
    """Return severity, name and the tools that break it of each rule, the worst first."""
    found: dict[str, tuple[str, list[str]]] = {}
    for one in report.findings:
        found.setdefault(one.name, (one.severity, []))[1].append(one.tool)
    return [(severity, name, tools) for name, (severity, tools) in found.items()]


def summary(report: ProbeReport) -> list[str]:
    """Return what a report says in sum, a line each."""
    called = sum(1 for tool in report.tools if tool["called"])
    repaired = f"{report.repaired} of {report.faults} faults were repaired within two calls"
    lines = [
        f"Recoverability {percent(report.recoverability)}: {repaired}, from the text of the answers alone.",
        f"Misled {report.misled} of {report.advice} times that a call was made as an answer advised.",
        f"Findings: {len(report.findings)}, on {called} of {len(report.tools)} tools, with {report.calls} calls.",
    ]
    if report.unrepaired:
        each = dict.fromkeys(report.unrepaired)
        missed = [f"{tool} ({kind} `{name}`)" if name else f"{tool} ({kind})" for tool, kind, name in each]
        lines.insert(1, f"Not repaired: {_listed(missed)}.")
    skipped = [tool["name"] for tool in report.tools if "skipped" in tool]
    if skipped:
        lines.append(f"Not called: {_listed(skipped)}.")
    if report.silenced:
        lines.append(f"Silenced: {sum(one['count'] for one in report.silenced)}.")
    if not report.complete:
        lines.append("Not complete: a bound was reached, the server is gone, or the probe was interrupted.")
    return lines


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_LISTED], *(["…"] if len(names) > _LISTED else [])])


def beside(report: ProbeReport, proxied: ProbeReport) -> list[tuple[str, str, str]]:
    """Return the figures of two reports side by side."""
    both = (report, proxied)
    rows = {
        "recoverability": [percent(one.recoverability) for one in both],
        "misled": [f"{one.misled} of {one.advice}" for one in both],
        "findings": [str(len(one.findings)) for one in both],
    }
    for name in sorted({found.name for one in both for found in one.findings}, key=lambda name: by_name(name).number):
        rows[name] = [str(sum(found.name == name for found in one.findings) or "-") for one in both]
    rows["complete"] = ["yes" if one.complete else "no" for one in both]
    return [(name, first, second) for name, (first, second) in rows.items()]


def percent(ratio: float | None) -> str:
    """Return a ratio in percent; a dash if there was no case."""
    return "-" if ratio is None else f"{ratio * 100:.0f} %"

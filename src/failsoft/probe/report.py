"""The report of a probe: its findings and ratios, with every text of the server bounded, redacted and printable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import json_on_one_line, printable_lines
from failsoft.probe.faults import FaultyCall
from failsoft.rules import Silences, by_name

_ANSWER_AT_MOST = 600
_VALUE_AT_MOST = 120
_SEVERITIES = ("error", "warning", "note")
_GRAVE = frozenset({"crash", "hang", "leaks-secret", "misleading-advice"})
"""Rules that come first among those of their severity: they do harm, where others only hold up."""
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b0x[0-9a-f]{6,}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b"
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d+(?:\.\d+)? ?(?:ms|µs|us|s|seconds?)\b|\b1[6-9]\d{8,11}(?:\.\d+)?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """A rule that a tool breaks.

    Args:
        name: The rule's name.
        tool: The tool.
        fault: What was wrong with the call, or `none`.
        call: The call that showed it: `tool` and `arguments`.
        answer: The beginning of what was answered.
        why: What is wrong with it, for this call.
        change: `file:line` of the tool, where its source is known.
        is_note: Whether it weighs less than the rule: what a library answers in the place of the tool.
    """

    name: str
    tool: str
    fault: str
    call: Mapping[str, Any]
    answer: str
    why: str
    change: str = ""
    is_note: bool = False

    @property
    def severity(self) -> str:
        """The severity of the rule, or `note`."""
        return "note" if self.is_note else by_name(self.name).severity

    def to_json(self) -> dict[str, Any]:
        """Return the finding as the report has it."""
        rule = by_name(self.name)
        change = {"change": self.change} if self.change else {}
        return {
            "rule": rule.number,
            "name": rule.name,
            "severity": self.severity,
            "tool": self.tool,
            "fault": self.fault,
            "call": dict(self.call),
            "answer": self.answer,
            "why": self.why,
            **change,
        }


@dataclass(slots=True)
class ProbeReport:
    """What a probe found.

    Args:
        name: The server's name.
        version: The server's version.
        seed: What chose the faults.
        complete: Whether all was tried: no bound was reached, and nobody ended it.
        calls: Calls that were sent.
        tools: `name`, `called` and `skipped` of each tool.
        faults: Faults of calls that otherwise work.
        repaired: Those after which the reader made the meant call within two.
        unrepaired: Tool, fault and parameter of the others.
        advice: Calls that an answer named or corrected, and that were made.
        misled: Those that did something else than was meant.
        findings: One for a tool and a rule, the worst first.
        silenced: Findings that the project has silenced, with the reason.
        timing: What is never the same twice.
    """

    name: str
    version: str
    seed: int
    complete: bool = True
    calls: int = 0
    tools: list[dict[str, Any]] = field(default_factory=list)
    faults: int = 0
    repaired: int = 0
    unrepaired: list[tuple[str, str, str]] = field(default_factory=list)
    advice: int = 0
    misled: int = 0
    findings: list[ProbeFinding] = field(default_factory=list)
    silenced: list[dict[str, Any]] = field(default_factory=list)
    timing: dict[str, float] = field(default_factory=dict)

    @property
    def recoverability(self) -> float | None:
        """The share of faults that were repaired."""
        return _ratio(self.repaired, self.faults)

    def to_json(self) -> dict[str, Any]:
        """Return the report in the form of `probe.schema.json`."""
        return {
            "target": {"name": self.name, "version": self.version},
            "seed": self.seed,
            "complete": self.complete,
            "calls": self.calls,
            "tools": self.tools,
            "faults": self.faults,
            "repaired": self.repaired,
            "recoverability": self.recoverability,
            "advice": self.advice,
            "misled_calls": self.misled,
            "misled": _ratio(self.misled, self.advice),
            "findings": [finding.to_json() for finding in self.findings],
            "silenced": self.silenced,
            "timing": self.timing,
        }

    def count(self, fault: FaultyCall, *, is_repaired: bool) -> None:
        """Count a fault of a call that otherwise works."""
        self.faults += 1
        self.repaired += is_repaired
        if not is_repaired:
            self.unrepaired.append((fault.tool, fault.kind, fault.field))

    def add(self, finding: ProbeFinding) -> None:
        """Keep a finding unless the tool has one of that rule."""
        if not any((one.name, one.tool) == (finding.name, finding.tool) for one in self.findings):
            self.findings.append(finding)

    def finish(self, silences: Silences, places: Mapping[str, str]) -> None:
        """Order the findings, add where their tools are written, and take out the silenced ones.

        Args:
            silences: What the project silences.
            places: `file:line` by the tool's name.
        """
        order = [tool["name"] for tool in self.tools]
        kept: list[ProbeFinding] = []
        counts: dict[tuple[str, str], int] = {}
        for one in self.findings:
            if silences.reason(one.name, one.tool) is None:
                kept.append(replace(one, change=places.get(one.tool, "")))
            else:
                counts[one.name, one.tool] = counts.get((one.name, one.tool), 0) + 1
        self.findings = sorted(kept, key=lambda one: _rank(one, order))
        self.silenced = [
            {
                "rule": by_name(name).number,
                "name": name,
                "tool": tool,
                "reason": silences.reason(name, tool),
                "count": count,
            }
            for (name, tool), count in sorted(counts.items())
        ]


def merged(reports: Sequence[tuple[str, ProbeReport]]) -> ProbeReport:
    """Return one report for several servers, with `NAME__` before the names of their tools."""
    if len(reports) == 1:
        return reports[0][1]
    whole = ProbeReport(", ".join(name for name, _ in reports), "", reports[0][1].seed)
    for name, one in reports:
        whole.complete = whole.complete and one.complete
        for count in ("calls", "faults", "repaired", "advice", "misled"):
            setattr(whole, count, getattr(whole, count) + getattr(one, count))
        whole.tools += [{**tool, "name": f"{name}__{tool['name']}"} for tool in one.tools]
        whole.unrepaired += [(f"{name}__{tool}", kind, parameter) for tool, kind, parameter in one.unrepaired]
        whole.findings += [
            replace(found, tool=f"{name}__{found.tool}", call={**found.call, "tool": f"{name}__{found.call['tool']}"})
            for found in one.findings
        ]
        for key, value in one.timing.items():
            whole.timing[key] = round(whole.timing.get(key, 0.0) + value, 3)
    return whole


def shown_answer(text: str) -> str:
    """Return the beginning of a server's text: redacted, printable, and without what changes from run to run."""
    cut = text[: _ANSWER_AT_MOST * 4]
    clean = _VOLATILE.sub("…", printable_lines(redact_text(cut)))
    return clean if len(clean) <= _ANSWER_AT_MOST and len(cut) == len(text) else clean[: _ANSWER_AT_MOST - 1] + "…"


def shown_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for a report: long texts are cut, and what cannot be seen is escaped."""
    return {str(_shown(name)): _shown(value) for name, value in redact(dict(arguments)).items()}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        text = json_on_one_line(value[:_VALUE_AT_MOST])
        return text if len(value) <= _VALUE_AT_MOST else f"{text}… ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {str(_shown(name)): _shown(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [*map(_shown, value[:10]), *([f"… ({len(value)} items)"] if len(value) > 10 else [])]  # noqa: PLR2004 - enough to see it
    return value


def _rank(finding: ProbeFinding, order: Sequence[str]) -> tuple[int, str, int]:
    place = order.index(finding.tool) if finding.tool in order else len(order)
    is_grave = finding.name in _GRAVE
    return _SEVERITIES.index(finding.severity), "" if is_grave else by_name(finding.name).number, place


def _ratio(part: int, whole: int) -> float | None:
    return None if whole == 0 else round(part / whole, 4)

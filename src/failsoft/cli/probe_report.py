"""The report of `failsoft probe` on a terminal: the three worst findings first, understandable without the docs."""

from __future__ import annotations

import json
import textwrap

from failsoft.cli.screen import Screen
from failsoft.framework.text import printable_lines
from failsoft.probe.figures import beside, by_rule, summary, worst
from failsoft.probe.report import ProbeFinding, ProbeReport
from failsoft.rules import by_name

_ANSWER_LINES = 4


def show(screen: Screen, report: ProbeReport, proxied: ProbeReport | None) -> None:
    """Write a report, and beside it that of the same server behind the proxy."""
    screen.heading(f"{report.name} {report.version}".strip())
    if proxied is None:
        for line in summary(report):
            screen.text(line)
    else:
        screen.rows(("", "bare", "behind failsoft proxy"), beside(report, proxied))
    screen.text()
    for number, finding in enumerate(worst(report), 1):
        _show_finding(screen, number, finding)
    if not report.findings:
        screen.text("No findings.")
        return
    rows = [(severity, by_name(name).number, name, ", ".join(tools)) for severity, name, tools in by_rule(report)]
    screen.rows(("severity", "rule", "name", "tools"), rows, title="All findings")
    screen.text(f"`failsoft explain {report.findings[0].name}` explains a rule; --json has every call and answer.")


def _show_finding(screen: Screen, number: int, finding: ProbeFinding) -> None:
    rule = by_name(finding.name)
    screen.heading(f"{number}. {finding.tool}: {finding.name} ({rule.number}, {finding.severity})", style="bold")
    called = f"{finding.call['tool']} {json.dumps(finding.call['arguments'], ensure_ascii=False)}"
    answer = finding.answer.strip().splitlines() or ["(nothing)"]
    cut = [*answer[:_ANSWER_LINES], *(["…"] if len(answer) > _ANSWER_LINES else [])]
    parts = [("Call", [called]), ("Answer", cut), ("Why", [finding.why, rule.why]), ("Better", rule.good.splitlines())]
    if finding.change:
        parts.append(("Change", [finding.change]))
    for label, lines in parts:
        for place, line in enumerate(lines):
            begin = f"  {label if place == 0 else '':8}"
            shown = printable_lines(line)
            screen.text(textwrap.fill(shown, screen.width, initial_indent=begin, subsequent_indent=" " * 10))
    screen.text()

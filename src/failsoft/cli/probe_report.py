"""The report of `failsoft probe`: on a terminal the three worst findings first, understandable without the docs."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from failsoft.cli.screen import Screen
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.text import printable_lines
from failsoft.probe.figures import beside, by_rule, summary, worst
from failsoft.probe.html import as_html
from failsoft.probe.junit import as_junit
from failsoft.probe.report import ProbeFinding, ProbeReport
from failsoft.rules import by_name

_ANSWER_LINES = 4


def write(report: ProbeReport, proxied: ProbeReport | None, *, html: Path | None, junit: Path | None) -> None:
    """Write a report to the files that were asked for.

    Raises:
        CONFIG_ERROR: A file cannot be written.
    """
    if html is not None:
        _write(html, as_html(report, proxied))
    if junit is not None:
        _write(junit, as_junit(report))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(issue=f"{file} cannot be written ({error.strerror})") from error


def show(report: ProbeReport, proxied: ProbeReport | None, *, as_json: bool) -> None:
    """Show a report, and beside it that of the same server behind the proxy."""
    screen = Screen()
    if as_json:
        screen.json(report.to_json() if proxied is None else {**report.to_json(), "proxy": proxied.to_json()})
        return
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

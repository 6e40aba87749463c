"""The report as JUnit XML, as CI systems show it: a test case for each tool, a failure for each finding."""

from __future__ import annotations

import json
import re
from xml.sax.saxutils import escape, quoteattr

from failsoft.probe.report import ProbeFinding, ProbeReport
from failsoft.rules import by_name

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(report: ProbeReport) -> str:
    """Return the report as JUnit XML; tools that were not called are skipped test cases."""
    broken = {one.tool for one in report.findings}
    skipped = sum(1 for tool in report.tools if "skipped" in tool)
    about = f'tests="{len(report.tools)}" failures="{len(broken)}" errors="0" skipped="{skipped}"'
    time = f'time="{report.timing.get("seconds", 0.0)}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    lines.append(f"  <testsuite name={_attribute(f'failsoft probe {report.name}')} {about} {time}>")
    for tool in report.tools:
        lines.append(f"    <testcase classname={_attribute(report.name or 'server')} name={_attribute(tool['name'])}>")
        lines += [_failure(one) for one in report.findings if one.tool == tool["name"]]
        if "skipped" in tool:
            lines.append(f"      <skipped message={_attribute(tool['skipped'])}/>")
        lines.append("    </testcase>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _failure(finding: ProbeFinding) -> str:
    called = f"{finding.call['tool']} {json.dumps(finding.call['arguments'], ensure_ascii=False)}"
    text = f"Call: {called}\nAnswer: {finding.answer}\n{finding.change}".strip()
    kind = f"{by_name(finding.name).number} {finding.name}"
    return f"      <failure type={_attribute(kind)} message={_attribute(finding.why)}>{escape(_clean(text))}</failure>"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)

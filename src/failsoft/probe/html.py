"""The report as one HTML file without scripts and outside hosts, in which every text of a server stays text."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape

from failsoft.probe.figures import beside, by_rule, summary, worst
from failsoft.probe.report import ProbeFinding, ProbeReport
from failsoft.rules import by_name

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --dim: #4b535d; --back: #fff; --card: #f5f6f8; --line: #d5d9de;
  --error: #a3120b; --warning: #7a4a00; --note: #3c4652; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --dim: #b3bac4; --back: #14171a; --card: #1f2429;
  --line: #3a4149; --error: #ff9d94; --warning: #f0c070; --note: #b9c3cf; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 68rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--back); }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
.wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 1rem; margin: 0 0 1rem; }
dl { margin: 0; } dt { color: var(--dim); font-size: .875rem; } dd { margin: 0 0 .5rem; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.45 ui-monospace, monospace; }
.error { color: var(--error); } .warning { color: var(--warning); } .note { color: var(--note); }
.dim { color: var(--dim); }
"""


def as_html(report: ProbeReport, proxied: ProbeReport | None) -> str:
    """Return the page of a report, and of the same server behind the proxy beside it."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"How {report.name or 'the server'} fails"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body><main>",
        f'<h1>{_text(title)} <span class="dim">{_text(report.version)}</span></h1>',
        *(f"<p>{_text(line)}</p>" for line in summary(report)),
        *([] if proxied is None else _compared(report, proxied)),
        *_findings("The worst", worst(report)),
        *_rules(report),
        *_findings("Every finding", report.findings),
        *_tools(report),
        "</main></body></html>\n",
    ]
    return "\n".join(parts)


def _compared(report: ProbeReport, proxied: ProbeReport) -> list[str]:
    rows = [[name, one, other] for name, one, other in beside(report, proxied)]
    return ["<h2>Bare, and behind failsoft proxy</h2>", *_table(["Figure", "Bare", "Behind failsoft proxy"], rows)]


def _rules(report: ProbeReport) -> list[str]:
    rows = [[severity, f"{by_name(name).number} {name}", ", ".join(tools)] for severity, name, tools in by_rule(report)]
    return ["<h2>By rule</h2>", *_table(["Severity", "Rule", "Tools"], rows)] if rows else ["<p>No findings.</p>"]


def _tools(report: ProbeReport) -> list[str]:
    rows = [[tool["name"], "yes" if tool["called"] else "no", tool.get("skipped", "")] for tool in report.tools]
    return ["<h2>Tools</h2>", *_table(["Tool", "Called", "Why not"], rows)] if rows else []


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    head = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
    body = ["<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return [
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>',
        *body,
        "</tbody></table></div>",
    ]


def _findings(title: str, findings: list[ProbeFinding]) -> list[str]:
    return [f"<h2>{_text(title)}</h2>", *map(_finding, findings)] if findings else []


def _finding(finding: ProbeFinding) -> str:
    rule = by_name(finding.name)
    called = f"{finding.call['tool']} {json.dumps(finding.call['arguments'], ensure_ascii=False, indent=2)}"
    head = (
        f'<span class="{finding.severity}">{finding.severity}</span> {_text(finding.tool)}: {rule.name} ({rule.number})'
    )
    facts = [
        ("Call", f"<pre>{_text(called)}</pre>"),
        ("Answer", f"<pre>{_text(finding.answer) or '(nothing)'}</pre>"),
        ("Why", f"{_text(finding.why)} {_text(rule.why)}"),
        ("Better", f"<pre>{_text(rule.good)}</pre>"),
        *([("Change", f"<pre>{_text(finding.change)}</pre>")] if finding.change else []),
    ]
    rows = "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in facts)
    return f"<article><h3>{head}</h3><dl>{rows}</dl></article>"


def _text(text: str) -> str:
    return escape("".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in text))

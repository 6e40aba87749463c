"""`failsoft doctor`: facts about this installation, and its problems."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.options import App, Root, Toolsets
from failsoft.cli.screen.own_output import divert_output
from failsoft.cli.screen.screen import Screen
from failsoft.cli.screen.terminal import open_screen

if TYPE_CHECKING:
    from failsoft.cli.checks.installation import Checkup

__all__ = ["doctor"]


def doctor(
    toolsets: Toolsets = None,
    *,
    app: App = None,
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    security: Annotated[bool, typer.Option("--security", help="List security risks only.")] = False,
) -> None:
    """Show settings, versions and toolsets, and any problems with them.

    With a target, also show the steps of a call for each of its operations. The exit code is 1 if there are problems
    other than warnings. With --security it is 1 if there is any risk: no tokens, no key for the audit chain, files
    that other users may read, roots that contain the server's own files.

    Examples:
      failsoft doctor
      failsoft doctor --app library:Library
      failsoft doctor --security
    """
    if security:
        _show_open(app, root, as_json=as_json)
        return
    from failsoft.cli.checks.installation import check_up  # noqa: PLC0415 - `failsoft --help` needs none of this
    from failsoft.cli.targets.toolsets import CommandTarget  # noqa: PLC0415 - the same

    with divert_output():
        found = check_up(CommandTarget(toolsets or (), app, root, "failsoft doctor {}"))
    screen = open_screen()
    if as_json:
        remarks = [dataclasses.asdict(remark) for remark in found.remarks]
        screen.json({"healthy": found.healthy, "remarks": remarks, **found.sections})
    else:
        _show(screen, found)
    if not found.healthy:
        raise typer.Exit(ExitCode.FAILED)


def _show_open(app: str | None, root: Sequence[Path] | None, *, as_json: bool) -> None:
    from failsoft.cli.checks.security import SecurityFinding, findings, made_toolsets  # noqa: PLC0415 - `failsoft --help` needs no tools
    from failsoft.framework.settings import Settings  # noqa: PLC0415 - the same

    tools = made_toolsets(app, root)
    trails = [tool.audit if tool.audit is not None else tool.runtime.audit for tool in tools]
    logs = [path for trail in trails if isinstance(path := getattr(trail, "path", None), Path)]
    roots = [Path(one) for tool in tools for one in getattr(tool, "roots", ())]
    found = findings(Settings.load(), roots, logs)
    found += [SecurityFinding(*risk) for tool in tools for risk in getattr(tool, "open_risks", tuple)()]
    screen = open_screen()
    if as_json:
        screen.json({"closed": not found, "findings": [dataclasses.asdict(one) for one in found]})
    else:
        screen.rows(("about", "what is open", "what closes it"), [dataclasses.astuple(one) for one in found])
        screen.text("No security risks found." if not found else f"Open: {len(found)}.")
    if found:
        raise typer.Exit(ExitCode.FAILED)


def _show(screen: Screen, found: Checkup) -> None:
    facts = found.sections
    for toolset in facts["toolsets"]:
        if toolset["named"]:
            steps = [(name, " > ".join(chain)) for name, chain in toolset["operations"].items()]
            screen.rows(("operation", "steps of a call, outermost first"), steps, title=f"Toolset {toolset['name']}")
    screen.rows(("setting", "value", "from"), [_setting(row) for row in facts["settings"]], title="Settings")
    for toolset in facts["toolsets"]:
        if set_here := [_setting(row) for row in toolset["settings"] if row["source"] != "default"]:
            screen.rows(("setting", "value", "from"), set_here, title=f"Settings of {toolset['name']}")
    screen.rows(("name", "version"), [(k, v or "missing") for k, v in facts["versions"].items()], title="Versions")
    others = [(item["name"], str(len(item["operations"])), item["package"]) for item in facts["toolsets"]]
    screen.rows(("toolset", "tools", "from"), others, title="Toolsets")
    cache = facts["cache"]
    rest = [
        ("recovery", ", ".join(facts["recovery"]) or "none"),
        ("state", facts["state"]["mode"] + ("" if facts["state"].get("available", True) else ", not available")),
        ("audit", facts["audit"]["mode"] + ("" if facts["audit"].get("usable", True) else ", not usable")),
        ("metrics", " in ".join(facts["metrics"].values())),
        ("cache", f"{cache['folder']} ({'writable' if cache['writable'] else 'not writable'})"),
    ]
    screen.rows(("part", "state"), rest, title="Parts")
    if found.remarks:
        rows = [(remark.severity, remark.about, remark.message) for remark in found.remarks]
        screen.rows(("remark", "about", "what"), rows, title="Remarks")
    screen.text("All is well." if not found.remarks else "It works." if found.healthy else "Something is broken.")


def _setting(row: dict[str, Any]) -> tuple[str, str, str]:
    value = row["value"]
    shown = "-" if value in (None, "", [], {}) else value if isinstance(value, str) else json.dumps(value, default=str)
    return row["variable"], shown, row["source"]

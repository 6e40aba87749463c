"""`failsoft doctor`: facts about this installation, and its problems."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import typer

from failsoft.cli.checkup import Checkup, check_up
from failsoft.cli.errors import ExitCode
from failsoft.cli.options import App, AsJson, Root, Toolsets
from failsoft.cli.screen import Screen, divert_output
from failsoft.cli.security import show_open
from failsoft.cli.target import Target


def doctor(
    toolsets: Toolsets = None,
    *,
    app: App = None,
    root: Root = None,
    as_json: AsJson = False,
    security: Annotated[bool, typer.Option("--security", help="List security risks only.")] = False,
) -> None:
    """Show settings, versions and toolsets, and their problems.

    With a target, also show the steps of a call for each of its operations. The exit code is 1 if there are problems
    other than warnings. With --security it is 1 if there is any risk: no tokens, no key for the audit chain, files
    that other users may read, roots that contain the server's own files. It also lists the files that the server
    relies on, with their modes, their owners and what is in them in clear.

    Examples:
      failsoft doctor
      failsoft doctor --app library:Library
      failsoft doctor --security
    """
    target = Target(toolsets or (), app, root=root, command="failsoft doctor {}")
    if toolsets:
        target.sources()  # refuses a misspelt name
    if security:
        show_open(target, as_json=as_json)
        return
    with divert_output():
        found = check_up(target)
    screen = Screen()
    if as_json:
        remarks = [dataclasses.asdict(remark) for remark in found.remarks]
        screen.json({"healthy": found.healthy, "remarks": remarks, **found.sections})
    else:
        _show(screen, found)
    if not found.healthy:
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

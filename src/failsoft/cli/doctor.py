"""`failsoft doctor`: what this installation is made of, and what is wrong with it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.options import App, Root
from failsoft.cli.screen import Screen
from failsoft.cli.terminal import open_screen

if TYPE_CHECKING:
    from failsoft.cli.checkup import Checkup

__all__ = ["doctor"]


def doctor(
    *,
    app: App = None,
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Show settings, versions and toolsets, and what is wrong.

    With them, the way of a call through each operation. The exit code is 1 if something is broken; warnings do not
    count.
    """
    from failsoft.cli.checkup import check_up  # noqa: PLC0415 - `failsoft --help` needs none of this

    found = check_up(app, root)
    screen = open_screen()
    if as_json:
        remarks = [dataclasses.asdict(remark) for remark in found.remarks]
        screen.json({"healthy": found.healthy, "remarks": remarks, **found.sections})
    else:
        _show(screen, found)
    if not found.healthy:
        raise typer.Exit(ExitCode.FAILED)


def _show(screen: Screen, found: Checkup) -> None:
    facts = found.sections
    screen.rows(("setting", "value", "from"), [_setting(row) for row in facts["settings"]], title="Settings")
    screen.rows(("name", "version"), [(k, v or "missing") for k, v in facts["versions"].items()], title="Versions")
    ways = [
        (toolset["name"], name, " > ".join(chain))
        for toolset in facts["toolsets"]
        for name, chain in toolset["operations"].items()
    ]
    screen.rows(("toolset", "operation", "way of a call, outermost first"), ways, title="Toolsets")
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

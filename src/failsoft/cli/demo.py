"""`failsoft demo`: the main job, shown on real documents in a few seconds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.screen import Cell, Screen

if TYPE_CHECKING:
    from failsoft.cli.demo_run import Demo, Scene

__all__ = ["demo"]

_STYLES = {"ok": "green", "recovered": "yellow", "error": "magenta", "rejected": "magenta"}


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print what happened as JSON.")] = False,  # noqa: FBT002
) -> None:
    """Show the main job on real documents, in seconds.

    Calls that work, that are recovered and that fail softly, and the metrics they left. A real MCP client talks to a
    real server on a free port of this machine, over documents that come with failsoft. The exit code is 1 if anything
    is not as it should be.
    """
    from failsoft.cli.demo_run import play  # noqa: PLC0415 - the client is loaded by those who use it

    shown = asyncio.run(play())
    screen = Screen()
    if as_json:
        screen.json(shown.to_dict())
    else:
        _show(screen, shown)
    if shown.faults:
        raise typer.Exit(ExitCode.FAILED)


def _show(screen: Screen, shown: Demo) -> None:
    screen.text(f"A real MCP client calls a real server, `failsoft serve docs`, on {shown.url}/mcp\n")
    calls = [(str(n), _call(scene), _happened(scene), scene.told) for n, scene in enumerate(shown.scenes, 1)]
    screen.table(("", "the call", "what happened", "what the caller was told"), calls, apart=True)
    screen.text("What they left on /metrics\n")
    samples = [(item.name, _labels(item.labels), f"{item.value:g}") for item in shown.samples]
    screen.table(("metric", "labels", "value"), samples)
    for fault in shown.faults:
        screen.text(f"Not as it should be: {fault}")
    if not shown.faults:
        screen.text(
            f"All {len(shown.scenes)} calls went as they should, the metrics agree, and the server has ended"
            f" ({shown.duration_s:.1f} s).\nNext: failsoft serve docs --root DIR, or failsoft explain DOC_NOT_FOUND"
        )


def _call(scene: Scene) -> Cell:
    arguments = [
        f"\n  {name}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in scene.arguments.items()
    ]
    return [f"{scene.title}\n", (scene.tool, "bold"), ("".join(arguments), "cyan")]


def _happened(scene: Scene) -> Cell:
    what = {
        "ok": "it worked",
        "recovered": f"recovered by\n{scene.by}",
        "error": f"failed softly\n{scene.by}",
        "rejected": f"refused unrun\n{scene.by}",
    }[scene.outcome]
    return [(what, _STYLES[scene.outcome]), f"\nin {scene.duration_ms:.1f} ms"]


def _labels(labels: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items() if name != "tool")

"""`failsoft demo`: a demonstration on real documents that takes a few seconds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from failsoft.cli.demo.server import started_server
from failsoft.cli.demo.story import Demo, Sample, Scene
from failsoft.cli.exits import ExitCode
from failsoft.cli.screen.screen import Screen
from failsoft.cli.screen.terminal import open_screen

if TYPE_CHECKING:
    from failsoft.cli.screen.tables import Cell

__all__ = ["demo"]

_STYLES = {"ok": "green", "recovered": "yellow", "error": "magenta", "rejected": "magenta"}


def demo(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print what happened as JSON.")] = False,
) -> None:
    """Show what failsoft does, on real documents, in a few seconds.

    A real MCP client calls a real server on a free port of this machine, which serves documents that come with
    failsoft. The demo shows calls that succeed, calls that are recovered, calls that fail softly, and the resulting
    metrics. The exit code is 1 if any result is not as expected.
    """
    shown = asyncio.run(_perform())
    screen = open_screen()
    if as_json:
        screen.json(shown.to_dict())
    else:
        _show(screen, shown)
    if shown.faults:
        raise typer.Exit(ExitCode.FAILED)


async def _perform() -> Demo:
    """Start the server, load the client while it comes up, make the calls, and see the server end."""
    began = time.perf_counter()
    async with started_server() as server:
        from failsoft.cli.demo.run import play  # noqa: PLC0415 - a second that the server needs as well

        shown = await play(await server.url())
    if server.exit_code != 0:
        shown.faults.append(f"the server ended with exit code {server.exit_code}, not 0")
    shown.duration_s = round(time.perf_counter() - began, 2)
    return shown


def _show(screen: Screen, shown: Demo) -> None:
    screen.text(f"A real MCP client calls `failsoft serve docs` on {shown.url}/mcp\n")
    calls = [(str(n), _call(scene), _happened(scene), scene.message) for n, scene in enumerate(shown.scenes, 1)]
    screen.table(("", "call", "outcome", "message for the caller"), calls, apart=True)
    screen.text()
    screen.heading("What they left on /metrics")
    screen.table(("metric", "operation", "counted"), _counted(shown.samples))
    screen.text()
    for fault in shown.faults:
        screen.text(f"Not as it should be: {fault}")
    if not shown.faults:
        screen.text(
            f"All {len(shown.scenes)} calls went as they should, and the metrics agree ({shown.duration_s:.1f} s).\n"
            "Next: failsoft serve docs --root DIR, or failsoft explain DOC_NOT_FOUND"
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


def _counted(samples: Sequence[Sample]) -> list[tuple[str, str, str]]:
    """Return a row for each metric and operation, with everything that was counted of it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for sample in samples:
        names = sorted(sample.labels.keys() - {"tool", "operation"}, reverse=True)
        what = " ".join(sample.labels[name] for name in names)
        rows.setdefault((sample.name, sample.labels["operation"]), []).append(f"{what} {sample.value:g}")
    listed = [(metric, operation, ", ".join(counts)) for (metric, operation), counts in rows.items()]
    before = ["", *(metric for metric, _, _ in listed)]
    return [("" if row[0] == above else row[0], *row[1:]) for row, above in zip(listed, before, strict=False)]

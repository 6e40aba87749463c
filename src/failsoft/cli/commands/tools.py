"""`failsoft tools`: the tools as a model sees them, with their size in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer

from failsoft.cli.options import App, Root, Token, Toolsets, Url
from failsoft.cli.screen import Screen, counted, divert_output
from failsoft.cli.target import Target
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.chain import strategy_name
from failsoft.framework.text import printable_lines
from failsoft.jobs.toolset import with_jobs
from failsoft.server.protocol.wire import describe_tool

_BYTES_A_TOKEN = 4
"""About what tokenizers make of JSON and English."""


def tools(
    toolsets: Toolsets = None,
    *,
    app: App = None,
    url: Url = None,
    token: Token = None,
    root: Root = None,
    details: Annotated[bool, typer.Option("--details", help="Also show schemas, time limits and strategies.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the tools as a model sees them, with their size.

    The size is that of the tool's entry in `tools/list`, which every model reads before its first call; four bytes are
    about one token. With --details, show also the schemas, and the time limit, retries, budget and breaker of each
    operation.

    Examples:
      failsoft tools docs
      failsoft tools --app library --details
      failsoft tools --url http://127.0.0.1:8321
    """
    target = Target(toolsets or (), app, url=url, token=token, root=root, command="failsoft tools {}")
    if url is not None:
        described, chains = target.ask(_remote), {}
    else:
        with divert_output():
            box = Toolbox(with_jobs(target.tools()))
        described = [describe_tool(bound) for bound in box]
        chains = {bound.name: _limits(bound) for bound in box}
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in described]
    entries = [_entry(tool, chains) for tool in listed]
    screen = Screen()
    if as_json:
        screen.json({"tools": entries, "bytes": sum(entry["bytes"] for entry in entries)})
        return
    if details:
        for tool, entry in zip(listed, entries, strict=True):
            _show(screen, tool, entry)
    else:
        rows = [(entry["name"], str(entry["bytes"]), _first_line(entry["description"])) for entry in entries]
        screen.rows(("tool", "bytes", "description"), rows)
    total = sum(entry["bytes"] for entry in entries)
    screen.text(
        f"{counted(len(entries), 'tool')}, {total} bytes in tools/list (about {total // _BYTES_A_TOKEN} tokens)."
    )


async def _remote(client: Any) -> list[Any]:
    return list((await client.list_tools()).tools)


def _limits(bound: BoundOperation) -> Mapping[str, Mapping[str, Any]]:
    """Return the options of the time limit and of the strategies of an operation, by name."""
    found: dict[str, Mapping[str, Any]] = {"deadline": {"timeout_s": bound.timeout_s}}
    for strategy in bound.strategies:
        values = (
            {item.name: getattr(strategy, item.name) for item in fields(strategy)} if is_dataclass(strategy) else {}
        )
        found[strategy_name(strategy)] = {
            name: value for name, value in values.items() if isinstance(value, (int, float, str))
        }
    return found


def _entry(tool: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode())
    own = {"limits": limits[tool["name"]]} if tool["name"] in limits else {}
    return {**tool, "description": tool.get("description", ""), "bytes": size, **own}


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _show(screen: Screen, tool: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
    screen.heading(f"{tool['name']} ({entry['bytes']} bytes)")
    screen.text(printable_lines(entry["description"]).strip() or "(no description)")
    hints = [name.removesuffix("Hint") for name, value in tool.get("annotations", {}).items() if value]
    facts = [("annotations", ", ".join(hints) or "none")]
    facts += [
        (step, ", ".join(f"{name}={value}" for name, value in options.items()) or "-")
        for step, options in entry.get("limits", {}).items()
    ]
    screen.rows(("property", "value"), facts)
    for part in ("inputSchema", "outputSchema"):
        if part in tool:
            screen.text(f"{part}:")
            screen.json(tool[part])
    screen.text()

"""`failsoft tools`: the tools as a model sees them, with their size in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failsoft.cli.options import App, Root, Token, Toolsets, Url
from failsoft.cli.screen.screen import Screen
from failsoft.cli.screen.terminal import open_screen

if TYPE_CHECKING:
    from failsoft.framework.call.bound import BoundOperation

__all__ = ["tools"]

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
    if url is not None:
        from failsoft.cli.targets.remote import list_remote  # noqa: PLC0415 - half a second that local tools save

        listed = [_listed(tool) for tool in list_remote(url, token)]
        chains: Mapping[str, Any] = {}
    else:
        listed, chains = _local(toolsets or (), app, root)
    entries = [_entry(tool, chains) for tool in listed]
    screen = open_screen()
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
    screen.text(f"{len(entries)} tools, {total} bytes in tools/list (about {total // _BYTES_A_TOKEN} tokens).")


def _local(
    toolsets: Sequence[str], app: str | None, root: Any
) -> tuple[list[dict[str, Any]], Mapping[str, Mapping[str, Any]]]:
    from failsoft.cli.screen.own_output import divert_output  # noqa: PLC0415 - `failsoft --help` needs none of this
    from failsoft.cli.targets.toolsets import CommandTarget, installed_tools  # noqa: PLC0415 - the same
    from failsoft.framework.call.bound import Toolbox  # noqa: PLC0415 - the same
    from failsoft.server.protocol.tools import describe_tool  # noqa: PLC0415 - the same

    target = CommandTarget(toolsets, app, root, "failsoft tools {}")
    with divert_output():
        box = Toolbox(target.tools() if target.is_named else installed_tools(root))
    return [_listed(describe_tool(bound)) for bound in box], {bound.name: _limits(bound) for bound in box}


def _limits(bound: BoundOperation) -> Mapping[str, Mapping[str, Any]]:
    """Return the options of the time limit and of the strategies of an operation, by name."""
    from failsoft.framework.call.chain import strategy_name  # noqa: PLC0415 - `failsoft --help` needs none of this

    found: dict[str, Mapping[str, Any]] = {"deadline": {"timeout_s": bound.timeout_s}}
    for strategy in bound.strategies:
        values = (
            {item.name: getattr(strategy, item.name) for item in fields(strategy)} if is_dataclass(strategy) else {}
        )
        found[strategy_name(strategy)] = {
            name: value for name, value in values.items() if isinstance(value, (int, float, str))
        }
    return found


def _listed(tool: Any) -> dict[str, Any]:
    found: dict[str, Any] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _entry(tool: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    size = len(json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode())
    own = {"limits": limits[tool["name"]]} if tool["name"] in limits else {}
    return {**tool, "description": tool.get("description", ""), "bytes": size, **own}


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _show(screen: Screen, tool: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
    screen.heading(f"{tool['name']} ({entry['bytes']} bytes)")
    screen.text(entry["description"].strip() or "(no description)")
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

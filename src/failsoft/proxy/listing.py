"""The tools that an upstream lists: entries that no client could use are left out, with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from failsoft.framework.arguments.json_schema import JsonSchema
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded
from failsoft.proxy.overrides import ToolOverride

_SCHEMAS = ("inputSchema", "outputSchema")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as it is shown to clients.

    Args:
        upstream_name: Its name at the upstream.
        tree: Its entry in `tools/list`, raw.
        output: The schema of its structured content; None if it has none.
    """

    upstream_name: str
    tree: Mapping[str, Any]
    output: JsonSchema | None


def usable(entries: Any, *, upstream: str) -> list[dict[str, Any]]:
    """Return the entries of `tools/list` that the protocol allows.

    One bad entry would make strict clients, the SDK's among them, refuse the whole list. Members that are null count as
    left out, and a schema without a type as one of an object: servers in several languages write both. An output schema
    of another type is dropped: only the newest version of the protocol has it.

    Args:
        entries: The `tools` of the upstream's answers.
        upstream: The upstream's name, for the log.
    """
    found = []
    for entry in entries if isinstance(entries, list) else [entries]:
        tree = _completed(entry)
        try:
            validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tree]})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            logger.bind(
                upstream=upstream,
                operation=bounded(str(tree.get("name", ""))) if isinstance(tree, dict) else "",
                member=".".join(str(part) for part in first["loc"][2:]),
            ).warning("A tool of an upstream is left out, since its entry breaks the protocol: {}", first["msg"])
        else:
            found.append(tree)
    return found


def _completed(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    tree = {"inputSchema": {}, **{name: value for name, value in entry.items() if value is not None}}
    for name in _SCHEMAS:
        if isinstance(tree.get(name), dict):
            tree[name] = {"type": "object", **tree[name]}
    if isinstance(output := tree.get("outputSchema"), dict) and output["type"] != "object":
        del tree["outputSchema"]
    return tree


def listed_tool(tree: Mapping[str, Any], name: str, override: ToolOverride) -> ListedTool:
    """Return a tool as it is shown under a name, with the operator's changes.

    Raises:
        TypeError: Its output schema cannot be used.
    """
    shown = {**tree, "name": name}
    if override.description is not None:
        shown["description"] = override.description
    if override.annotations():
        shown["annotations"] = {**tree.get("annotations", {}), **override.annotations()}
    output = tree.get("outputSchema")
    checked = None if output is None else JsonSchema(f"{name}, output", output, slow_patterns="skip")
    return ListedTool(tree["name"], shown, checked)

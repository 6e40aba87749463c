"""The tools that an upstream lists: entries that no client could use are left out, with a warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from failsoft.framework.diagnostics.telling import logger
from failsoft.framework.text import bounded
from failsoft.proxy.overrides import ToolOverride

__all__ = ["ListedTool", "listed_tool", "usable"]

_SCHEMAS = ("inputSchema", "outputSchema")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as it is shown to clients.

    Args:
        upstream_name: Its name at the upstream.
        tree: Its entry in `tools/list`, raw.
        fits: Whether structured content is what the tool's output schema says; None without such a schema.
    """

    upstream_name: str
    tree: Mapping[str, Any]
    fits: Callable[[Any], bool] | None


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
    """Return a tool as it is shown under a name, with the operator's changes."""
    shown = {**tree, "name": name}
    if override.description is not None:
        shown["description"] = override.description
    if override.annotations():
        shown["annotations"] = {**tree.get("annotations", {}), **override.annotations()}
    return ListedTool(tree["name"], shown, _checker(shown))


def _checker(tree: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    schema = tree.get("outputSchema")
    if not isinstance(schema, dict):
        return None
    validator = Draft202012Validator(schema)

    def fits(content: Any) -> bool:
        try:
            return bool(validator.is_valid(content))
        except Exception:  # noqa: BLE001 - a schema that cannot be evaluated accepts everything
            return True

    return fits

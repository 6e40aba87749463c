"""JSON Schemas at the border: the checks that keep one bad schema from breaking every client."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["check_input_schema", "check_tool_name", "inline_root", "references"]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def check_tool_name(name: str) -> None:
    """Refuse a name that MCP does not allow.

    Raises:
        TypeError: It is not 1 to 128 letters, digits, `_`, `.` or `-`.
    """
    if not _TOOL_NAME.fullmatch(name):
        msg = f"{name!r} cannot be the name of an MCP tool: use 1 to 128 letters, digits, '_', '.' or '-'"
        raise TypeError(msg)


def check_input_schema(owner: str, schema: Any) -> None:
    """Refuse an input schema that breaks `tools/list` for every client.

    Raises:
        TypeError: It is no object schema, refers to another document, or is no valid JSON Schema.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        msg = f'{owner}: the input schema must have "type": "object" at its root'
        raise TypeError(msg)
    for reference in references(schema):
        if not reference.startswith("#"):
            msg = f"{owner}: the schema refers to {reference!r}; only references within the schema (#/...) work"
            raise TypeError(msg)


def references(schema: Any) -> list[str]:
    """Return every reference in a schema, as it is written."""
    if isinstance(schema, dict):
        own = [value for key, value in schema.items() if key in {"$ref", "$dynamicRef"} and isinstance(value, str)]
        return own + [found for value in schema.values() for found in references(value)]
    if isinstance(schema, list):
        return [found for item in schema for found in references(item)]
    return []


def inline_root(schema: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema without its `$defs`, and those, so that they can stand at the root of a larger one."""
    own = dict(schema)
    return own, own.pop("$defs", {})

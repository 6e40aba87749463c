"""Checks JSON Schemas before they are published, so that one invalid schema cannot break every client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["check_input_schema", "check_tool_name", "drop_generated_titles", "inline_root", "objects_of", "references"]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def check_tool_name(name: str) -> None:
    """Reject names that MCP does not allow.

    Raises:
        TypeError: It is not 1 to 128 letters, digits, `_`, `.` or `-`.
    """
    if not _TOOL_NAME.fullmatch(name):
        msg = f"{name!r} cannot be the name of an MCP tool: use 1 to 128 letters, digits, '_', '.' or '-'"
        raise TypeError(msg)


def check_input_schema(owner: str, schema: Any) -> None:
    """Reject an input schema that would break `tools/list` for every client.

    Raises:
        TypeError: It is not an object schema, or refers to another document.
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
    """Return a schema without its `$defs`, and the `$defs`, to be merged into the root of a larger schema."""
    own = dict(schema)
    return own, own.pop("$defs", {})


def drop_generated_titles(schema: dict[str, Any]) -> None:
    """Drop the titles that only repeat the name of a property or a definition."""
    for name, own in schema.get("$defs", {}).items():
        if own.get("title") == name:
            own.pop("title")
    for item in objects_of(schema):
        for name, own in item["properties"].items():
            if isinstance(own, dict) and str(own.get("title", "")).lower().replace(" ", "_") == name.strip("_").lower():
                own.pop("title")


def objects_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema of an object with named properties, at any depth."""
    if not isinstance(schema, dict):
        return
    if "properties" in schema:
        yield schema
    for keyword, below in schema.items():
        if keyword in {"$defs", "properties", "patternProperties"}:
            nested = list(below.values())
        elif keyword in {"anyOf", "oneOf", "allOf", "prefixItems"}:
            nested = below
        else:
            nested = [below] if keyword in {"items", "additionalProperties", "contains", "not"} else []
        for item in nested:
            yield from objects_of(item)

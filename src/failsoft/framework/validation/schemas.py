"""JSON Schemas as trees: walked, references resolved, values compared; and what `tools/list` may publish."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_BY_NAME = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
"""Keywords that hold one schema, a list of schemas, or schemas by name."""
REFERENCES = ("$ref", "$dynamicRef")


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
    check_references(owner, schema)


def check_references(owner: str, schema: Any) -> None:
    """Reject references to other documents: nothing is ever fetched.

    Raises:
        TypeError: There is one.
    """
    for part in subschemas(schema):
        for reference in filter(None, map(part.get, REFERENCES)):
            if not str(reference).startswith("#"):
                msg = f"{owner}: the schema refers to {reference!r}; only references within the schema (#/...) work"
                raise TypeError(msg)


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema in it, each once, those that only a reference leads to among them."""
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        below = [part[keyword] for keyword in _ONE if keyword in part]
        for keyword in _LISTS:
            below += items if isinstance(items := part.get(keyword), list) else ()
        for keyword in _BY_NAME:
            below += named.values() if isinstance(named := part.get(keyword), dict) else ()
        below += [resolved(part[keyword], schema) for keyword in REFERENCES if keyword in part]
        waiting += reversed(below)


def resolved(reference: Any, root: Any) -> Any:
    """Return the part of a schema that a local reference (`#/$defs/Edit`) leads to; None if there is none.

    References by anchor or `$id` are left to the validator.
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    place = root
    for step in reference[1:].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and key.isdecimal() and int(key[:9]) < len(place):
            place = place[int(key)]
        else:
            place = place.get(key) if isinstance(place, Mapping) else None
    return place


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
    return (part for part in subschemas(schema) if isinstance(part.get("properties"), dict))

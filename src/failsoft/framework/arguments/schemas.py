"""JSON Schemas as trees: walked, references resolved, values compared; and what `tools/list` may publish."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

from failsoft.framework.arguments.bounded import unique_key
from failsoft.framework.arguments.values import FORMATS
from failsoft.framework.text import bounded, json_type, quoted

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


Schema: TypeAlias = Mapping[str, Any]
ALLOWED_AT_MOST = 20
"""Accepted values that a violation lists."""
_SHOWN_AT_MOST = 8
"""Accepted values that a sentence names; the list holds more."""
_VALUES_AT_MOST = 2_000
"""Listed values of one schema that are compared and counted."""
_DEPTH_AT_MOST = 12
"""Maximum depth of references and unions; a schema may refer to itself."""

_COMBINING = frozenset({"anyOf", "oneOf", "allOf", "$ref"})


def one_of(values: Sequence[Any]) -> str:
    """Return `one of "a", "b"`, or the value itself if it is the only one."""
    shown = [_literal(value) for value in values[:_SHOWN_AT_MOST]]
    if len(values) == 1:
        return shown[0]
    tail = f" and {len(values) - len(shown)} more" if len(values) > len(shown) else ""
    return f"one of {', '.join(shown)}{tail}"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value, 60)
    return bounded(json.dumps(value, default=str, skipkeys=True), 60)


def alternatives(schemas: Iterable[Any], root: Schema) -> list[Schema]:
    """Return the alternative schemas of a value, with references resolved and unions flattened."""
    found: list[Schema] = []
    for schema in schemas:
        if isinstance(schema, dict) and _COMBINING.isdisjoint(schema):
            found.append(schema)
        else:
            _spread(schema, root, found, _DEPTH_AT_MOST)
    return found


def _spread(schema: Any, root: Schema, found: list[Schema], depth: int) -> None:
    if not isinstance(schema, dict) or depth == 0:
        return
    if _COMBINING.isdisjoint(schema):
        found.append(schema)
        return
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in _listed(schema, key)]
    if "$ref" in schema:
        parts.append(resolved(schema["$ref"], root))
    if schema.keys() & {"type", "properties", "enum", "const", "items"}:
        found.append(schema)
    for part in parts:
        _spread(part, root, found, depth - 1)


def _listed(schema: Schema, key: str) -> Sequence[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else ()


def below(schemas: Sequence[Schema], step: str | int, root: Schema) -> list[Schema]:
    """Return the schemas of one property or list position of a value with these schemas."""
    found: list[Any] = []
    for schema in schemas:
        if isinstance(step, int):
            prefix = _listed(schema, "prefixItems")
            found.append(prefix[step] if 0 <= step < len(prefix) else schema.get("items"))
        else:  # a name; from a caller in this process even None may be one
            found.append(mapping(schema, "properties").get(step, schema.get("additionalProperties")))
    return alternatives(found, root)


def mapping(schema: Schema, key: str) -> Mapping[str, Any]:
    """Return the schemas by name that a keyword holds; none if it is something else."""
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def accepted_names(schemas: Iterable[Schema]) -> list[str]:
    """Return the property names of all alternatives, in the order of their declaration."""
    return list(dict.fromkeys([str(name) for schema in schemas for name in mapping(schema, "properties")]))


def enumerated(schemas: Iterable[Schema]) -> list[Any]:
    """Return the first values that the alternatives list one by one, without repeats."""
    values: dict[Any, Any] = {}
    for schema in schemas:
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        for value in listed[:_VALUES_AT_MOST] if isinstance(listed, list) else ():
            values.setdefault((type(value), unique_key(value)), value)
    return list(values.values())


def kinds_of(schemas: Iterable[Schema]) -> frozenset[str]:
    """Return the JSON types that the alternatives accept."""
    kinds: set[str] = set()
    for schema in schemas:
        kind = schema.get("type")
        if isinstance(kind, str):
            kinds.add(kind)
        else:
            kinds.update([one for one in kind or () if isinstance(one, str)])
    return frozenset(kinds)


def describe(schemas: Sequence[Schema], root: Schema, depth: int = 2, *, by_type: bool = False) -> str:
    """Describe what these alternatives accept: `integer`, `array of string`, `one of 'a', 'b'`.

    Args:
        schemas: The alternatives, as `alternatives` returns them.
        root: The schema that references are resolved in.
        depth: How many levels of arrays are described.
        by_type: Name the JSON types of listed values, not the values.
    """
    words: list[str] = []
    listed: list[Schema] = []
    for schema in schemas:
        if "enum" in schema or "const" in schema:
            listed.append(schema)
        else:
            words.append(_phrase(schema, root, depth))
    if listed and (values := enumerated(listed)):
        words = [*(map(json_type, values) if by_type else [one_of(values)]), *words]
    return words[0] if len(words) == 1 else bounded(" or ".join(dict.fromkeys(word for word in words if word)))


def _phrase(schema: Schema, root: Schema, depth: int) -> str:
    kind = schema.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_phrase({**schema, "type": one}, root, depth) for one in kind)
    if kind == "string" and isinstance(schema.get("format"), str):
        form = schema["format"]
        return f"string ({FORMATS.get(form, form)})"
    if kind == "array" and depth:
        inner = describe(alternatives([schema.get("items")], root), root, depth - 1)
        return f"array of {inner}" if inner and inner != "null" else "array"
    return kind if isinstance(kind, str) else ""

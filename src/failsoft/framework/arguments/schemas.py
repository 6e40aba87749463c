"""JSON Schemas as trees: what is refused of them when a tool is made; how they are walked, and references resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

import pydantic_core

from failsoft.framework.arguments.patterns import compiled_bytes, is_linear, trust
from failsoft.framework.arguments.values import unique_key
from failsoft.framework.text import bounded

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_BY_NAME = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
"""Keywords that hold one schema, a list of schemas, or schemas by name."""
REFERENCES = ("$ref", "$dynamicRef")
NAMES = frozenset({"$anchor", "$dynamicAnchor", "$id"})
_BYTES_AT_MOST = 256_000
_LEVELS_AT_MOST = 128
"""Levels of objects and lists; 64 schemas in one another."""
_EXPANDED_AT_MOST = 10_000
"""Schemas that apply to one value, references followed."""
_NAMED_AT_MOST = 100
"""Subschemas with an anchor or an id of their own."""
_PATTERN_BYTES_AT_MOST = 12_000_000
"""Memory of the compiled patterns of one schema."""
_ONE_OF_THE_SAME = ("not", "if", "then", "else")
_SEVERAL_OF_THE_SAME = ("allOf", "anyOf", "oneOf", "dependentSchemas")
"""Keywords whose subschemas apply to the same value as the schema that has them; so do references."""
SlowPatterns: TypeAlias = Literal["refuse", "skip", "trust"]


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
    """Reject references to other documents, since nothing is ever fetched, and too many that are made by name.

    Raises:
        TypeError: There is one.
    """
    named = 0
    for part in subschemas(schema):
        named += not part.keys().isdisjoint(NAMES)
        if named > _NAMED_AT_MOST:
            msg = f"{owner}: the schema has more than {_NAMED_AT_MOST} parts with an anchor or an id of their own"
            raise TypeError(msg)
        for reference in filter(None, map(part.get, REFERENCES)):
            if not str(reference).startswith("#"):
                msg = f"{owner}: the schema refers to {reference!r}; only references within the schema (#/...) work"
                raise TypeError(msg)


def measured(owner: str, schema: Any, *, what: str = "the schema") -> int:
    """Return the size of a schema, or of what has one, in bytes.

    Raises:
        TypeError: It is no JSON object, is too large, or is nested too deeply.
    """
    if not isinstance(schema, Mapping):
        msg = f"{owner}: {what} is no JSON object"
        raise TypeError(msg)
    level: list[Any] = [schema]
    for _ in range(_LEVELS_AT_MOST):
        level = [
            below
            for item in level
            for below in (item.values() if isinstance(item, Mapping) else item)
            if isinstance(below, (Mapping, list, tuple))
        ][:_BYTES_AT_MOST]
        if not level:
            break
    else:
        msg = f"{owner}: {what} is nested in more than {_LEVELS_AT_MOST} levels"
        raise TypeError(msg)
    try:
        size = len(pydantic_core.to_json(schema))
    except ValueError as error:
        msg = f"{owner}: {what} is no JSON: {bounded(str(error))}"
        raise TypeError(msg) from error
    if size > _BYTES_AT_MOST:
        msg = f"{owner}: {what} has {size:,} bytes; {_BYTES_AT_MOST:,} are allowed"
        raise TypeError(msg)
    return size


def check_expansion(owner: str, schema: dict[str, Any]) -> None:
    """Reject references on which calls would fail or take too long: to nothing, to themselves, ever more of them.

    Raises:
        TypeError: There is one.
    """
    counts: dict[int, int] = {}
    kinds = ("$anchor", "$dynamicAnchor")
    anchors = {f"#{part[kind]}": part for part in subschemas(schema) for kind in kinds if kind in part}

    def expanded(part: Any, above: frozenset[int]) -> int:
        if not isinstance(part, dict):
            return 1
        if id(part) in above:
            msg = f"{owner}: a reference of the schema leads back to itself, so that no value can be validated"
            raise TypeError(msg)
        if id(part) not in counts:
            below = [part[keyword] for keyword in _ONE_OF_THE_SAME if keyword in part]
            for keyword in _SEVERAL_OF_THE_SAME:
                parts = part.get(keyword) or ()
                below += parts.values() if isinstance(parts, dict) else parts
            below += [_target(owner, part[keyword], schema, anchors) for keyword in REFERENCES if keyword in part]
            counts[id(part)] = 1 + sum(expanded(each, above | {id(part)}) for each in below)
            if counts[id(part)] > _EXPANDED_AT_MOST:
                msg = f"{owner}: the references of the schema multiply: one value has more than {_EXPANDED_AT_MOST:,}"
                raise TypeError(msg)
        return counts[id(part)]

    try:
        for part in subschemas(schema):
            expanded(part, frozenset())
    except RecursionError as error:
        msg = f"{owner}: the schema refers from one part to the next too often"
        raise TypeError(msg) from error


def _target(owner: str, reference: Any, schema: dict[str, Any], anchors: Mapping[str, Any]) -> Any:
    target = resolved(reference, schema)
    if "/" not in str(reference) and reference != "#":
        target = anchors.get(str(reference))
    if not isinstance(target, (dict, bool)):
        msg = f"{owner}: the schema refers to {bounded(str(reference))!r}, which it does not have"
        raise TypeError(msg)
    return target


def check_patterns(owner: str, schema: dict[str, Any], *, slow_patterns: SlowPatterns) -> None:
    """Reject patterns that are invalid, and those that may take very long for some texts.

    Raises:
        TypeError: There is one.
    """
    size = 0
    has_unevaluated = any("unevaluatedProperties" in part for part in subschemas(schema))
    for part in subschemas(schema):
        names = part.get("patternProperties")
        own = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
        for pattern in [*own, *(names if isinstance(names, dict) else ())]:
            size += compiled_bytes(pattern)
            if size > _PATTERN_BYTES_AT_MOST:
                msg = f"{owner}: the patterns of the schema take too much memory, together with {bounded(pattern)!r}"
                raise TypeError(msg)
            if is_linear(pattern):
                continue
            is_usable = slow_patterns != "refuse" and _is_valid(pattern)
            if is_usable and slow_patterns == "trust":
                trust(pattern)
            elif not is_usable or pattern not in own:
                said = "which is invalid or too long, or has look-around or back-references"
                msg = f"{owner}: the schema has the pattern {bounded(pattern)!r}, {said}"
                raise TypeError(msg)
        if names and has_unevaluated:
            msg = f"{owner}: the schema has `patternProperties` and `unevaluatedProperties`, which cannot be combined"
            raise TypeError(msg)


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


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


def or_handle(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of data that may be the handle of a job instead."""
    own, definitions = inline_root(schema)
    return {"anyOf": [own, {"type": "object", "required": ["job_id", "state"]}], "$defs": definitions}


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
_VALUES_AT_MOST = 2_000
"""Listed values of one schema that are compared and counted."""
_DEPTH_AT_MOST = 12
"""Maximum depth of references and unions; a schema may refer to itself."""

_COMBINING = frozenset({"anyOf", "oneOf", "allOf", "$ref"})


def alternatives(schemas: Iterable[Any], root: Schema) -> list[Schema]:
    """Return the alternative schemas of a value, with references resolved and unions flattened."""
    found: list[Schema] = []
    for schema in schemas:
        _spread(schema, root, found, _DEPTH_AT_MOST)
    return found


def _spread(schema: Any, root: Schema, found: list[Schema], depth: int) -> None:
    if not isinstance(schema, dict) or depth == 0:
        return
    if _COMBINING.isdisjoint(schema):
        found.append(schema)
        return
    if schema.keys() & {"type", "properties", "enum", "const", "items"}:
        found.append(schema)
    for part in combined(schema, root):
        _spread(part, root, found, depth - 1)


def combined(schema: Schema, root: Schema) -> list[Any]:
    """Return the other schemas of the same value: those of its unions, and the one that it refers to."""
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in _listed(schema, key)]
    return [*parts, resolved(schema["$ref"], root)] if "$ref" in schema else parts


def _listed(schema: Schema, key: str) -> Sequence[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else ()


def below(schemas: Sequence[Schema], step: str | int) -> list[Any]:
    """Return the schemas of one property or list position of a value with these schemas."""
    found: list[Any] = []
    for schema in schemas:
        if isinstance(step, int):
            prefix = _listed(schema, "prefixItems")
            found.append(prefix[step] if 0 <= step < len(prefix) else schema.get("items"))
        else:  # a name; from a caller in this process even None may be one
            found.append(mapping(schema, "properties").get(step, schema.get("additionalProperties")))
    return found


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

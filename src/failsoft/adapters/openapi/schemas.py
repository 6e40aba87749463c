"""Schemas of an OpenAPI document as JSON Schemas of one operation, complete up to a budget, and open beyond it."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from failsoft.adapters.openapi.document import ApiDocument, is_text, listed, mapping
from failsoft.framework.arguments.patterns import is_linear
from failsoft.framework.arguments.schemas import subschemas
from failsoft.framework.text import printable_lines

_DEPTH_AT_MOST = 16
_FIELDS_AT_MOST = 30
"""Fields of a body that become arguments of their own; a body with more is one argument."""
_PROPERTIES_AT_MOST = 200
_LISTED_AT_MOST = 500
_NAMED_AT_MOST = 1_000
_TEXT_AT_MOST = 400
_DEFAULT_AT_MOST = 200
_INTEGER_BITS = 64
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_OF_OBJECTS = frozenset(
    {
        *("type", "properties", "required", "allOf", "description", "title", "example", "examples", "deprecated"),
        *("externalDocs", "xml", "nullable", "$ref"),
    }
)
"""Keywords of parts of `allOf` that can be merged into one object."""
_TAGS = re.compile(r"<[/a-zA-Z][^<>]{0,200}>")


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() <= _INTEGER_BITS
    return isinstance(value, float) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, bool) or is_text(value) or _is_number(value)


_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_KEPT: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(_COUNTS, _is_count),
    "uniqueItems": lambda value: value is True,
    "format": lambda value: isinstance(value, str) and re.fullmatch(r"[a-z0-9-]{1,40}", value) is not None,
    "pattern": lambda value: is_text(value) and is_linear(value),
    "const": _is_scalar,
    "default": lambda value: _is_scalar(value) and len(str(value)) <= _DEFAULT_AT_MOST,
}
"""Keywords that are taken over, and what their values have to be; a value that is wrong drops the keyword."""


def text(value: Any, limit: int = _TEXT_AT_MOST) -> str:
    """Return a description as plain text, bounded; "" for anything else."""
    if not isinstance(value, str):
        return ""
    plain = printable_lines(_TAGS.sub("", value[: 4 * limit])).strip()
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


class Conversion:
    """Converts schemas that belong together, such as those of the arguments of one operation.

    What they refer to becomes `$defs`, nearest first; beyond the budget a schema accepts any value.

    Args:
        document: The document.
        hidden: The properties that are left out: `readOnly` in requests, `writeOnly` in responses.
        parts: The budget, in schemas.
    """

    def __init__(self, document: ApiDocument, hidden: Literal["readOnly", "writeOnly"], parts: int) -> None:
        self.defs: dict[str, Any] = {}
        self._document = document
        self._hidden = hidden
        self._left = parts
        self._names: dict[str, str] = {}
        self._waiting: deque[tuple[str, Any]] = deque()

    @property
    def is_cut(self) -> bool:
        """Whether the budget was not enough."""
        return self._left < 0

    def convert(self, schema: Any) -> dict[str, Any]:
        """Return the JSON Schema for a schema, and complete `defs`."""
        converted = self._part(schema, 0)
        while self._waiting:
            name, waiting = self._waiting.popleft()
            self.defs[name] = self._part(waiting, 0)
        return converted

    def _part(self, schema: Any, depth: int) -> dict[str, Any]:
        self._left -= 1
        if not isinstance(schema, Mapping) or depth > _DEPTH_AT_MOST or self._left < 0:
            return {}
        if "$ref" in schema:
            return self._reference(schema)
        schema = self.merged(schema)
        made: dict[str, Any] = {}
        self._take_types(schema, made)
        for keyword, accepts in _KEPT.items():
            if keyword in schema and accepts(schema[keyword]):
                made[keyword] = schema[keyword]
        if "example" in schema and _KEPT["default"](schema["example"]):
            made["examples"] = [schema["example"]]
        for keyword in ("minimum", "maximum"):  # in 3.0 the exclusive one is a boolean
            exclusive = f"exclusive{keyword.capitalize()}"
            if schema.get(exclusive) is True and keyword in made:
                made[exclusive] = made.pop(keyword)
        if said := text(schema.get("description") or schema.get("title")):
            made["description"] = said
        self._take_parts(schema, made, depth)
        return made

    def _reference(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        reference = schema["$ref"]
        target = self._document.follow(schema)
        if not isinstance(reference, str) or not target:
            return {}
        if reference not in self._names:
            plain = re.sub(r"\W+", "_", reference.rpartition("/")[2], flags=re.ASCII).strip("_")[:60] or "Part"
            name, number = plain, 1
            while name in self.defs:
                number += 1
                name = f"{plain}_{number}"
            self._names[reference] = name
            self.defs[name] = {}
            self._waiting.append((name, target))
        return {"$ref": f"#/$defs/{self._names[reference]}"}

    def merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an object schema with the objects of its `allOf` merged into it, where that is all they are."""
        if "allOf" not in schema:
            return schema
        properties: dict[str, Any] = {}
        required: list[Any] = []
        waiting: list[tuple[Any, int]] = [(schema, 0)]
        seen = 0
        while waiting:
            node, depth = waiting.pop(0)
            part = self._document.follow(node)
            seen += 1
            is_object = part.get("type") == "object" or "properties" in part or "allOf" in part
            self._left -= 1
            if (
                seen > _LISTED_AT_MOST
                or self._left < 0
                or depth > _DEPTH_AT_MOST
                or not is_object
                or not part.keys() <= _OF_OBJECTS
            ):
                parts = listed(schema.get("allOf"))
                return {**schema, "allOf": [], **self._document.follow(parts[0])} if len(parts) == 1 else schema
            if len(properties) < _PROPERTIES_AT_MOST:
                properties = {**mapping(part.get("properties"), _PROPERTIES_AT_MOST), **properties}
                required += listed(part.get("required"))[:_NAMED_AT_MOST]
            room = max(0, _LISTED_AT_MOST + 1 - seen - len(waiting))
            waiting += [(below, depth + 1) for below in listed(part.get("allOf"))[:room]]
        kept = {name: schema[name] for name in ("description", "title", "nullable") if name in schema}
        return {**kept, "type": "object", "properties": properties, "required": required}

    def _take_types(self, schema: Mapping[str, Any], made: dict[str, Any]) -> None:
        """Take over type and listed values; `nullable` of 3.0 adds null to both."""
        declared = schema.get("type")
        kinds = [kind for kind in (declared if isinstance(declared, list) else [declared]) if str(kind) in _TYPES]
        if not kinds and isinstance(schema.get("properties"), Mapping):
            kinds = ["object"]
        values = [value for value in listed(schema.get("enum"))[:_LISTED_AT_MOST] if _is_scalar(value)]
        if schema.get("nullable") is True and kinds and "null" not in kinds:
            kinds.append("null")
            values += [None] if values and None not in values else []
        if kinds:
            made["type"] = kinds[0] if len(kinds) == 1 else kinds
        if values and len(listed(schema.get("enum"))) <= _LISTED_AT_MOST:
            made["enum"] = list({(type(value), value): value for value in values}.values())

    def _take_parts(self, schema: Mapping[str, Any], made: dict[str, Any], depth: int) -> None:
        """Take over the schemas within a schema."""
        properties = {
            name: self._part(below, depth + 1)
            for name, below in mapping(schema.get("properties"), _PROPERTIES_AT_MOST).items()
            if self._document.follow(below).get(self._hidden) is not True
        }
        if properties:
            made["properties"] = properties
            named = set(filter(is_text, listed(schema.get("required"))[:_NAMED_AT_MOST]))
            required = [name for name in properties if name in named]
            made.update({"required": required} if required else {})
        more = schema.get("additionalProperties")
        if isinstance(more, bool):
            made["additionalProperties"] = more
        elif isinstance(more, Mapping):
            made["additionalProperties"] = self._part(more, depth + 1)
        if isinstance(schema.get("items"), Mapping):
            made["items"] = self._part(schema["items"], depth + 1)
        # Branches of `oneOf` often overlap in published documents, so that an exact reading would refuse good values.
        branches = [*listed(schema.get("anyOf")), *listed(schema.get("oneOf"))][:_LISTED_AT_MOST]
        if branches:
            made["anyOf"] = [self._part(below, depth + 1) for below in branches]
            if schema.get("nullable") is True and "type" not in made:
                made["anyOf"].append({"type": "null"})
        parts = [self._part(below, depth + 1) for below in listed(schema.get("allOf"))[:_LISTED_AT_MOST]]
        if parts:
            made["allOf"] = parts


def can_be_spread(schema: Mapping[str, Any], *, is_required: bool) -> bool:
    """Return whether the fields of a body become arguments.

    Not where the body may be left out but has fields that may not, nor where null says something else than no value.
    """
    properties, required = schema.get("properties", {}), schema.get("required", ())
    has_nulls = any(map(_admits_null, properties.values()))
    is_plain = schema.get("type") == "object" and schema.keys().isdisjoint({"anyOf", "allOf"})
    is_few = 0 < len(properties) <= _FIELDS_AT_MOST
    return is_few and is_plain and not has_nulls and (is_required or not required)


def _admits_null(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type", ())
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or any(map(_admits_null, schema.get("anyOf", ())))


def reachable(schemas: Sequence[Mapping[str, Any]], defs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definitions that schemas refer to."""
    waiting = [part["$ref"] for part in subschemas({"anyOf": list(schemas)}) if "$ref" in part]
    found: dict[str, Any] = {}
    while waiting:
        name = waiting.pop().removeprefix("#/$defs/")
        if name not in found:
            found[name] = defs[name]
            waiting += [part["$ref"] for part in subschemas(found[name]) if "$ref" in part]
    return {name: found[name] for name in defs if name in found}

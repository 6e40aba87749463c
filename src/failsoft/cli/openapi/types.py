"""JSON Schemas as annotations, and the objects among them as classes."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from failsoft.adapters.openapi.records import unique
from failsoft.cli.openapi.layout import Group, Named, Source, Text, Union, docstring, flat, laid_out, literal
from failsoft.framework.arguments.schemas import subschemas

Schema = Mapping[str, Any]
_PLAIN = {"boolean": "bool", "integer": "int", "null": "None", "number": "float", "string": "str"}
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_USED = frozenset({"bool", "dict", "float", "int", "list", "str"})
_NAMES = frozenset({"Annotated", "Any", "Field", "Literal", "NotRequired", "TypedDict"})
_LITERALS_AT_MOST = 60
_MEMBERS_AT_MOST = 8
_CLASSES_AT_MOST = 1_000
_DEPTH_AT_MOST = 12
_UNION_AT_MOST = 80
_INTEGER_BITS = 63
_LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
}
_SIZES = {
    "string": {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"},
    "array": {"minItems": "min_length", "maxItems": "max_length"},
}


class Types:
    """Makes annotations, and collects the classes that they name.

    Args:
        schemas: All schemas that annotations will be made of; no class is named like one of their properties.
        prefix: Put before the names of classes: the name of their module, with a dot.
    """

    def __init__(self, schemas: Iterable[Schema], prefix: str) -> None:
        self.classes: dict[str, str] = {}
        self._prefix = prefix
        self._by_content: dict[str, str] = {}
        self._taken = set(_NAMES)
        for schema in schemas:
            for part in subschemas(schema):
                self._taken.update(part.get("properties", ()))

    def annotation(self, schema: Schema, defs: Mapping[str, Any], name: str, ending: str = "") -> Source:
        """Return the annotation of values of a schema, without its own limits.

        Args:
            schema: The schema.
            defs: The schemas that it refers to.
            name: A name for its class, if it becomes one.
            ending: Put behind the name of a class where another one has it.
        """
        return _Annotations(self, defs, self._prefix, ending).of(schema, name, 0)

    def class_of(self, schema: Schema, within: _Annotations, name: str) -> str | None:
        """Return the name of the class of an object; None where a class cannot have such fields, or there are many."""
        properties = schema["properties"]
        names = [field for field in properties if not _FIELD.fullmatch(field) or keyword.iskeyword(field)]
        if names or not _USED.isdisjoint(properties) or len(self.classes) >= _CLASSES_AT_MOST:
            return None
        content = json.dumps(schema, sort_keys=True)
        if content not in self._by_content:
            made = _pascal(name)
            made = unique(made if made not in self._taken else f"{made}{within.ending}", self._taken).replace("_", "")
            self._taken.add(made)
            self._by_content[content] = made
            self.classes[made] = ""  # now: it may name itself
            self.classes[made] = self._source(made, schema, within)
        return self._by_content[content]

    def _source(self, name: str, schema: Schema, within: _Annotations) -> str:
        lines = [f"class {name}(TypedDict):", *docstring(schema.get("description", ""), 4, "An object of the API."), ""]
        annotations = _Annotations(self, within.defs, "", within.ending)
        for field, below in schema["properties"].items():
            made = annotated(annotations.of(below, f"{name}_{field}", 0), limits(below), "")
            if field not in schema.get("required", ()):
                made = Group("NotRequired[", [made], "]")
            is_long = isinstance(made, Union) and len(flat(made)) > _UNION_AT_MOST  # it stands in no bracket
            lines.append("    " + laid_out(Named(f"{field}: ", "Any" if is_long else made), 4))
        return "\n".join(lines)


class _Annotations:
    """Annotations whose references lead to the same definitions."""

    def __init__(self, types: Types, defs: Mapping[str, Any], prefix: str, ending: str) -> None:
        self.defs, self.ending = defs, ending
        self._types, self._prefix = types, prefix

    def of(self, schema: Schema, name: str, depth: int) -> Source:
        """Return the annotation of a schema."""
        if depth > _DEPTH_AT_MOST:
            return "Any"
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            return self.of(self.defs[name], name, depth + 1)
        values = [schema["const"]] if "const" in schema else schema.get("enum", [])
        if values and len(values) <= _LITERALS_AT_MOST and not any(isinstance(value, float) for value in values):
            return Group("Literal[", [literal(value) for value in values], "]")
        if "allOf" in schema:
            return "Any"
        if "anyOf" in schema:
            return self._union([self._member(below, name, depth + 1) for below in schema["anyOf"]])
        kinds = schema.get("type", ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return self._union([self._of_type(kind, schema, name, depth) for kind in kinds])

    def _member(self, schema: Schema, name: str, depth: int) -> Source:
        return annotated(self.of(schema, name, depth), limits(schema), "")

    def _union(self, parts: list[Source]) -> Source:
        distinct = list({flat(part): part for part in parts}.values())
        if not distinct or len(distinct) > _MEMBERS_AT_MOST or "Any" in distinct:
            return "Any"
        distinct.sort(key=lambda part: part == "None")
        return distinct[0] if len(distinct) == 1 else Union(distinct)

    def _of_type(self, kind: str, schema: Schema, name: str, depth: int) -> Source:
        if kind == "array":
            return Group("list[", [self._member(schema.get("items", {}), name, depth + 1)], "]")
        if kind != "object":
            return _PLAIN[kind]
        if schema.get("properties"):
            made = self._types.class_of(schema, self, name)
            return "dict[str, Any]" if made is None else f"{self._prefix}{made}"
        more = schema.get("additionalProperties")
        values = self._member(more, name, depth + 1) if isinstance(more, Mapping) else "Any"
        return Group("dict[", ["str", values], "]")


def annotated(base: Source, facts: list[Source], description: str) -> Source:
    """Return an annotation with limits and a description."""
    facts = [*facts, *([Text("description=", description)] if description else [])]
    return Group("Annotated[", [base, Group("Field(", facts, ")")], "]") if facts else base


def limits(schema: Schema) -> list[Source]:
    """Return the limits of a schema of one type, as arguments of `Field`."""
    kind = schema.get("type")
    if "enum" in schema or "const" in schema or "anyOf" in schema or not isinstance(kind, str):
        return []
    names = _LIMITS if kind in {"integer", "number"} else _SIZES.get(kind, {})
    found = {own: schema[limit] for limit, own in names.items() if limit in schema}
    if kind == "integer":
        found = dict(_whole(found))
    return [Text(f"{own}=", value) if isinstance(value, str) else f"{own}={value!r}" for own, value in found.items()]


def _whole(found: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the limits that pydantic accepts for integers."""
    for own, value in found.items():
        if value == int(value) and int(value).bit_length() <= _INTEGER_BITS:
            yield own, int(value)


def _pascal(name: str) -> str:
    parts = re.findall(r"[A-Za-z0-9]+", name)
    made = "".join(part[:1].upper() + part[1:] for part in parts)[:60]
    return made if made[:1].isalpha() and not keyword.iskeyword(made) else f"Object{made}"

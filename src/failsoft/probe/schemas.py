"""What an input schema says of a tool's parameters, as far as a probe uses it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.arguments.schemas import resolved

_DEPTH = 4
_READ_AT_MOST = 2_000
_LARGEST = 10**18
"""Numbers of a schema beyond it, and those that are none, are not looked at."""
_EXAMPLE = re.compile(
    r"(?:e\.g\.,?|for example,?|such as|[Ee]xamples?:|like)\s*[(:]?\s*"
    r"(?:`([^`]{1,80})`|\"([^\"]{1,80})\"|'([^']{1,80})')"
)


@dataclass(frozen=True, slots=True)
class ListedParameter:
    """A parameter of a tool.

    Args:
        name: Its name.
        schema: Its schema, with references resolved and the alternative that is not null.
        is_required: Whether it must be given.
    """

    name: str
    schema: Mapping[str, Any]
    is_required: bool

    @property
    def type(self) -> str:
        """The JSON type; empty if several are accepted or none is said."""
        said = self.schema.get("type")
        if isinstance(said, list):
            said = next((one for one in said if one != "null"), "")
        return said if isinstance(said, str) else ""

    @property
    def choices(self) -> list[Any]:
        """The accepted values, if they are listed."""
        listed = self.schema.get("enum")
        if isinstance(listed, list):
            return [one for one in listed if one is not None]
        options = self.schema.get("anyOf") or self.schema.get("oneOf") or []
        constants = [one["const"] for one in options if isinstance(one, Mapping) and "const" in one]
        return constants if constants and len(constants) == len(options) else []

    @property
    def examples(self) -> list[Any]:
        """Values that the schema or the description gives as examples."""
        given = self.schema.get("examples")
        found = list(given) if isinstance(given, list) else [self.schema["example"]] if "example" in self.schema else []
        if self.type in {"string", ""}:
            found += examples_in(str(self.schema.get("description", "")))
        return found


@dataclass(slots=True)
class ToolInfo:
    """A listed tool.

    Args:
        name: Its name.
        description: Its description.
        parameters: Its parameters by name.
        is_open: Whether it says that it takes parameters that it does not list.
        is_read_only: Whether it says that it only reads.
        is_destructive: Whether it says that it destroys.
        output_schema: What its structured results fit, if it says so.
    """

    name: str
    description: str = ""
    parameters: dict[str, ListedParameter] = field(default_factory=dict)
    is_open: bool = False
    is_read_only: bool = False
    is_destructive: bool = False
    output_schema: Mapping[str, Any] | None = None

    @property
    def required(self) -> list[ListedParameter]:
        """The parameters that must be given."""
        return [one for one in self.parameters.values() if one.is_required]


def examples_in(description: str) -> list[str]:
    """Return what a description quotes as examples."""
    return [next(filter(None, match.groups())) for match in _EXAMPLE.finditer(description[:_READ_AT_MOST])]


def tools_in(listed: list[Any]) -> list[ToolInfo]:
    """Return the tools of a list in its order; of a name that comes twice no entry counts as read-only."""
    tools: dict[str, ToolInfo] = {}
    for raw in listed:
        if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str):
            continue
        tool = _tool(raw)
        if (other := tools.get(tool.name)) is not None:
            other.is_read_only, other.is_destructive = False, other.is_destructive or tool.is_destructive
        else:
            tools[tool.name] = tool
    return [*tools.values()]


def _tool(raw: Mapping[str, Any]) -> ToolInfo:
    schema = _mapping(raw.get("inputSchema"))
    hints = _mapping(raw.get("annotations"))
    required = schema.get("required")
    must = set(filter(lambda one: isinstance(one, str), required)) if isinstance(required, list) else set()
    parameters = {
        name: ListedParameter(name, flattened(part, schema), name in must)
        for name, part in _mapping(schema.get("properties")).items()
    }
    more = schema.get("additionalProperties")
    return ToolInfo(
        raw["name"],
        str(raw.get("description") or ""),
        parameters,
        is_open=more is True or (isinstance(more, Mapping) and bool(more)) or "patternProperties" in schema,
        is_read_only=hints.get("readOnlyHint") is True,
        is_destructive=hints.get("destructiveHint") is True,
        output_schema=raw["outputSchema"] if isinstance(raw.get("outputSchema"), Mapping) else None,
    )


def flattened(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """Return a schema without its outermost references, and with the first alternative that is not null."""
    found = _sound(_mapping(schema))
    if depth > _DEPTH:
        return found
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target = resolved(reference, root)
        return {**flattened(target, root, depth + 1), **{key: value for key, value in found.items() if key != "$ref"}}
    for key in ("anyOf", "oneOf", "allOf"):
        options = found.get(key)
        if isinstance(options, list) and not all(isinstance(one, Mapping) and "const" in one for one in options):
            chosen: Any = next((one for one in options if _mapping(one).get("type") != "null"), {})
            outer = {name: value for name, value in found.items() if name != key}
            return {**flattened(chosen, root, depth + 1), **outer, "several": len(list(_not_null(options))) > 1}
    items = found.get("items")
    return {**found, "items": flattened(items, root, depth + 1)} if isinstance(items, Mapping) else found


def properties_of(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name, the schema and whether it is required of each property of an object."""
    required = schema.get("required")
    for name, part in _mapping(schema.get("properties")).items():
        yield name, part, isinstance(required, list) and name in required


def _sound(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without keywords whose value is none that they may have."""
    is_whole = all(fits(schema[key]) for key, fits in _VALUES.items() if key in schema)
    return schema if is_whole else {key: one for key, one in schema.items() if key not in _VALUES or _VALUES[key](one)}


def _is_number(value: Any) -> bool:
    return type(value) in {int, float} and abs(value) <= _LARGEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_VALUES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "enum", "examples", "required"), _is_list),
}


def _not_null(options: list[Any]) -> Iterator[Any]:
    return (one for one in options if _mapping(one).get("type") != "null")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

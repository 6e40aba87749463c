"""The types of the TypeScript client, from the published JSON Schemas; scripts/reference.py writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failsoft.framework.errors import ToolError, categories

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "clients" / "typescript" / "src" / "types.ts"
FORMATS = ("tool_response", "edit_envelope", "system_error", "coded_error", "error_response", "problem")
_DEEPEST = 5
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def types(schemas: Mapping[str, str]) -> str:
    """Return the TypeScript source: one type a wire format, and the parts that they share.

    Args:
        schemas: The published schemas by file name.
    """
    failures = {name: json.loads(schemas[f"{name}.schema.json"])["oneOf"][-1] for name in FORMATS}
    tool_response = failures["tool_response"]["properties"]["error"]["properties"]
    named = {
        "RetryWhen": tool_response["retry"]["properties"]["when"],
        "Effect": tool_response["effect"],
        "NextStep": tool_response["next_step"],
        "Violation": tool_response["violations"]["items"],
    }
    lines = [
        "// Written by scripts/reference.py from docs/schemas; do not edit.",
        "",
        f"export type Category = {' | '.join(json.dumps(name) for name in _categories())};",
    ]
    lines += [f"export type {name} = {_type(schema)};" for name, schema in named.items()]
    texts = {_type(schema, depth): name for name, schema in named.items() for depth in range(_DEEPEST)}
    for name in FORMATS:
        pascal = "".join(part.title() for part in name.split("_"))
        text = _type(failures[name])
        for repeated in sorted(texts, key=len, reverse=True):
            text = text.replace(f": {repeated};", f": {texts[repeated]};")
            text = text.replace(f": ({repeated})[];", f": {texts[repeated]}[];")
        lines.append(f"export type {pascal}Failure = {text};")
    return "\n".join(lines) + "\n"


def _categories() -> list[str]:
    classes = [value for value in vars(categories).values() if isinstance(value, type) and issubclass(value, ToolError)]
    return sorted({cls.category for cls in classes if cls.category})


def _type(schema: Any, depth: int = 0) -> str:  # noqa: PLR0911 - one return a kind of schema
    if not isinstance(schema, dict) or not schema:
        return "unknown"
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(item, depth) for item in schema[key]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": one}, depth) for one in kind)
    if kind == "array":
        item = _type(schema.get("items"), depth)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object" or "properties" in schema:
        return _object(schema, depth)
    return _PLAIN.get(str(kind), "unknown")


def _object(schema: dict[str, Any], depth: int) -> str:
    properties = schema.get("properties")
    if not properties:
        return "Record<string, unknown>"
    required = set(schema.get("required", ()))
    indent = "  " * (depth + 1)
    rows = [
        f"{indent}{name if name.isidentifier() else json.dumps(name)}{'' if name in required else '?'}: "
        f"{_type(value, depth + 1)};"
        for name, value in properties.items()
    ]
    return "\n".join(["{", *rows, "  " * depth + "}"])

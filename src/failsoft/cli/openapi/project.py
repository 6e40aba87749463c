"""The files of a project for an API: its toolset, and tests against a service made of the document's examples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from failsoft.adapters.openapi.records import Api, ApiOperation
from failsoft.cli.openapi.toolset import modules_of
from failsoft.framework.answer.result import reported_failure
from failsoft.framework.arguments.json_schema import JsonSchema

Schema = Mapping[str, Any]
_DEPTH_AT_MOST = 10
_EXAMPLE_BYTES_AT_MOST = 10_000
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.org",
    "ipv4": "192.0.2.1",
    "time": "12:00:00Z",
    "uri": "https://example.org/",
    "uuid": "5f1b9f5e-7a0c-4f0e-9a55-0d3c6c2f8a11",
}
_CANDIDATES = ("a", "A", "1", "a1", "abc", "12", "123456", "a-b", "a_1", "https://example.org/", "2026-01-31", "a.b.c")


def files_of(api: Api, names: Mapping[str, str], source: str) -> dict[str, str]:
    """Return the source files of a project by their names, beside those of the templates.

    Args:
        api: The API.
        names: The names of project, module and class.
        source: Where its document came from, for people.
    """
    calls = [call for item in api.operations if (call := _call(item)) is not None]
    cases = "[\n" + ",\n".join(json.dumps(call) for call in calls) + "\n]\n"
    return {**modules_of(api, names, source), "tests/calls.json": cases}


def _call(item: ApiOperation) -> dict[str, Any] | None:
    """Return a call of an operation and the answer of its service; None where no valid arguments can be made."""
    arguments = _sample(item.arguments.schema, item.defs, 0)
    if item.arguments.violations(arguments):
        return None
    answer = item.example
    if answer is None and item.result is not None:
        answer = _sample(item.result, item.result_defs, 0)
    try:
        is_small = len(json.dumps(answer)) <= _EXAMPLE_BYTES_AT_MOST
    except (TypeError, ValueError, RecursionError):
        is_small = False
    if not is_small or reported_failure(answer) is not None:
        answer = {}
    return {"tool": item.name, "method": item.method, "path": item.path, "arguments": arguments, "answer": answer}


def _sample(schema: Schema, defs: Schema, depth: int) -> Any:
    """Return a value for a schema, with nothing that may be left out."""
    if depth > _DEPTH_AT_MOST:
        return None
    if "$ref" in schema:
        return _sample(defs[schema["$ref"].removeprefix("#/$defs/")], defs, depth + 1)
    shown = [schema[keyword] for keyword in ("const", "default") if keyword in schema]
    shown += [schema[keyword][0] for keyword in ("examples", "enum") if keyword in schema]
    if shown:
        return shown[0]
    for keyword in ("anyOf", "allOf"):
        if keyword in schema:
            return _sample(schema[keyword][0], defs, depth + 1)
    kinds = schema.get("type", "string")
    return _of_type(kinds if isinstance(kinds, str) else kinds[0], schema, defs, depth)


def _of_type(kind: str, schema: Schema, defs: Schema, depth: int) -> Any:
    if kind == "object":
        return {name: _sample(schema["properties"][name], defs, depth + 1) for name in schema.get("required", ())}
    if kind == "array":
        return [_sample(schema.get("items", {}), defs, depth + 1) for _ in range(min(schema.get("minItems", 1), 20))]
    if kind in {"integer", "number"}:
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        most = schema.get("maximum", schema.get("exclusiveMaximum", least + 1) - 1)
        return int(max(least, min(most, 1)) if most >= least else least)
    return _text(schema) if kind == "string" else True if kind == "boolean" else None


def _text(schema: Schema) -> str:
    if schema.get("format") in _FORMATS and "pattern" not in schema:
        return _FORMATS[schema["format"]]
    least, most = min(schema.get("minLength", 0), 2_000), schema.get("maxLength", 2_000)
    padded = [text.ljust(least, text[-1])[:most] for text in _CANDIDATES]
    if "pattern" not in schema:
        return padded[0]
    fitting = JsonSchema("example", {"type": "string", "pattern": schema["pattern"]}, slow_patterns="skip")
    return next(filter(fitting.is_valid, padded), padded[0])

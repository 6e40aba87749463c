"""Answers of a good server to arguments that its schema forbids: the field, what is accepted, the call to make next."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["refusal"]


def refusal(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the arguments and how to call again, or None if they fit the schema."""
    faults = list(_faults(schema, arguments))
    if not faults:
        return None
    return f"{' '.join(faults)} Call `{tool}` again with {_wanted(schema)}."


def _faults(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    known: Mapping[str, Any] = schema.get("properties", {})
    for name in arguments:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1, 0.8)
            meant = f"; did you mean `{close[0]}`?" if close else "."
            yield f"There is no parameter {json.dumps(name[:60])}{meant}"
    for name in schema.get("required", ()):
        if name not in arguments:
            yield f"`{name}` is missing: {_accepted(known[name])}."
    for name, part in known.items():
        if name in arguments and not Draft202012Validator(part).is_valid(arguments[name]):
            yield f"`{name}` is {_accepted(part)}, not {json.dumps(arguments[name])[:60]}."


def _wanted(schema: Mapping[str, Any]) -> str:
    known: Mapping[str, Any] = schema.get("properties", {})
    return ", ".join(f"`{name}`: {_accepted(part)}" for name, part in known.items()) or "no arguments: {}"


def _accepted(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return "one of " + ", ".join(json.dumps(one) for one in part["enum"])
    said = {"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}
    words = [said[part["type"]]]
    if "minimum" in part:
        words.append(f"from {part['minimum']} to {part['maximum']}")
    if "maxLength" in part:
        words.append(f"of 1 to {part['maxLength']} characters")
    if "pattern" in part:
        words.append(f"that matches {part['pattern']}, such as {json.dumps(part['examples'][0])}")
    return " ".join(words)

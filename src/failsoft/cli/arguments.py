"""Parses `KEY=VALUE` words by the types of an operation's schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.cli.errors import usage
from failsoft.framework.arguments.schemas import Schema, alternatives, enumerated, kinds_of
from failsoft.framework.text import bounded, json_type


def from_words(words: Sequence[str], schema: Schema) -> dict[str, Any]:
    """Parse `key=value` words into arguments. A repeated key makes a list.

    A value that does not fit the schema stays text, so that the operation's own validation reports it.

    Raises:
        INVALID_PARAM: A word is not of the form KEY=VALUE, or a single value is given twice.
    """
    given: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise usage(message=f"'{bounded(word)}' is not of the form KEY=VALUE.", hint=_meant(word, schema))
        given.setdefault(key, []).append(value)
    return {key: _value(key, values, schema) for key, values in given.items()}


def from_json(text: str, operation: str) -> dict[str, Any]:
    """Return the arguments of an operation in a JSON object.

    Raises:
        INVALID_PARAM: It is not JSON, or not an object.
    """
    example = f'failsoft call {operation} --json \'{{"NAME": "VALUE"}}\''
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage(message=f"--json is not JSON: {bounded(str(error))}.", hint=example) from None
    if not isinstance(value, dict):
        raise usage(message=f"--json takes an object with the arguments by name, not {json_type(value)}.", hint=example)
    return value


def _value(key: str, values: Sequence[str], schema: Schema) -> Any:
    properties = schema.get("properties")
    known = properties.get(key) if isinstance(properties, Mapping) else None
    accepted = alternatives([known], schema)
    kinds = _kinds(accepted)
    if len(values) == 1:
        return _read(values[0], kinds)
    if "array" not in kinds:
        raise usage(message=f"'{bounded(key)}' is given {len(values)} times, and is not a list.")
    items = alternatives([item["items"] for item in accepted if "items" in item], schema)
    return [_read(value, _kinds(items)) for value in values]


def _kinds(accepted: Sequence[Schema]) -> frozenset[str]:
    """Return the JSON types that are accepted; text for a parameter that is unknown or takes anything."""
    kinds = kinds_of(accepted) | {json_type(value) for value in enumerated(accepted)}
    return kinds or frozenset({"string"})


def _read(text: str, kinds: frozenset[str]) -> Any:
    """Return the value in the first form that the schema accepts: text, a list with one item, JSON."""
    parsed = _parsed(text)
    kind = json_type(parsed)
    if "string" in kinds:
        return parsed if kind in {"array", "object"} & kinds else text
    if "array" in kinds and kind not in {"array", "null"} and kind not in kinds:
        return [parsed if kind == "object" else text]
    return parsed


def _parsed(text: str) -> Any:
    """Return the JSON value, or the text itself if it is not JSON; `True` is read as `true`."""
    word = text.lower() if text.lower() in {"true", "false", "null"} else text
    try:
        value = json.loads(word)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, float) and not math.isfinite(value) else value


def _meant(word: str, schema: Schema) -> str:
    names = [*schema.get("required", ()), *schema.get("properties", {})]
    if word in names:
        return f"{word}=VALUE"
    return f"{names[0]}={bounded(word)}" if names else ""

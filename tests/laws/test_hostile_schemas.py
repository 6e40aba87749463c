"""A schema that is not ours costs a bounded time, whatever it says and whatever is validated by it."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from tests.doors import JsonSchema

SECONDS_AT_MOST = 10.0
"""Of the processor: the bound is 2 s, and the explanation comes to it."""


def doubled(levels: int) -> dict[str, Any]:
    """Return a schema in which each level of a value is validated twice by the next."""
    definitions: dict[str, Any] = {"d0": {"type": "object"}}
    for level in range(1, levels + 1):
        below = {"properties": {"a": {"$ref": f"#/$defs/d{level - 1}"}}}
        definitions[f"d{level}"] = {"allOf": [below, below]}
    return {"$defs": definitions, "$ref": f"#/$defs/d{levels}"}


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


VALIDATED: dict[str, tuple[dict[str, Any], Any]] = {
    "pattern": ({"pattern": "^(a+)+$"}, "a" * 50_000 + "b"),
    "names": ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 5_000 + "b": 1}),
    "unique objects": ({"uniqueItems": True}, [{"n": number} for number in range(20_000)]),
    "enum": ({"items": {"enum": [f"word {number}" for number in range(10_000)]}}, ["word"] * 100),
    "doubled": (doubled(30), nested(31)),
    "wrong items": ({"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "null"}}]}, [1] * 100_000),
    "unknown names": (
        {"properties": {f"name_{n}": {} for n in range(5_000)}, "additionalProperties": False},
        {f"nam_{n}": 1 for n in range(5_000)},
    ),
}


@pytest.mark.parametrize("name", VALIDATED)
def test_a_validation_is_bounded_in_time(name: str) -> None:
    schema, value = VALIDATED[name]
    reader = JsonSchema("hostile", schema)
    began = time.process_time()
    found = reader.violations(value)
    assert time.process_time() - began < SECONDS_AT_MOST
    assert len(found) <= 200


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$dynamicRef": "other.json"},
        {"$ref": "#/$defs/none"},
        {"$ref": "#"},
        {"enum": ["x" * 300_000]},
        {"properties": nested(200)},
        {"pattern": "("},
        {"pattern": "^(?=a)"},
        {"properties": {"\ud800": {}}},
        {"type": 5},
        [],
        None,
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_used_is_refused_and_nothing_is_fetched(
    schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: Any) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(TypeError):
        JsonSchema("hostile", schema)


def test_a_large_value_belongs_in_a_worker_thread() -> None:
    reader = JsonSchema("hostile", {"items": {"type": "integer"}})
    assert not reader.is_slow([1] * 100)
    assert reader.is_slow([1] * 100_000)

"""A schema that is not ours costs a bounded time, whatever it says and whatever is validated by it."""

from __future__ import annotations

import socket
import sys
import time
import tracemalloc
from typing import Any

import pytest

from tests.doors import JsonSchema, ThreadPool

BOUND_S, SECONDS_AT_MOST = 0.1, 5.0
"""Of the processor: the bound of these tests, which is 1 s elsewhere, and what it takes with the explanation."""


@pytest.fixture(autouse=True)
def _bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[JsonSchema.__module__], "_SECONDS_AT_MOST", BOUND_S)


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
    "enum of every item": ({"contains": {"enum": [*range(20_000)]}}, ["x"] * 20_000),
    "enum of every name": ({"propertyNames": {"enum": [*map(str, range(9_999))]}}, {f"q{n}": 1 for n in range(9_999)}),
    "enum beside a large value": ({"enum": [f"word {number}" for number in range(20_000)]}, [["x"] * 100] * 50),
    "unique again and again": ({"allOf": [{"uniqueItems": True}] * 4_000}, [*range(40_000)]),
    "anchors": (
        {"properties": {f"p{n}": {"$ref": "#a"} for n in range(1_500)}, "$defs": {"a": {"$anchor": "a"}}},
        {f"p{n}": n for n in range(1_500)},
    ),
    "equal hashes": ({"uniqueItems": True}, [n * (2**61 - 1) for n in range(40_000)]),
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
        {"items": {"patternProperties": {f"^a{number}(b|c)*d$": {} for number in range(4_000)}}},
        {"properties": {f"p{n}": {"pattern": f"[\\w{n}]{{1,{90 + n}}}"} for n in range(20)}},
        {"properties": {f"p{n}": {"$ref": f"#a{n}", "$anchor": f"a{n}"} for n in range(2_500)}},
        {"pattern": "^(?=a)"},
        {"properties": {"\ud800": {}}},
        {"type": 5},
        [],
        None,
    ],
    ids=lambda schema: str(schema)[:40],
)
def test_a_schema_that_cannot_be_used_is_refused_and_nothing_is_fetched(
    schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: Any) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(TypeError):
        JsonSchema("hostile", schema)


def recursive(keyword: str, levels: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a small schema, each of whose levels tries the next one several times, and a value that fits none."""
    below = {"properties": {"a": {"$ref": "#/$defs/d"}}, "required": ["z"]}
    return {"$defs": {"d": {keyword: [below] * 8}}, "properties": {"a": {"$ref": "#/$defs/d"}}}, nested(levels)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (*recursive("anyOf", 20), 1),
        ({"items": {"allOf": [{}] * 1_000}}, [1] * 4_000, 1),
        ({"items": {"type": "integer"}}, [1] * 10_000, 0),
    ],
    ids=["recursive", "many schemas", "large"],
)
async def test_a_validation_does_not_block_the_event_loop(schema: Any, value: Any, expected: int) -> None:
    reader = JsonSchema("hostile", schema)
    threads = ThreadPool()
    began = time.thread_time()
    beside = await reader.violations_beside(value, threads.run)
    assert time.thread_time() - began < 0.1
    assert len(beside) == expected


def test_the_branches_of_a_union_leave_no_errors_behind() -> None:
    reader = JsonSchema("hostile", recursive("anyOf", 20)[0])
    tracemalloc.start()
    reader.violations(nested(20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("number", [10**4_000, -(10**4_000), 1e308, 3])
def test_every_number_is_compared_with_a_factor(number: float) -> None:
    reader = JsonSchema("hostile", {"multipleOf": 1e-300})
    assert reader.violations(number) == []

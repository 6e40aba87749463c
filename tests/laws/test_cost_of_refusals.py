"""What a refused call costs grows with the parsing of its body, and with nothing else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool
from failsoft.tools.docs import Docs
from failsoft.tools.edit import Edit
from failsoft.tools.workspace import Workspace

BOUND = 40_000
"""More than the bound of any list or object: above it nothing but parsing may grow."""
ATTEMPTS = 8
Place = tuple[str, tuple[str | int, ...], str]


def places(schema: Mapping[str, Any], root: Mapping[str, Any], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, str]]:
    """Yield where a schema has arrays and objects, by path; 0 is any item."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", ()):
        yield from places(choice, root, path)
    if schema.get("type") == "array":
        yield path, "array"
        yield from places(schema["items"], root, (*path, 0))
    if schema.get("type") == "object":
        if path:
            yield path, "object"
        for name, item in schema.get("properties", {}).items():
            yield from places(item, root, (*path, name))


def put(path: tuple[Any, ...], value: Any) -> Any:
    """Return arguments with the value at this path, and nothing else."""
    for step in reversed(path):
        value = [value] if step == 0 else {step: value}
    return value


def body(path: tuple[Any, ...], kind: str, size: int) -> str:
    value = [[] for _ in range(size)] if kind == "array" else {f"k{number}": [] for number in range(size)}
    return json.dumps(put(path, value))


async def cost(tool: BaseTool, operation: str, text: str) -> tuple[float, float]:
    """Return the CPU time of the refusal and that of parsing the body."""
    started = time.process_time()
    arguments = json.loads(text)
    parsed = time.process_time()
    response = await tool.execute_with_error_handling(operation, arguments)
    refused = time.process_time()
    assert not response.success
    return refused - parsed, parsed - started


async def hold(tool: BaseTool) -> None:
    """Hold a toolset to the law, at each array and object of its schemas."""
    found = [
        (name, path, kind)
        for name, bound in tool.operations.items()
        for path, kind in places(bound.input_schema, bound.input_schema)
    ]
    assert found
    for name, path, kind in found:
        small_body, large_body = (body(path, kind, size) for size in (BOUND, 80_000))
        for attempt in range(ATTEMPTS):  # beside other processes a single measurement may be far off
            small, _ = await cost(tool, name, small_body)
            large, parsing = await cost(tool, name, large_body)
            if large - small <= 6 * parsing:
                break
            assert attempt < ATTEMPTS - 1, (name, path)
    await asyncio.sleep(0)


@pytest.mark.anyio
@pytest.mark.parametrize("toolset", [Docs, Edit, Workspace])  # Flux: tests/slow/benchmarks
async def test_a_hostile_list_or_object_costs_no_more_than_a_few_times_its_parsing(
    toolset: type[BaseTool], tmp_path: Path
) -> None:
    await hold(toolset(tmp_path))

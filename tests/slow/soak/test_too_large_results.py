"""What is far too large is refused before it is encoded, whatever it is made of."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from pydantic import BaseModel

from failsoft import BaseTool, Runtime, Settings, operation
from tests.doors import CallScope, json_safe_module

pytestmark = pytest.mark.anyio

LIMIT = 100_000
TEXT = "x" * 8_000_000


class Text(str):
    """A text that is not a plain one."""

    __slots__ = ()


class Page(BaseModel):
    """A model with a text."""

    text: str


class Node(dict[str, Any]):
    """No plain dictionary."""


def shared(depth: int) -> list[Any]:
    made: list[Any] = ["x"]
    for _ in range(depth):
        made = [made] * 10
    return made


def family() -> dict[str, Any]:
    """Return a small tree whose nodes know their parent and each other."""
    parent: dict[str, Any] = {"name": "parent"}
    parent["children"] = [{"name": str(number), "parent": parent} for number in range(10)]
    return parent


LARGE: dict[str, Any] = {
    "text": TEXT,
    "inner text": {"pages": [{"text": TEXT}]},
    "texts": ["x" * 20] * 600_000,
    "integers": list(range(600_000)),
    "a text of its own": Text(TEXT),
    "bytes": TEXT.encode(),
    "empty lists": [[] for _ in range(100_000)],
    "objects": Node({str(number): {"number": number} for number in range(200_000)}),
    "shared lists": shared(12),
}


class Wide(BaseTool):
    """Returns more than an answer holds."""

    @operation(read_only=True)
    async def everything(self, kind: str) -> Any:
        """Return all."""
        return family() if kind == "family" else Page(text=TEXT) if kind == "model" else LARGE[kind]


async def answered(kind: str) -> Any:
    tool = Wide(runtime=Runtime(settings=Settings()))
    return await tool.operations["everything"].call({"kind": kind}, CallScope(max_response_bytes=LIMIT))


@pytest.mark.parametrize("kind", LARGE)
async def test_what_is_too_large_is_refused_without_a_copy_of_it(kind: str) -> None:
    await answered("family")
    tracemalloc.start()
    try:
        answer = await answered(kind)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.error.code == "RESULT_TOO_LARGE"
    assert answer.error.exception.size_bytes > LIMIT
    assert peak < 15_000_000


async def test_a_model_that_is_too_large_is_refused() -> None:
    answer = await answered("model")
    assert answer.error.exception.size_bytes > 2 * len(TEXT)


async def test_a_small_value_that_contains_itself_often_is_answered() -> None:
    answer = await answered("family")
    assert answer.success
    assert answer.metadata.warnings


@pytest.mark.parametrize("value", ["x" * 98, ["x"] * 24, {"a": "x" * 92}, Text("x" * 98), b"x" * 98, [10] * 33])
def test_the_bound_is_exact(value: Any) -> None:
    text = json_safe_module.encode(value).text
    assert json_safe_module.encode(value, max_bytes=len(text)).text == text
    with pytest.raises(json_safe_module.TooLarge) as found:
        json_safe_module.encode(value, max_bytes=len(text) - 1)
    assert found.value.size_bytes >= len(text)

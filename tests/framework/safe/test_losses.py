"""Values that JSON cannot carry are reported with the place where they were."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client
from pydantic import BaseModel

from failsoft import BaseTool, mcp_server, operation
from tests.doors import encode


class Price(BaseModel):
    amount: float


@dataclass
class Row:
    price: Price


class Optional(BaseModel):
    name: str | None = None
    amount: float = float("nan")


def lost(data: Any) -> list[str]:
    return list(encode({"data": data}).warnings)


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"a": [1]}
    value["a"].append(value)
    return value


class Odd(BaseTool):
    """Returns what JSON cannot say."""

    @operation(read_only=True)
    async def numbers(self) -> dict[str, Any]:
        """Return a number that is not finite, and a null."""
        return {"rows": [{"price": float("inf"), "name": None}]}

    @operation(read_only=True)
    async def plain(self) -> dict[str, Any]:
        """Return a null."""
        return {"name": None, "price": 1.5}

    @operation(read_only=True)
    async def circle(self) -> dict[str, Any]:
        """Return a value that contains itself."""
        return cyclic()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, []),
        (None, []),
        (float("nan"), ["data is null: the number is not finite."]),
        ([Row(Price(amount=float("inf")))], ["data.0.price.amount is null: the number is not finite."]),
        ([Optional()], ["data.0.amount is null: the number is not finite."]),
        (Optional(amount=1), []),
        (["NaN", ",NaN,", {"Infinity": "-Infinity"}], []),
        (cyclic(), ['data.a.1 is "<cycle>": the value contains itself.']),
    ],
)
def test_each_place_is_named(value: Any, expected: list[str]) -> None:
    assert lost(value) == expected


def test_the_report_and_the_search_are_bounded() -> None:
    assert len(lost([float("nan")] * 1_000_000)) == 6
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert lost(deep) == []


def _warnings(name: str) -> list[str]:
    answer = asyncio.run(Odd().execute_with_error_handling(name, {})).to_dict()
    warnings: list[str] = answer.get("metadata", {}).get("warnings", [])
    return warnings


def test_a_success_warns_of_what_was_replaced() -> None:
    assert _warnings("numbers") == ["data.rows.0.price is null: the number is not finite."]
    (warning,) = _warnings("circle")
    assert warning.startswith("data.a.1")
    assert warning.endswith('"<cycle>": the value contains itself.')
    assert _warnings("plain") == []


@pytest.mark.anyio
async def test_a_client_gets_the_replaced_values_with_their_warnings() -> None:
    async with Client(mcp_server(Odd())) as client:
        seen = {name: (await client.call_tool(name, {})).structured_content or {} for name in ("numbers", "circle")}
    assert seen["numbers"]["data"] == {"rows": [{"price": None, "name": None}]}
    assert seen["numbers"]["metadata"]["warnings"] == ["data.rows.0.price is null: the number is not finite."]
    assert "<cycle>" in str(seen["circle"]["data"])
    assert [warning.endswith("the value contains itself.") for warning in seen["circle"]["metadata"]["warnings"]] == [
        True
    ]

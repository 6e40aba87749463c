"""Idempotency keys that are made of a call's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, CallContext, ToolResponse, operation
from failsoft.recovery import Idempotency
from failsoft.testing import InstantClock
from tests.framework.recording import quiet_runtime


def outcome_of(response: ToolResponse[Any]) -> tuple[str, str] | None:
    return None if response.error is None else (response.error.code, response.error.effect)


def deriving(value: Any) -> Any:
    def derive(call: CallContext) -> Any:
        call.arguments["invoice"]
        if isinstance(value, Exception):
            raise value
        return value

    class Deriving(BaseTool):
        runs = 0

        @operation(recovery=[Idempotency(derive=derive)])
        async def write(self, invoice: str = "i1", amount: int = 1) -> int:
            """Write once."""
            self.runs += 1
            return self.runs

    return Deriving(runtime=quiet_runtime())


@pytest.mark.parametrize("derived", [5, 0, False, "", "a b", "é", "x" * 1_000, ["a", {"b": None}], {"z": 1, "a": 2}])
def test_any_json_value_makes_a_derived_key(derived: Any) -> None:
    tool = deriving(derived)

    async def main() -> list[Any]:
        return [(await tool.write()).data, (await tool.write()).data]

    assert InstantClock().run(main()) == [1, 1]


@pytest.mark.parametrize("derived", [object(), {1, 2}, ZeroDivisionError()])
def test_what_is_no_json_value_is_the_fault_of_the_tool(derived: Any) -> None:
    assert outcome_of(InstantClock().run(deriving(derived).write())) == ("SYSTEM_ERROR", "none")


def test_a_conflict_of_a_derived_key_names_the_arguments() -> None:
    tool = deriving("i1")

    async def main() -> ToolResponse[Any]:
        await tool.write(amount=1)
        response: ToolResponse[Any] = await tool.write(amount=2)
        return response

    response = InstantClock().run(main())
    assert outcome_of(response) == ("IDEMPOTENCY_CONFLICT", "none")
    assert response.error is not None
    assert "same `invoice`" in response.error.message
    assert "another `amount`" in response.error.message
    assert "key" not in response.error.message

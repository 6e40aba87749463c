"""What the caller of a write is told when it failed after its effect may have begun."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    Conflict,
    Failure,
    Idempotency,
    IdempotencyOutcomeUnknown,
    NotFound,
    PermissionDenied,
    Unavailable,
    operation,
)
from tests.doors import CallScope
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio

FORBIDDING = ("do not repeat", "do not send", "must not be", "not be sent", "do not call")


class Orders(BaseTool):
    """Orders that fail after they may have been placed."""

    failure: BaseException = NotFound("There is no such shelf.")

    @operation(verify_with="get_order")
    async def place_order(self, order_id: str = "A-1") -> str:
        """Place an order."""
        raise self.failure

    @operation(recovery=[Idempotency()], verify_with="get_order")
    async def pay_order(self, order_id: str) -> str:
        """Pay an order."""
        raise Unavailable("The connection was lost.")

    @operation(read_only=True)
    async def get_order(self, order_id: str) -> str:
        """Return an order."""
        return order_id


async def failed(error: BaseException, wire_format: str = "auto") -> tuple[Failure, dict[str, Any]]:
    orders = Orders(runtime=quiet_runtime(wire_format=wire_format))
    orders.failure = error
    response = await orders.place_order(order_id="A-1")
    if response.error is None or response.error.effect != "unknown":
        pytest.fail("the write has not failed with an unknown effect")
    return response.error, response.to_dict()


AFTER_A_FIX = [NotFound("There is no such shelf."), Conflict("The version has changed."), FileNotFoundError(2, "x")]
NEVER = [RuntimeError("a defect"), PermissionDenied("Not allowed.")]


async def test_a_write_of_unknown_effect_is_never_to_be_repeated_whatever_its_category() -> None:
    advised = [(error, (await failed(error))[0].retry.when) for error in AFTER_A_FIX]
    assert [(error, when) for error, when in advised if when != "never"] == []


async def test_the_operation_that_shows_the_state_is_named_after_an_error_of_any_category() -> None:
    steps = [(error, (await failed(error))[0].next_step) for error in AFTER_A_FIX]
    assert [error for error, step in steps if step is None or step.tool != "get_order"] == []


async def test_the_operation_that_shows_the_state_is_named_after_a_crash() -> None:
    steps = [(error, (await failed(error))[0].next_step) for error in NEVER]
    assert [error for error, step in steps if step is None or step.tool != "get_order"] == []


async def test_the_operation_that_shows_the_state_is_named_where_the_outcome_of_a_key_is_unknown() -> None:
    failure, _ = await failed(IdempotencyOutcomeUnknown(message="The work may have been done."))
    assert failure.next_step is not None
    assert failure.next_step.to_dict() == {"tool": "get_order", "arguments": {"order_id": "A-1"}}


async def test_every_format_says_that_a_write_of_unknown_effect_must_not_be_sent_again() -> None:
    keys = {"tool_response": "message", "coded_error": "message", "error_response": "message"}
    keys |= {"edit_envelope": "message", "system_error": "human_message", "problem": "detail"}
    quiet = []
    for wire_format, key in keys.items():
        for error in (*AFTER_A_FIX, *NEVER):
            _, answer = await failed(error, wire_format)
            text = answer.get("error", {}).get(key) if wire_format == "tool_response" else answer[key]
            if not any(words in text.casefold() for words in FORBIDDING):
                quiet.append((wire_format, type(error).__name__, text))
    assert quiet == []


async def test_a_message_never_asks_for_a_write_of_unknown_effect_again() -> None:
    with pytest.raises(sqlite3.OperationalError) as refused:
        sqlite3.connect(":memory:").execute("SELECT * FROM nowhere")
    failure, _ = await failed(refused.value)
    assert "call `place_order` again" not in failure.message


async def test_a_keyed_write_of_unknown_effect_says_that_the_same_call_with_its_key_is_safe() -> None:
    scope = CallScope(meta={"dev.failsoft/idempotency-key": "order-A-1-payment"})
    response = await Orders(runtime=quiet_runtime()).operations["pay_order"].call({"order_id": "A-1"}, scope)
    if response.error is None or response.error.effect != "unknown":
        pytest.fail("the write has not failed with an unknown effect")
    assert response.error.retry.when != "never"
    assert re.search(r"\bkey\b", response.error.message)

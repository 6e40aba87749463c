"""A client that answers the questions of servers, in both eras; one that does not never says that it could."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import failsoft
from failsoft.client import Client
from tests.server.asked_tools import Asked

pytestmark = pytest.mark.anyio
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@MODES
@pytest.mark.parametrize(
    ("values", "is_bought"), [({"confirm": True}, True), ({"confirm": False}, False), (None, False)]
)
async def test_a_question_is_answered_with_what_the_callback_returns(
    mode: str, values: Mapping[str, Any] | None, is_bought: bool
) -> None:
    asked = []

    async def answer(message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        asked.append((message.partition("\n")[0], [*schema["properties"]]))
        return values

    async with Client(Asked(), mode=mode, on_question=answer) as client:
        if is_bought:
            assert await client.call("buy", {"what": "tea"}) == "tea"
        else:
            with pytest.raises(failsoft.ApprovalRequired):
                await client.call("buy", {"what": "tea"})
        assert await client.call("count") == int(is_bought)
    assert asked == [("May `buy` run with these arguments?", ["confirm"])]


@MODES
async def test_a_callback_that_fails_answers_nothing(mode: str) -> None:
    async def broken(_message: str, _schema: Mapping[str, Any]) -> Mapping[str, Any]:
        raise KeyError("confirm")

    async with Client(Asked(), mode=mode, on_question=broken) as client:
        with pytest.raises(failsoft.ApprovalRequired, match="without an answer"):
            await client.call("buy", {"what": "tea"})


@MODES
async def test_without_a_callback_nobody_can_be_asked(mode: str) -> None:
    async with Client(Asked(), mode=mode) as client:
        with pytest.raises(failsoft.ApprovalRequired, match="no person can be asked"):
            await client.call("buy", {"what": "tea"})

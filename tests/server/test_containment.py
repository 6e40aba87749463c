"""One bad call never costs the server: each row of the containment table, over every transport and in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from tests.server.served_tools import RAISED, RETURNED

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

REFUSED = {"huge": "RESULT_TOO_LARGE"}


def answer_of(result: CallToolResult) -> dict[str, Any]:
    """Return the answer, after making sure that it is JSON that any client can read."""
    assert isinstance(result.content[0], TextContent)
    assert isinstance(result.structured_content, dict)
    result.content[0].text.encode()
    if not result.is_error:
        assert json.loads(result.content[0].text, parse_constant=_no_constant) == result.structured_content
    json.dumps(result.structured_content, allow_nan=False)
    return result.structured_content


def _no_constant(name: str) -> None:
    pytest.fail(f"{name} is not JSON")


async def process_id(client: Client) -> int:
    """Return the process that answers now."""
    answer = answer_of(await client.call_tool("process_id"))
    assert answer["success"] is True
    return int(answer["data"])


@pytest.mark.parametrize("tool", ["raise_it", "raise_it_in_a_thread"])
async def test_what_a_tool_raises_becomes_an_error_and_the_server_lives(client: Client, tool: str) -> None:
    before = await process_id(client)
    for kind in RAISED:
        result = await client.call_tool(tool, {"kind": kind})
        error = answer_of(result)["error"]
        assert result.is_error is True, kind
        assert error["category"] == "internal", kind
        assert result.meta is not None, kind
        assert result.meta["dev.failsoft/error"]["code"] == error["code"], kind
        assert await process_id(client) == before, kind


@pytest.mark.parametrize("tool", ["return_it", "return_it_from_a_thread"])
async def test_what_a_tool_returns_arrives_as_json_and_the_server_lives(client: Client, tool: str) -> None:
    before = await process_id(client)
    for kind in RETURNED:
        answer = answer_of(await client.call_tool(tool, {"kind": kind}))
        if kind in REFUSED:
            assert answer["error"]["code"] == REFUSED[kind], kind
        else:
            assert answer["success"] is True, kind
        assert await process_id(client) == before, kind


async def test_a_cancelled_task_of_the_tools_own_is_a_failure_and_no_cancellation(client: Client) -> None:
    before = await process_id(client)
    assert answer_of(await client.call_tool("cancel_a_child"))["error"]["category"] == "internal"
    assert await process_id(client) == before


async def test_progress_that_is_none_is_dropped(client: Client) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    assert answer_of(await client.call_tool("odd_progress", progress_callback=note))["data"] == "done"
    assert seen == [1]


async def test_a_sync_tool_that_outlives_its_limit_is_deadline_exceeded(client: Client) -> None:
    before = await process_id(client)
    assert answer_of(await client.call_tool("sleep_through_the_limit"))["error"]["category"] == "deadline_exceeded"
    assert await process_id(client) == before

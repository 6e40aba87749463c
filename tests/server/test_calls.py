"""What a client sees of a call, the same over every transport and in both eras."""

from __future__ import annotations

import json
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ImageContent, ResourceLink, TextContent

from tests.server.processes import BOUND_S
from tests.server.served_tools import PNG
from tests.server.transports import TRANSPORTS

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

CANCELLABLE = [transport for transport in TRANSPORTS if transport != "http-legacy"]
"""A client of the older era cancels with a second request, which a server without sessions cannot tie to the first:
there only a disconnect cancels (`test_http_process.py`)."""


def answer_of(result: CallToolResult) -> dict[str, Any]:
    """Return the answer, after making sure that both of its forms say the same."""
    assert isinstance(result.content[0], TextContent)
    assert isinstance(result.structured_content, dict)
    answer: dict[str, Any] = result.structured_content
    if result.is_error:
        assert f"({answer['error']['code']}): " in result.content[0].text
    else:
        assert json.loads(result.content[0].text) == answer
    assert result.is_error is not answer["success"]
    return answer


async def test_a_success_says_so_in_text_and_structure(client: Client) -> None:
    answer = answer_of(await client.call_tool("find", {"name": "here"}))
    assert answer["success"] is True
    assert answer["data"] == {"name": "here", "nothing": None}


async def test_a_recovered_call_names_the_strategy_and_what_it_changed(client: Client) -> None:
    answer = answer_of(await client.call_tool("find", {"name": "moved"}))
    assert answer["success"] is True
    assert answer["data"]["name"] == "here"
    receipt = answer["metadata"]["recovery"]
    assert (receipt["strategy"], receipt["attempts"], receipt["changed"]) == ("elsewhere", 2, {"name": "here"})


async def test_a_failure_is_a_result_with_its_code_in_text_structure_and_meta(client: Client) -> None:
    result = await client.call_tool("find", {"name": "gone"})
    error = answer_of(result)["error"]
    assert (error["code"], error["category"]) == ("DOC_NOT_FOUND", "not_found")
    assert (error["retry"], error["effect"]) == ({"when": "after_fix"}, "none")
    assert result.meta is not None
    told = result.meta["dev.failsoft/error"]
    assert (told["tool"], told["operation"]) == ("polite", "find")
    assert {name: told[name] for name in ("code", "category", "retry", "effect", "error_id")} == {
        "code": "DOC_NOT_FOUND",
        "category": "not_found",
        "retry": {"when": "after_fix"},
        "effect": "none",
        "error_id": error["error_id"],
    }


async def test_bad_arguments_are_a_tool_error_that_lists_every_fault(client: Client) -> None:
    error = answer_of(await client.call_tool("double", {"number": "2", "surplus": 1}))["error"]
    assert error["code"] == "INVALID_PARAM"
    assert {(item["path"], item["reason"]) for item in error["violations"]} == {
        ("number", "type"),
        ("surplus", "unexpected"),
    }


async def test_missing_arguments_are_a_tool_error_too(client: Client) -> None:
    error = answer_of(await client.call_tool("double"))["error"]
    assert [(item["path"], item["reason"]) for item in error["violations"]] == [("number", "missing")]


async def test_an_unknown_tool_is_a_protocol_error_that_names_the_closest(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool("coumt", {})
    assert caught.value.error.code == -32602
    assert "`count`" in caught.value.error.message
    assert caught.value.error.data == {"code": "UNKNOWN_TOOL", "suggestion": "count"}


async def test_an_unknown_tool_unlike_any_other_is_answered_with_those_that_there_are(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool("qqqqqqqqqqqq" * 100, {})
    assert caught.value.error.data.keys() == {"code", "tools"}
    assert all(f"`{name}`" in caught.value.error.message for name in caught.value.error.data["tools"])
    assert len(caught.value.error.message) < 500


async def test_a_sync_handler_answers_like_an_async_one(client: Client) -> None:
    assert answer_of(await client.call_tool("double", {"number": 21}))["data"] == 42


async def test_progress_increases_and_ends_with_the_call(client: Client) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    answer_of(await client.call_tool("count", {"steps": 3}, progress_callback=note))
    after = len(seen)
    answer_of(await client.call_tool("double", {"number": 1}))
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    assert len(seen) == after


async def test_a_call_without_a_progress_callback_is_the_same_call(client: Client) -> None:
    assert answer_of(await client.call_tool("count", {"steps": 3}))["data"] == 3


@pytest.mark.parametrize("client", CANCELLABLE, indirect=True)
async def test_a_caller_who_gives_up_cancels_the_handler(client: Client, request: pytest.FixtureRequest) -> None:
    key = request.node.name
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "hang", {"key": key})
        with anyio.fail_after(BOUND_S):
            assert answer_of(await client.call_tool("witness", {"event": f"{key} started"}))["data"] is True
        group.cancel_scope.cancel()
    with anyio.fail_after(BOUND_S):
        assert answer_of(await client.call_tool("witness", {"event": f"{key} cancelled"}))["data"] is True


async def test_calls_on_one_connection_do_not_wait_for_each_other(
    client: Client, request: pytest.FixtureRequest
) -> None:
    key = request.node.name
    answers: list[CallToolResult] = []

    async def wait() -> None:
        answers.append(await client.call_tool("finish_when", {"key": key}))

    with anyio.fail_after(BOUND_S):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            answer_of(await client.call_tool("witness", {"event": f"{key} started"}))
            assert not answers
            answer_of(await client.call_tool("let_go", {"key": key}))
    assert answer_of(answers[0])["data"] == "finished"


async def test_a_handler_may_return_images_and_links_beside_its_data(client: Client) -> None:
    result = await client.call_tool("picture")
    assert answer_of(result)["data"] == {"width": 1}
    image, text, link = result.content[1:]
    assert isinstance(image, ImageContent)
    assert (image.data, image.mime_type) == (PNG, "image/png")
    assert isinstance(text, TextContent)
    assert text.text == "a picture"
    assert isinstance(link, ResourceLink)
    assert str(link.uri) == "file:///more.png"


async def test_a_result_above_the_limit_becomes_an_error_that_says_how_large_it_was(client: Client) -> None:
    error = answer_of(await client.call_tool("text_of", {"length": 600_000}))["error"]
    assert error["code"] == "RESULT_TOO_LARGE"
    assert answer_of(await client.call_tool("text_of", {"length": 400_000}))["data"] == "x" * 400_000


async def test_images_count_towards_the_limit(client: Client) -> None:
    error = answer_of(await client.call_tool("large_picture"))["error"]
    assert error["code"] == "RESULT_TOO_LARGE"


async def test_meta_of_the_request_reaches_the_handler(client: Client) -> None:
    meta: Any = {"dev.failsoft/idempotency-key": "k1"}
    answer = answer_of(await client.call_tool("facts", meta=meta))
    assert answer["data"]["meta"] == {"dev.failsoft/idempotency-key": "k1"}
    assert answer["data"]["has_request_id"] is True


async def test_only_callers_on_this_machine_are_local(client: Client, request: pytest.FixtureRequest) -> None:
    over_http = request.node.callspec.params["client"].startswith("http")
    assert answer_of(await client.call_tool("facts"))["data"]["principal"] == (None if over_http else "local")


async def test_tools_are_listed_in_the_order_of_their_declaration_every_time(client: Client) -> None:
    first, second = [await client.list_tools(cache_mode="bypass") for _ in range(2)]
    assert first.tools == second.tools
    assert [tool.name for tool in first.tools][:3] == ["process_id", "find", "double"]
    assert first.next_cursor is None


async def test_every_listed_schema_is_an_object_and_every_answer_fits_the_output_schema(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert all(tool.input_schema["type"] == "object" for tool in tools.values())
    schema = tools["find"].output_schema
    assert schema is not None
    assert schema["type"] == "object"
    for name in ("here", "moved", "gone"):
        jsonschema.validate(answer_of(await client.call_tool("find", {"name": name})), schema)


async def test_a_made_up_cursor_is_refused(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.list_tools(cursor="2")
    assert caught.value.error.code == -32602

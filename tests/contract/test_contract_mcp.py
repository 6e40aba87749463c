"""Contract, section 4: what an MCP client sees, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ImageContent, ResourceLink, TextContent

from failsoft import BaseTool, CallContext, ConfigurationError, DocumentNotFound, RateLimited, mcp_server, operation
from tests.contract.surroundings import runtime

ERAS = ["auto", "legacy"]
pytestmark = pytest.mark.anyio


class Library(BaseTool):
    """Books and what they cost."""

    @operation(read_only=True, title="Get a book")
    async def get_book(self, title: str, limit: int = 3) -> dict[str, Any]:
        """Return a book."""
        if title == "gone":
            raise DocumentNotFound(path=title)
        if title == "limited":
            raise RateLimited(retry_after_seconds=60)
        return {"title": title, "limit": limit}

    @operation(destructive=True)
    def burn_book(self, title: str) -> bool:
        """Burn a book."""
        raise SystemExit(title)

    @operation(read_only=True)
    async def list_books(self, limit: int = 100) -> list[str]:
        """Return titles."""
        return ["x" * 100] * limit

    @operation(read_only=True)
    async def show(self, kind: str) -> Any:
        """Show something else than data."""
        picture = ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")
        link = ResourceLink(type="resource_link", name="a", uri="file:///a")
        return {"text": "words", "picture": picture, "link": link, "both": [{"pages": 3}, picture]}[kind]

    @operation(read_only=True)
    async def read_aloud(self, pages: int, call: CallContext) -> int:
        """Read and report."""
        for page in range(pages):
            await call.report_progress(page + 1, pages, f"page {page + 1}")
        return pages


@pytest.fixture(params=ERAS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Connect to the library in one era of the protocol."""
    server = mcp_server([Library(runtime=runtime(max_response_bytes=10_000))], name="library")
    async with Client(server, mode=request.param) as connected:
        yield connected


def answer_of(result: CallToolResult) -> dict[str, Any]:
    assert isinstance(result.content[0], TextContent)
    assert result.structured_content is not None
    structured: dict[str, Any] = result.structured_content
    if not result.is_error:
        assert json.loads(result.content[0].text) == structured
    return structured


async def test_every_operation_is_listed_with_its_schemas_and_annotations(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["get_book", "burn_book", "list_books", "show", "read_aloud"]
    book = tools["get_book"]
    assert (book.title, book.description) == ("Get a book", "Return a book.")
    assert book.input_schema["type"] == "object"
    assert book.input_schema["required"] == ["title"]
    assert book.annotations is not None
    assert book.annotations.read_only_hint is True
    assert book.output_schema is not None
    assert book.output_schema["type"] == "object"
    burn = tools["burn_book"].annotations
    assert burn is not None
    assert (burn.read_only_hint, burn.destructive_hint) == (False, True)
    assert "call" not in tools["read_aloud"].input_schema["properties"]


async def test_the_server_has_the_name_that_it_was_given(client: Client) -> None:
    assert client.server_info is not None
    assert client.server_info.name == "library"


async def test_a_success_is_complete_in_compact_text_and_in_structure(client: Client) -> None:
    result = await client.call_tool("get_book", {"title": "Dune"})
    wire = answer_of(result)
    assert result.is_error is False
    assert wire["success"] is True
    assert wire["data"] == {"title": "Dune", "limit": 3}
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == json.dumps(wire, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("get_book", {"title": "gone"}, "DOC_NOT_FOUND"),
        ("get_book", {"title": "limited"}, "RATE_LIMITED"),
        ("get_book", {"titel": "Dune"}, "INVALID_PARAM"),
        ("burn_book", {"title": "Dune"}, "UNKNOWN_ERROR"),
        ("list_books", {}, "RESULT_TOO_LARGE"),
    ],
)
async def test_a_failure_is_a_result_and_no_protocol_error(
    client: Client, name: str, arguments: dict[str, Any], code: str
) -> None:
    result = await client.call_tool(name, arguments)
    assert result.is_error is True
    error = answer_of(result)["error"]
    assert error["code"] == code
    assert result.meta is not None
    told = result.meta["dev.failsoft/error"]
    shared = ("code", "category", "retry", "effect", "error_id")
    assert {name: told[name] for name in shared} == {name: error[name] for name in shared}
    assert (told["tool"], told["operation"]) == ("library", name)
    assert told["execution_time_ms"] >= 0
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    jsonschema.validate(result.structured_content, tools[name].output_schema or False)


async def test_an_unknown_tool_is_minus_32602_with_the_closest_name_in_its_message(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool("get_bok", {})
    assert caught.value.error.code == -32602
    assert "get_book" in caught.value.error.message


async def test_a_result_above_the_limit_comes_with_a_step_that_narrows_it(client: Client) -> None:
    error = answer_of(await client.call_tool("list_books", {}))["error"]
    assert error["code"] == "RESULT_TOO_LARGE"
    step = error["next_step"]
    assert step["tool"] == "list_books"
    assert step["arguments"]["limit"] < 100
    assert answer_of(await client.call_tool(step["tool"], step["arguments"]))["success"] is True


async def test_text_images_and_links_reach_the_client(client: Client) -> None:
    assert answer_of(await client.call_tool("show", {"kind": "text"}))["data"] == "words"
    for kind, type_name in [("picture", "image"), ("link", "resource_link")]:
        result = await client.call_tool("show", {"kind": kind})
        assert [block.type for block in result.content] == ["text", type_name]
    both = await client.call_tool("show", {"kind": "both"})
    assert answer_of(both)["data"] == {"pages": 3}
    assert [block.type for block in both.content] == ["text", "image"]


async def test_progress_reaches_the_client(client: Client) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    await client.call_tool("read_aloud", {"pages": 2}, progress_callback=note)
    assert seen == [(1, 2, "page 1"), (2, 2, "page 2")]


@pytest.mark.parametrize("wire_format", ["tool_response", "error_response", "problem"])
async def test_every_wire_format_keeps_the_same_promises(wire_format: str) -> None:
    server = mcp_server(Library(runtime=runtime(wire_format=wire_format)))
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for title in ("Dune", "gone"):
            result = await client.call_tool("get_book", {"title": title})
            assert result.is_error is (title == "gone")
            assert isinstance(result.content[0], TextContent)
            if title == "Dune" or wire_format == "error_response":
                assert json.loads(result.content[0].text) == result.structured_content
            jsonschema.validate(result.structured_content, tools["get_book"].output_schema or False)
            assert (result.meta is not None and "dev.failsoft/error" in result.meta) is (title == "gone")


async def test_one_bad_call_does_not_take_the_server_down(client: Client) -> None:
    for _ in range(3):
        assert (await client.call_tool("burn_book", {"title": "Dune"})).is_error
    assert (await client.call_tool("get_book", {"title": "Dune"})).is_error is False


async def test_a_client_that_gives_up_cancels_the_call() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    class Sleeper(BaseTool):
        """Sleeps."""

        @operation(read_only=True)
        async def sleep(self) -> int:
            """Sleep."""
            started.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()
            return 1

    async with Client(mcp_server(Sleeper())) as client:
        call = asyncio.ensure_future(client.call_tool("sleep", {}))
        await started.wait()
        call.cancel()
        await asyncio.wait_for(ended.wait(), 30)


def test_two_tools_of_one_name_are_a_start_up_error_that_says_how_to_prefix() -> None:
    class Other(BaseTool):
        """Other books."""

        @operation(read_only=True)
        async def get_book(self) -> int:
            """Get."""
            return 1

    with pytest.raises(ConfigurationError) as caught:
        mcp_server([Library(), Other()])
    assert "get_book" in str(caught.value)
    assert "prefix" in str(caught.value)
    assert "other_get_book" in caught.value.resolution

"""What a bare server says of a failure, it also says with the adapter on; and what is a failure is one to callers."""

from __future__ import annotations

import json
import logging
import sqlite3
from typing import Any

import pytest
from loguru import logger
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import CallToolResult, ElicitRequestURLParams, TextContent, ToolAnnotations
from pydantic import BaseModel

from failsoft.adapters.mcpserver import FailSoft
from failsoft.testing import fresh_runtime
from tests.adapters.test_adapters import FastMCPServer, SdkServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

FACTS = [f"fact-{number:03}" for number in range(190)]
STOCK = {"message": "out of stock", "available": 3, "warehouse": "north", "restocked": "2031-05-04"}

RESULTS: dict[str, dict[str, Any]] = {
    "unsuccessful": {"success": False, "error": "only 3 left"},
    "text": {"error": "only 3 left"},
    "object": {"error": {"message": "only 3 left"}},
    "true": {"error": True},
    "number": {"error": 0.02, "steps": 7},
    "nothing": {"error": None, "steps": 7},
}


def add_tools(tool: Any, tool_error: type[Exception]) -> None:
    @tool()
    def out_of_stock() -> str:
        """Fail with a text that says why."""
        raise ValueError("only 3 of tea left")

    @tool()
    def explains() -> str:
        """Fail on purpose with many facts."""
        raise tool_error(" ".join(FACTS))

    @tool()
    def explains_as_json() -> str:
        """Fail on purpose with facts as JSON."""
        raise tool_error(json.dumps(STOCK))

    @tool()
    def says_json() -> CallToolResult:
        """Return facts as JSON, and that it failed."""
        return CallToolResult(content=[TextContent(type="text", text=json.dumps(STOCK))], is_error=True)


async def test_the_reason_of_a_known_exception_is_told_once():
    library = FastMCPServer()
    server = library.make({"runtime": fresh_runtime()})

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def query(statement: str) -> str:
        """Run a statement."""
        return str(sqlite3.connect(":memory:").execute(statement))

    async with library.connected(server) as (call, _):
        error = (await call("query", {"statement": "selec 1"})).structured_content["error"]
    assert error["message"].count("syntax error") == 1


def add_more_tools(tool: Any, tool_error: type[Exception]) -> None:
    @tool()
    def asks_another() -> str:
        """Fail as another server did."""
        raise MCPError(-32050, "closed until nine")

    @tool()
    def asks_badly() -> str:
        """Fail as a server does that was given bad arguments."""
        raise MCPError(-32602, "no such colour")

    @tool()
    def needs_sampling() -> str:
        """Fail as another server does for want of a capability."""
        raise MCPError(-32021, "sampling is missing", {"requiredCapabilities": {"sampling": {}}})

    @tool()
    def refuses() -> str:
        """Fail on purpose in a way that may have changed something."""
        raise tool_error("No room for the parcel")

    @tool()
    def caused_by_itself() -> str:
        """Fail with an error that is its own cause."""
        error = tool_error("No room")
        raise error from error

    @tool()
    def returns(name: str) -> dict[str, Any]:
        """Return one of the results."""
        return RESULTS[name]

    @tool()
    def missing() -> str:
        """Fail as Node's file functions do."""
        raise tool_error("ENOENT: no such file or directory, open 'a.txt'")


@pytest.fixture(scope="module")
def fastmcp() -> FastMCPServer:
    return FastMCPServer()


@pytest.fixture(params=["mcpserver", "fastmcp"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("fastmcp") if request.param == "fastmcp" else SdkServer("auto")


def server_of(library: Any, *, adapted: bool = True) -> Any:
    server = library.make({"runtime": fresh_runtime()} if adapted else None)
    add_tools(server.tool, library.tool_error)
    add_more_tools(server.tool, library.tool_error)
    return server


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def answer(library: Any, name: str, *, adapted: bool = True) -> Any:
    """Return the result of a tool, or the error of the protocol in its place."""
    async with library.connected(server_of(library, adapted=adapted)) as (call, _):
        try:
            return await call(name, {})
        except MCPError as error:
            return error


async def test_the_text_of_an_exception_that_the_server_shows_is_shown_with_the_adapter_on(fastmcp):
    assert "only 3 of tea left" in text_of(await answer(fastmcp, "out_of_stock", adapted=False))
    adapted = await answer(fastmcp, "out_of_stock")
    assert adapted.is_error
    assert "only 3 of tea left" in text_of(adapted)


async def test_an_error_that_is_its_own_cause_is_a_failure(library):
    adapted = await answer(library, "caused_by_itself")
    assert (adapted.is_error, adapted.structured_content["error"]["code"]) == (True, "REPORTED_FAILURE")


async def test_a_long_explanation_is_kept_up_to_two_thousand_characters(library):
    bare, adapted = text_of(await answer(library, "explains", adapted=False)), await answer(library, "explains")
    assert adapted.is_error
    shown = text_of(adapted)
    if not all(fact in bare for fact in FACTS):
        raise RuntimeError
    assert sum(fact not in shown for fact in FACTS) == 0


async def test_an_exception_with_a_text_in_json_keeps_its_fields(library):
    adapted = await answer(library, "explains_as_json")
    assert adapted.is_error
    assert [fact for fact in map(str, STOCK.values()) if fact not in text_of(adapted)] == []


async def test_a_failed_result_with_a_text_in_json_keeps_its_fields(library):
    adapted = await answer(library, "says_json")
    assert adapted.is_error
    assert [fact for fact in map(str, STOCK.values()) if fact not in text_of(adapted)] == []


async def test_the_text_of_another_servers_error_is_quoted(library):
    adapted = await answer(library, "asks_another")
    assert adapted.is_error
    assert adapted.structured_content["error"]["code"] == "UPSTREAM_ERROR"
    assert "closed until nine" in text_of(adapted)


async def test_a_protocol_error_that_a_tool_raises_is_a_typed_result(library):
    adapted = await answer(library, "asks_badly")
    assert not isinstance(adapted, MCPError)
    assert (adapted.is_error, adapted.structured_content["error"]["code"]) == (True, "UPSTREAM_ERROR")


async def test_a_text_that_everybody_knows_has_its_category(library):
    assert (await answer(library, "missing")).structured_content["error"]["category"] == "not_found"


async def test_the_traceback_that_the_bare_server_logs_is_logged_with_the_adapter_on(caplog, capfd):
    lines: list[str] = []
    sink = logger.add(lines.append, level="DEBUG")
    found = {}
    try:
        for is_adapted in (False, True):
            caplog.clear()
            lines.clear()
            server: Any = MCPServer("shop")
            if is_adapted:
                FailSoft(server, runtime=fresh_runtime())
            add_tools(server.tool, SdkToolError)
            with caplog.at_level(logging.DEBUG):
                async with Client(server) as client:
                    assert (await client.call_tool("out_of_stock", {})).is_error
            out, err = capfd.readouterr()
            found[is_adapted] = "only 3 of tea left" in caplog.text + "".join(lines) + out + err
    finally:
        logger.remove(sink)
    assert found == {False: True, True: True}


@pytest.mark.parametrize("name", ["unsuccessful", "text", "object", "true"])
async def test_a_result_that_says_it_failed_is_a_failure(library, name):
    async with library.connected(server_of(library)) as (call, _):
        result = await call("returns", {"name": name})
    assert result.is_error
    assert result.structured_content["error"]["code"] == "REPORTED_FAILURE"


@pytest.mark.parametrize("name", ["number", "nothing"])
async def test_a_result_with_an_error_that_is_data_is_a_success(library, name):
    async with library.connected(server_of(library)) as (call, _):
        result = await call("returns", {"name": name})
    assert not result.is_error
    assert result.structured_content == RESULTS[name]


async def test_a_failure_that_may_have_changed_something_is_never_to_be_repeated(library):
    error = (await answer(library, "refuses")).structured_content["error"]
    assert error["effect"] == "unknown"
    assert error["retry"] == {"when": "never"}


async def test_another_servers_want_of_a_capability_is_a_failure_of_the_tool(library):
    adapted = await answer(library, "needs_sampling")
    assert not isinstance(adapted, MCPError)
    assert adapted.is_error


async def test_something_that_a_tool_of_fastmcp_does_not_find_is_no_unknown_tool(fastmcp):
    server = fastmcp.make({"runtime": fresh_runtime()})

    @server.tool()
    def order(number: int) -> str:
        """Return an order."""
        raise fastmcp.not_found(f"no order {number}")

    async with fastmcp.client(server) as client:
        try:
            answered: Any = await client.call_tool_mcp("order", {"number": 7})
        except MCPError as error:
            answered = error
    assert not isinstance(answered, MCPError)
    assert (answered.is_error, "no order 7" in text_of(answered)) == (True, True)


async def test_a_text_that_the_author_wrote_is_kept_whatever_it_was_raised_from(library):
    server = library.make({"runtime": fresh_runtime()})
    causes = [MCPError(-32050, "closed until nine"), ValueError("left: 3"), library.tool_error("inner")]

    @server.tool()
    def order(number: int) -> str:
        """Fail on purpose because of something else."""
        raise library.tool_error("no tea before nine") from causes[number]

    async with library.connected(server) as (call, _):
        for number in range(len(causes)):
            assert "no tea before nine" in text_of(await call("order", {"number": number}))


async def test_an_exception_that_the_server_masks_is_masked_with_the_adapter_on(fastmcp):
    server = fastmcp.server("shop", mask_error_details=True, middleware=[fastmcp.middleware(runtime=fresh_runtime())])
    add_tools(server.tool, fastmcp.tool_error)
    add_more_tools(server.tool, fastmcp.tool_error)
    async with fastmcp.client(server) as client:
        asked = await client.call_tool_mcp("asks_another", {})
        crashed = await client.call_tool_mcp("out_of_stock", {})
        explained = await client.call_tool_mcp("explains", {})
    assert "tea" not in crashed.model_dump_json()
    assert "closed until nine" not in asked.model_dump_json()
    assert crashed.structured_content["error"]["code"] == "UNKNOWN_ERROR"
    assert FACTS[0] in text_of(explained)


async def test_the_text_of_an_exception_has_its_category_where_the_server_shows_it(fastmcp):
    texts = {"customer 4711 not found": "not_found", "Too many requests": "rate_limited", "only 3 left": "internal"}
    told = {}
    for masked in (False, True):
        adapter = fastmcp.middleware(runtime=fresh_runtime())
        server = fastmcp.server("shop", mask_error_details=masked, middleware=[adapter])

        @server.tool()
        def find(text: str) -> str:
            """Fail with a text."""
            raise RuntimeError(text)

        async with fastmcp.client(server) as client:
            for text in texts:
                error = (await client.call_tool_mcp("find", {"text": text})).structured_content["error"]
                told[masked, text] = (error["category"], text in error["message"])
    assert told == {
        **{(False, text): (category, True) for text, category in texts.items()},
        **{(True, text): ("internal", False) for text in texts},
    }


async def test_secrets_and_host_paths_in_the_text_of_an_exception_are_left_out(fastmcp):
    server = fastmcp.make({"runtime": fresh_runtime()})

    @server.tool()
    def order() -> str:
        """Fail with too much in the text."""
        raise RuntimeError("tea is out; password=hunter2 /srv/shop/stock.json ghp_abcdefghijklmnopqrstuvwxyz0123456789")

    async with fastmcp.client(server) as client:
        sent = (await client.call_tool_mcp("order", {})).model_dump_json()
    assert "tea is out" in sent
    assert [part for part in ("hunter2", "/srv/shop", "ghp_a") if part in sent] == []


async def test_what_the_protocol_acts_on_stays_an_error_of_the_protocol_and_is_raised_once(library):
    server = library.make({"runtime": fresh_runtime()})
    runs: list[int] = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def pay() -> str:
        """Ask for a visit to a page."""
        runs.append(1)
        page = ElicitRequestURLParams(message="Pay", url="https://example.com/pay", elicitation_id="7")
        raise UrlElicitationRequiredError([page])

    async with library.connected(server) as (call, _):
        with pytest.raises(MCPError) as raised:
            await call("pay", {})
    assert (raised.value.error.code, len(runs)) == (-32042, 1)


async def test_data_of_a_tool_that_breaks_its_own_model_are_no_fault_of_the_arguments():
    class Row(BaseModel):
        shelf: int

    server = MCPServer("shop")

    @server.tool()
    def look(number: int) -> int:
        """Read a row of the tool's own."""
        return Row.model_validate({"shelf": str(number) * 2 + "x"}).shelf

    FailSoft(server, runtime=fresh_runtime())
    answer = await server.call_tool("look", {"number": 1})
    error = answer.structured_content["error"]
    assert (error["code"], "shelf" in answer.model_dump_json()) == ("UNKNOWN_ERROR", False)

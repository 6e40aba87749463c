"""Servers of both libraries with the adapter on: every failure typed, every success as it was."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp.client import Client
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp.shared.exceptions import MCPError
from prometheus_client import generate_latest

from failsoft import Runtime, Settings
from failsoft.adapters.mcpserver import FailSoft
from failsoft.metrics import PrometheusRecorder
from tests.adapters.servers import Shop, add_tools

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

SUCCESSES = [
    ("add", {"a": 2}),
    ("get_order", {"order_id": 7, "verbose": True}),
    ("describe", {}),
    ("picture", {}),
    ("own_result", {}),
]
FAILURES = {
    "refuses": ("REPORTED_FAILURE", "upstream_error"),
    "refuses_because": ("RATE_LIMITED", "rate_limited"),
    "crashes": ("UNKNOWN_ERROR", "internal"),
    "file_missing": ("NOT_FOUND", "not_found"),
    "typed": ("NOT_FOUND", "not_found"),
    "says_error": ("REPORTED_FAILURE", "upstream_error"),
    "hangs": ("DEADLINE_EXCEEDED", "deadline_exceeded"),
    "blocks": ("DEADLINE_EXCEEDED", "deadline_exceeded"),
    "exits": ("UNKNOWN_ERROR", "internal"),
    "exits_async": ("UNKNOWN_ERROR", "internal"),
    "stray_cancel": ("UNKNOWN_ERROR", "internal"),
    "group": ("MULTIPLE_ERRORS", "internal"),
    "generator_exit": ("UNKNOWN_ERROR", "internal"),
}
SLOW = {"hangs", "blocks"}


@dataclass(frozen=True)
class Connected:
    """A client of the shop, and what is behind it."""

    call: Callable[[str, dict[str, Any]], Awaitable[Any]]
    tools: Callable[[], Awaitable[list[Any]]]
    shop: Shop
    runtime: Runtime


class SdkServer:
    """The shop as an `MCPServer`, for a client of the SDK."""

    tool_error = SdkToolError
    context = Context

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def make(self, options: dict[str, Any] | None) -> Any:
        server: Any = MCPServer("shop")
        if options is not None:
            FailSoft(server, **options)
        return server

    @asynccontextmanager
    async def connected(self, server: Any) -> AsyncIterator[tuple[Any, Any]]:
        async with Client(server, mode=self.mode) as client:

            async def tools() -> list[Any]:
                return list((await client.list_tools()).tools)

            yield client.call_tool, tools


class FastMCPServer:
    """The shop as a FastMCP server, for FastMCP's client. That library takes seconds to load, so only this loads it."""

    def __init__(self) -> None:
        from fastmcp import Client as FastMCPClient, Context as FastMCPContext, FastMCP, exceptions  # noqa: PLC0415 - see above
        from fastmcp.server.middleware import Middleware  # noqa: PLC0415 - see above

        from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - imports it

        self.client, self.server, self.middleware, self.base = FastMCPClient, FastMCP, FailSoftMiddleware, Middleware
        self.context, self.tool_error, self.not_found = FastMCPContext, exceptions.ToolError, exceptions.NotFoundError

    def make(self, options: dict[str, Any] | None) -> Any:
        return self.server("shop", middleware=[] if options is None else [self.middleware(**options)])

    @asynccontextmanager
    async def connected(self, server: Any) -> AsyncIterator[tuple[Any, Any]]:
        async with self.client(server) as client:
            yield client.call_tool_mcp, client.list_tools


@pytest.fixture(scope="module")
def fastmcp() -> FastMCPServer:
    return FastMCPServer()


@pytest.fixture(params=["mcpserver", "mcpserver, 2025-11-25", "fastmcp"])
def library(request: pytest.FixtureRequest) -> Any:
    if request.param == "fastmcp":
        return request.getfixturevalue("fastmcp")
    return SdkServer("auto" if request.param == "mcpserver" else "legacy")


@asynccontextmanager
async def connected(library: Any, *, adapted: bool = True, **options: Any) -> AsyncIterator[Connected]:
    runtime = Runtime(settings=Settings(), metrics=PrometheusRecorder())
    server = library.make({"timeout_s": 30.0, "runtime": runtime, **options} if adapted else None)
    shop = Shop(library.tool_error)
    add_tools(server, shop)
    async with library.connected(server) as (call, tools):
        yield Connected(call, tools, shop, runtime)


def failure(result: Any) -> dict[str, Any]:
    assert result.is_error
    error: dict[str, Any] = result.structured_content["error"]
    assert result.meta["dev.failsoft/error"]["code"] == error["code"]
    return error


async def test_a_success_is_what_the_bare_server_sends(library):
    async with connected(library, adapted=False) as bare, connected(library) as adapted:
        for name, arguments in SUCCESSES:
            expected, result = [await client.call(name, arguments) for client in (bare, adapted)]
            assert result.model_dump(by_alias=True) == expected.model_dump(by_alias=True), name


@pytest.mark.parametrize("speed", ["quick", "slow"])
async def test_every_failure_is_typed_and_the_server_goes_on(library, speed):
    is_slow = speed == "slow"
    found = {}
    async with connected(library, timeout_s=0.3 if is_slow else 30.0) as client:
        for name in SLOW if is_slow else FAILURES.keys() - SLOW:
            error = failure(await client.call(name, {}))
            found[name] = (error["code"], error["category"])
            assert is_slow or (await client.call("add", {"a": 1})).structured_content, name
    assert found == {name: FAILURES[name] for name in found}
    assert found


async def test_a_tool_error_keeps_its_text_and_a_crash_keeps_its_own_to_itself(library):
    async with connected(library) as client:
        assert "No room for /srv/parcels" in failure(await client.call("refuses", {}))["message"]
        assert "The price service is busy" in failure(await client.call("refuses_because", {}))["message"]
        assert "out of stock" in failure(await client.call("says_error", {}))["message"]
        assert "hunter2" not in (await client.call("crashes", {})).model_dump_json()


async def test_a_tool_that_is_listed_but_cannot_be_called_is_not_its_own_closest_name(fastmcp):
    class Unrouted(fastmcp.base):
        async def on_call_tool(self, context, call_next):
            raise fastmcp.not_found

    server = fastmcp.make({"runtime": Runtime()})
    server.add_middleware(Unrouted())

    @server.tool()
    def lent() -> str:
        """Be lent to somebody else."""
        return ""

    async with fastmcp.client(server) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool_mcp("lent", {})
    assert raised.value.error.data == {"code": "UNKNOWN_TOOL"}


async def test_all_faults_of_the_arguments_are_violations_before_the_tool_runs(library):
    async with connected(library) as client:
        error = failure(await client.call("get_order", {"order_id": "7", "verbos": True}))
    assert error["code"] == "INVALID_PARAM"
    assert {(item["path"], item["reason"]) for item in error["violations"]} == {
        ("order_id", "type"),
        ("verbos", "unexpected"),
    }
    assert next(item for item in error["violations"] if item["path"] == "verbos")["suggestion"] == "verbose"


async def test_unknown_arguments_may_be_left_to_the_library(library):
    async with connected(library, adapted=False) as client:
        bare = await client.call("add", {"a": 1, "c": 2})
    async with connected(library, refuse_unknown=False) as client:
        assert (await client.call("add", {"a": 1, "c": 2})).is_error == bare.is_error


async def test_what_the_annotations_allow_is_retried_and_nothing_else(library):
    async with connected(library) as client:
        recovered = await client.call("flaky", {})
        assert recovered.structured_content == {"result": "worked"}
        assert recovered.meta["dev.failsoft/metadata"]["recovery"]["strategy"] == "retry"
        assert (await client.call("flaky_upsert", {})).structured_content == {"result": "stored"}
        error = failure(await client.call("flaky_write", {}))
        assert client.shop.runs == {"flaky": 3, "flaky_upsert": 2, "flaky_write": 1}
    assert (error["retry"], error["effect"]) == ({"when": "never"}, "unknown")


async def test_metadata_of_a_tool_in_the_name_of_this_framework_is_not_passed_on(library):
    async with connected(library) as client:
        result = await client.call("forged_result", {})
    assert (result.content[0].text, result.meta["com.example/x"]) == ("theirs", 1)
    assert "dev.failsoft/metadata" not in result.meta


async def test_every_answer_fits_the_listed_output_schema(library):
    async with connected(library) as client:
        schemas = {tool.name: tool.output_schema for tool in await client.tools() if tool.output_schema is not None}
        assert schemas
        for name, schema in schemas.items():
            failed = await client.call(name, {"surplus": 1})
            assert Draft202012Validator(schema).is_valid(failed.structured_content), name
        for name, arguments in SUCCESSES:
            result = await client.call(name, arguments)
            if name in schemas:
                assert Draft202012Validator(schemas[name]).is_valid(result.structured_content), name


async def test_an_unknown_tool_is_the_protocols_error_with_the_closest_name(library):
    async with connected(library) as client:
        with pytest.raises(MCPError) as raised:
            await client.call("get_ordr", {})
    assert raised.value.error.code == -32602
    assert "get_order" in raised.value.error.message


async def test_of_an_unknown_tool_those_that_take_its_arguments_are_listed_first(library):
    async with connected(library) as client:
        with pytest.raises(MCPError) as raised:
            await client.call("look_something_up", {"order_id": 7})
    assert raised.value.error.data["tools"][0] == "get_order"


async def test_an_unknown_tool_is_not_taken_for_one_that_means_something_else(library):
    async with connected(library) as client:
        for name in ("set_order", "get_orders_2", "reblocks"):
            with pytest.raises(MCPError) as raised:
                await client.call(name, {})
            assert raised.value.error.code == -32602
            assert "suggestion" not in raised.value.error.data


async def test_an_unknown_read_is_never_taken_for_a_tool_that_may_change_something(library):
    server = library.make({"runtime": Runtime()})

    @server.tool()
    def delete_invoice(number: int) -> int:
        """Delete an invoice."""
        return number

    async with library.connected(server) as (call, _):
        for name, is_named in (("get_invoice", False), ("create_invoice", False), ("delete_invoices", True)):
            with pytest.raises(MCPError) as raised:
                await call(name, {})
            assert ("`delete_invoice`" in raised.value.error.message) is is_named, name


async def test_a_result_that_json_cannot_say_is_repaired(library):
    """FastMCP refuses it itself from 4.2 on, which is a typed failure."""
    async with connected(library) as client:
        if isinstance(library, FastMCPServer) and version("fastmcp") >= "4.2":
            refused = [failure(await client.call(name, {}))["code"] for name in ("surrogate", "not_a_number")]
            assert refused == ["BAD_OUTPUT", "REPORTED_FAILURE"]
            return
        assert "\ufffd" in (await client.call("surrogate", {})).content[0].text
        assert (await client.call("not_a_number", {})).structured_content == {"ratio": None}


async def test_calls_are_counted_under_the_servers_name(library):
    async with connected(library) as client:
        await client.call("add", {"a": 1})
        await client.call("crashes", {})
        text = generate_latest(client.runtime.metrics.registry).decode()  # type: ignore[attr-defined]
    assert 'mcp_tool_calls_total{operation="add",outcome="ok",tool="shop"} 1.0' in text
    assert 'code="UNKNOWN_ERROR",operation="crashes",tool="shop"} 1.0' in text


async def test_a_tool_added_or_replaced_later_is_seen(library):
    server = library.make({"runtime": Runtime()})

    @server.tool()
    def late(size: int) -> int:
        """Return the size."""
        return size

    async with library.connected(server) as (call, _):
        assert (await call("late", {"size": 3})).structured_content == {"result": 3}
    getattr(server, "local_provider", server).remove_tool("late")

    @server.tool(name="late")
    def other(name: str) -> str:
        """Return the name."""
        return name

    async with library.connected(server) as (call, _):
        assert (await call("late", {"name": "x"})).structured_content == {"result": "x"}


async def test_the_client_of_fastmcp_still_unpacks_a_success(fastmcp):
    server = fastmcp.make({"runtime": Runtime()})
    add_tools(server, Shop(fastmcp.tool_error))
    async with fastmcp.client(server) as client:
        assert (await client.call_tool("add", {"a": 2})).data == 3
        assert (await client.call_tool("get_order", {"order_id": 7})).data.id == 7


async def test_a_subclass_of_the_middleware_has_the_hooks_of_fastmcp(fastmcp):
    seen: list[str] = []

    class Noting(fastmcp.middleware):
        async def on_message(self, context, call_next):
            seen.append(context.method)
            return await call_next(context)

    server = fastmcp.server("shop", middleware=[Noting()])
    add_tools(server, Shop(fastmcp.tool_error))
    async with fastmcp.client(server) as client:
        assert failure(await client.call_tool_mcp("crashes", {}))["code"] == "UNKNOWN_ERROR"
    assert "tools/call" in seen


async def test_detaching_gives_the_server_back_as_it_was():
    server: Any = MCPServer("shop")
    add_tools(server, Shop(SdkToolError))
    FailSoft(server).detach()
    async with Client(server) as client:
        result = await client.call_tool("crashes", {})
    assert result.content[0].text == "Error executing tool crashes"


@pytest.mark.parametrize(("name", "arguments"), [("typed", {}), ("get_order", {"order_id": 0})])
async def test_the_third_identical_failure_says_so(library: Any, name: str, arguments: dict[str, Any]) -> None:
    async with connected(library) as shop:
        results = [await shop.call(name, arguments) for _ in range(3)]
        said = ["failed three times in the same way" in result.content[0].text for result in results]
    assert said == [False, False, True]


@pytest.mark.parametrize("absent", ["fastmcp.exceptions", "fastmcp.tools.base"], ids=["none", "another version"])
def test_an_import_without_fastmcp_4_names_the_extra(monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, "failsoft.adapters.fastmcp", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'failsoft\[fastmcp\]'.*failsoft proxy"):
        importlib.import_module("failsoft.adapters.fastmcp")

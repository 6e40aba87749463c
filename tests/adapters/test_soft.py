"""`@failsoft.soft` below the decorator of a server's tool: that tool answers as behind the adapter, others do not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Annotated, Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from mcp.client import Client
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp_types import ToolAnnotations

import failsoft
from failsoft import Retry
from failsoft.adapters.mcpserver import FailSoft
from failsoft.events import AttemptEvent
from failsoft.testing import CapturedEvents
from tests.adapters.servers import Shop, add_tools
from tests.adapters.test_adapters import FAILURES, SLOW, SUCCESSES
from tests.doors import default_runtime

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]


class OfTheSdk:
    tool_error: type[Exception] = SdkToolError
    context: Any = Context

    def make(self, *, adapted: bool = False) -> Any:
        server: Any = MCPServer("shop")
        if adapted:
            FailSoft(server)
        return server

    @asynccontextmanager
    async def connected(self, server: Any) -> AsyncIterator[Any]:
        async with Client(server, cache=None) as client:
            yield client


class OfFastMCP(OfTheSdk):
    def __init__(self) -> None:
        import fastmcp  # noqa: PLC0415 - it takes seconds

        from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - imports it

        self.library, self.middleware = fastmcp, FailSoftMiddleware
        self.context, self.tool_error = fastmcp.Context, fastmcp.exceptions.ToolError

    def make(self, *, adapted: bool = False) -> Any:
        return self.library.FastMCP("shop", middleware=[self.middleware()] if adapted else [])

    @asynccontextmanager
    async def connected(self, server: Any) -> AsyncIterator[Any]:
        async with Client(server._mcp_server, cache=None) as client:
            yield client


@pytest.fixture(scope="module")
def of_fastmcp() -> OfFastMCP:
    return OfFastMCP()


@pytest.fixture(params=["mcpserver", "fastmcp"])
def library(request: pytest.FixtureRequest) -> OfTheSdk:
    return request.getfixturevalue("of_fastmcp") if request.param == "fastmcp" else OfTheSdk()


def softened(server: Any, **options: Any) -> Any:
    """Return a server whose `tool` makes every tool a soft one."""

    def tool(**own: Any) -> Any:
        return lambda function: server.tool(**own)(failsoft.soft(**options)(function))

    return SimpleNamespace(tool=tool)


def failure(result: Any) -> Any:
    assert result.is_error
    error = result.structured_content["error"]
    assert result.meta["dev.failsoft/error"]["code"] == error["code"]
    assert error["code"] in result.content[0].text
    return error


def told(result: Any) -> dict[str, Any]:
    """Return a result as JSON, without what each request has of its own."""
    return {key: value for key, value in result.model_dump(mode="json", by_alias=True).items() if key != "_meta"}


async def test_a_success_is_what_the_bare_server_sends_and_fits_the_listed_schema(library):
    answers = []
    for is_soft in (False, True):
        server = library.make()
        add_tools(softened(server) if is_soft else server, Shop(library.tool_error))
        async with library.connected(server) as client:
            answers.append([told(await client.call_tool(name, arguments)) for name, arguments in SUCCESSES])
            listed = (await client.list_tools()).tools
    assert answers[0] == answers[1]
    schemas = {tool.name: Draft202012Validator(tool.output_schema) for tool in listed if tool.output_schema}
    structured = [(name, answer["structuredContent"]) for (name, _), answer in zip(SUCCESSES, answers[1], strict=True)]
    assert [name for name, content in structured if name in schemas and not schemas[name].is_valid(content)] == []


@pytest.mark.parametrize("speed", ["quick", "slow"])
async def test_every_failure_is_typed_and_fits_the_listed_schema(library, speed):
    names = SLOW if speed == "slow" else FAILURES.keys() - SLOW
    server, found = library.make(), {}
    add_tools(softened(server, timeout=0.3 if speed == "slow" else 30.0), Shop(library.tool_error))
    async with library.connected(server) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for name in names:
            result = await client.call_tool(name, {})
            found[name] = (failure(result)["code"], failure(result)["category"])
            if schemas[name]:
                Draft202012Validator(schemas[name]).validate(result.structured_content)
    assert found == {name: FAILURES[name] for name in names}


def add_mixed(library: Any, server: Any) -> dict[str, int]:
    """Register soft tools and one that is none; return how often each ran."""
    runs: dict[str, int] = {}

    def ran(name: str) -> int:
        runs[name] = runs.get(name, 0) + 1
        return runs[name]

    @server.tool()
    @failsoft.soft(read_only=True, recovery=[Retry(2, 0)])
    def flaky(times: int = 1) -> int:
        """Fail so many times."""
        if ran("flaky") <= times:
            raise httpx.ConnectError("refused")
        return times

    async def order(item: str, context: Any, times: int = 1) -> str:
        """Order."""
        await context.report_progress(1, 2)
        if item == "tea":
            raise httpx.ReadTimeout("slow")
        return f"{item} {times}"

    order.__annotations__["context"] = library.context
    server.tool()(failsoft.soft(verify_with="flaky")(order))

    @server.tool(annotations=ToolAnnotations(idempotent_hint=False))
    @failsoft.soft(idempotent=True, atomic=True)
    def take(item: str) -> str:
        """Take."""
        raise failsoft.NotFound(f"No {item}.")

    @server.tool()
    def bare(item: str) -> int:
        """Divide."""
        return 1 // len(item)

    assert flaky(-1) == -1  # still a plain function
    runs.clear()
    return runs


@pytest.mark.parametrize("adapted", [False, True], ids=["alone", "with the adapter"])
async def test_options_hold_and_a_call_is_handled_once(library, adapted):
    server = library.make(adapted=adapted)
    runs = add_mixed(library, server)
    async with library.connected(server) as client:
        with CapturedEvents(default_runtime()) as events:
            recovered = await client.call_tool("flaky", {})
            assert (recovered.is_error, runs["flaky"]) == (False, 2)
            assert recovered.meta["dev.failsoft/metadata"]["recovery"]["attempts"] == 2
            assert len(events.of(AttemptEvent)) == 2
        wrong = failure(await client.call_tool("flaky", {"tmies": "x"}))
        assert (wrong["code"], wrong["violations"][0]["suggestion"]) == ("INVALID_PARAM", "times")
        assert failure(await client.call_tool("order", {}))["violations"][0]["reason"] == "missing"
        assert (await client.call_tool("order", {"item": "oats"})).structured_content == {"result": "oats 1"}
        unknown = failure(await client.call_tool("order", {"item": "tea"}))
        assert (unknown["effect"], unknown["next_step"]["tool"]) == ("unknown", "flaky")
        assert failure(await client.call_tool("take", {"item": "oats"}))["effect"] == "none"
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert hints["flaky"].read_only_hint is True
        assert hints["take"].idempotent_hint is False


async def test_other_tools_of_the_server_stay_as_they_are(library):
    server = library.make()
    add_mixed(library, server)
    async with library.connected(server) as client:
        result = await client.call_tool("bare", {"item": ""})
        (listed,) = [tool for tool in (await client.list_tools()).tools if tool.name == "bare"]
    assert result.is_error
    assert result.structured_content is None
    assert "anyOf" not in listed.output_schema


async def test_outside_of_a_server_a_tool_runs_as_its_library_runs_it(of_fastmcp):
    def halve(number: int) -> float:
        """Halve."""
        return 1 / number

    server = of_fastmcp.make()
    server.tool()(failsoft.soft(read_only=True)(halve))
    tool = await server.get_tool("halve")
    assert (await tool.run({"number": 2})).structured_content == {"result": 0.5}
    with pytest.raises(ZeroDivisionError):
        await tool.run({"number": 0})


def add(a: int) -> int:
    """Add."""
    return a


def with_context(a: int, call: failsoft.CallContext) -> int:
    """Warn."""
    call.warn("odd")
    return a


def with_alias(a: Annotated[int, failsoft.Alias("b")]) -> int:
    """Take another name."""
    return a


REFUSED = {
    "name": (add, {"name": "other"}),
    "title": (add, {"title": "Other"}),
    "effects=True": (add, {"effects": True}),
    "a job needs get_job": (add, {"job": True}),
    "input_schema": (add, {"input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}),
    "'call' needs a CallContext": (with_context, {}),
    "Alias, Fault and Reference": (with_alias, {}),
}


@pytest.mark.parametrize("words", REFUSED)
async def test_what_a_server_cannot_keep_is_refused(library, words):
    function, options = REFUSED[words]
    with pytest.raises(TypeError, match=words):
        library.make().tool()(failsoft.soft(**options)(function))


async def test_a_strategy_that_is_not_usable_is_refused_with_the_line_of_its_function(library):
    with pytest.raises(TypeError, match="make one, Retry") as caught:
        library.make().tool()(failsoft.soft(recovery=[Retry])(add))  # type: ignore[list-item]  # the mistake
    assert f"{__file__}:" in "".join(caught.value.__notes__)


async def test_a_verifier_that_is_no_tool_is_reported_once(library, failsoft_reports):
    server = library.make()
    server.tool()(failsoft.soft(verify_with="adds")(divide))
    server.tool()(failsoft.soft(read_only=True)(add))
    async with library.connected(server) as client:
        for _ in range(2):
            assert failure(await client.call_tool("divide", {"a": 0}))["effect"] == "unknown"
    (report,) = [one for one in failsoft_reports if one.kind == "mistake"]
    assert (report.operation, "did you mean 'add'?" in report.message) == ("divide", True)


def divide(a: int) -> int:
    """Divide."""
    return 1 // a


def test_above_the_decorator_of_a_server_it_is_refused():
    server = MCPServer("shop")
    with pytest.raises(TypeError, match="put it below") as caught:

        @failsoft.soft(read_only=True)
        @server.tool()
        def add(a: int) -> int:
            return a

    assert f"{__file__}:" in "".join(caught.value.__notes__)

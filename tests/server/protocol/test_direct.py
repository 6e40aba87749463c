"""`tools/list` is converted once: every answer is that of the SDK, and a changed list is seen."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server
from mcp_types import methods

from failsoft import mcp_server
from tests.doors import DirectAnswers
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio


def no_calls(_ctx: Any, _params: Any) -> None:
    """Leave calls to the SDK."""


class Source:
    """A server whose list can be replaced."""

    def __init__(self) -> None:
        self.listed = self.of("first")
        self.server: Server[Any] = Server("source", on_list_tools=self.list_tools)

    @staticmethod
    def of(*names: str) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in names])

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return self.listed

    def keep(self) -> None:
        self.server.middleware.append(DirectAnswers(self.server, no_calls))


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_list_is_converted_once_and_again_when_it_has_changed(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source()
    source.keep()
    converted = []

    def convert(method: str, version: str, data: Any, **surface: Any) -> Any:
        if method == "tools/list" and not surface:  # the client names the surface that it checks
            converted.append(version)
        return real(method, version, data, **surface)

    real = methods.serialize_server_result
    monkeypatch.setattr(methods, "serialize_server_result", convert)
    async with Client(source.server, mode=mode, cache=None) as client:
        assert [await names(client) for _ in range(3)] == [["first"]] * 3
        assert len(converted) == 1
        source.listed = source.of("second", "third")
        assert await names(client) == ["second", "third"]
        assert len(converted) == 2


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_is_what_the_sdk_sends(mode: Any) -> None:
    kept, plain = mcp_server(Polite), mcp_server(Polite)
    plain.middleware[:] = [one for one in plain.middleware if not isinstance(one, DirectAnswers)]
    async with Client(kept, mode=mode, cache=None) as ours, Client(plain, mode=mode, cache=None) as sdk:
        first, again, expected = [await client.list_tools() for client in (ours, ours, sdk)]
    assert first == again == expected
    assert first.ttl_ms == (60_000 if mode == "auto" else 0)


async def test_middleware_may_take_tools_from_an_answer() -> None:
    source = Source()
    source.listed = source.of("first", "second")
    source.keep()
    hidden = ["first"]

    async def hide(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/list" and hidden:
            result["tools"][:] = [tool for tool in result["tools"] if tool["name"] not in hidden]
        return result

    source.server.middleware.insert(0, hide)
    async with Client(source.server, cache=None) as client:
        assert [await names(client) for _ in range(2)] == [["second"]] * 2
        hidden.clear()
        assert await names(client) == ["first", "second"]


async def test_what_middleware_changes_in_place_is_in_that_answer_alone() -> None:
    source = Source()
    source.keep()
    said = ""

    async def describe(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/list" and said:
            result["tools"][0]["description"] = said
        return result

    source.server.middleware.insert(0, describe)
    async with Client(source.server, cache=None) as client:
        for said in ("", "for ada", "", "for bob"):
            (tool,) = (await client.list_tools()).tools
            assert (tool.description or "") == said


async def test_a_handler_that_is_added_later_is_asked_every_time() -> None:
    source = Source()
    source.keep()
    asked = []

    async def other(_context: Any, _params: Any) -> types.ListToolsResult:
        asked.append(1)
        return source.listed

    source.server.add_request_handler("tools/list", types.PaginatedRequestParams, other)
    async with Client(source.server, cache=None) as client:
        assert [await names(client) for _ in range(2)] == [["first"]] * 2
    assert len(asked) == 2


async def test_middleware_that_is_added_later_decides_about_every_answer() -> None:
    source = Source()
    source.listed = source.of("for ada", "for bob")
    source.keep()
    user = "ada"

    async def for_user(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method != "tools/list":
            return result
        return {**result, "tools": [tool for tool in result["tools"] if tool["name"].endswith(user)]}

    source.server.middleware.append(for_user)
    async with Client(source.server, cache=None) as client:
        assert await names(client) == ["for ada"]
        user = "bob"
        assert await names(client) == ["for bob"]

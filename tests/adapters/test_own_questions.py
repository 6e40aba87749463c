"""Tools of existing servers that ask the person themselves: they still do, and their time stands still meanwhile."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import fastmcp
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

from failsoft import Runtime, Settings
from failsoft.adapters.fastmcp import FailSoftMiddleware
from failsoft.adapters.mcpserver import FailSoft

pytestmark = pytest.mark.anyio
LIMIT_S = 0.2
THINKS_S = 0.3


class Form(BaseModel):
    """What is asked."""

    day: str


def which() -> Elicit[Form]:
    return Elicit("Which day?", Form)


async def person(*_: Any) -> types.ElicitResult:
    await asyncio.sleep(THINKS_S)
    return types.ElicitResult(action="accept", content={"day": "Monday"})


async def forgetful(*_: Any) -> types.ElicitResult:
    await asyncio.sleep(60)
    raise AssertionError


def runtime(ask_timeout_s: float = 60) -> Runtime:
    return Runtime(settings=Settings(ask_timeout_s=ask_timeout_s))


def sdk_server(**settings: Any) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("calendar")
    FailSoft(server, runtime=runtime(**settings), timeout_s=LIMIT_S)

    @server.tool()
    async def book(ctx: Context) -> str:
        """Ask twice."""
        days = [await ctx.elicit("Which day?", Form) for _ in range(2)]
        return " ".join(answer.data.day if answer.action == "accept" else "" for answer in days)

    @server.tool()
    async def resolve(form: Annotated[Form, Resolve(which)]) -> str:
        """Ask as the SDK does it in both eras."""
        return form.day

    return server


def fastmcp_server() -> fastmcp.FastMCP:
    server = fastmcp.FastMCP("calendar", middleware=[FailSoftMiddleware(runtime=runtime(), timeout_s=LIMIT_S)])

    @server.tool
    async def book(ctx: fastmcp.Context) -> str:
        """Ask twice."""
        days = [await ctx.elicit("Which day?", Form) for _ in range(2)]
        return " ".join(answer.data.day if answer.action == "accept" else "" for answer in days)

    return server


@pytest.mark.parametrize(
    ("make", "mode", "tool", "said"),
    [
        (sdk_server, "legacy", "book", "Monday Monday"),
        (sdk_server, "legacy", "resolve", "Monday"),
        (sdk_server, "auto", "resolve", "Monday"),
        (fastmcp_server, "legacy", "book", "Monday Monday"),
    ],
)
async def test_a_tool_that_asks_gets_its_answer_however_long_the_person_thinks(
    make: Any, mode: str, tool: str, said: str
) -> None:
    server = make()
    target = server if isinstance(server, MCPServer) else server._mcp_server
    async with Client(target, mode=mode, elicitation_callback=person) as client:
        result = await client.call_tool(tool, {})
    assert result.content[0].text == said


async def test_the_time_stands_still_no_longer_than_a_person_has() -> None:
    async with Client(sdk_server(ask_timeout_s=0.1), mode="legacy", elicitation_callback=forgetful) as client:
        result = await client.call_tool("book", {})
    assert result.structured_content is not None
    assert result.structured_content["error"]["code"] == "DEADLINE_EXCEEDED"

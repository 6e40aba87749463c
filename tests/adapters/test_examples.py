"""The libraries' example servers with the adapter on: answers, resources and prompts as they were, failures typed."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client
from mcp.server.mcpserver import Context, MCPServer

from failsoft import Runtime
from failsoft.adapters.mcpserver import FailSoft
from tests.adapters.example_servers import CALLS, REFUSED, add_examples

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]


def mcpserver(*, adapted: bool) -> Any:
    server: Any = MCPServer("examples")
    if adapted:
        FailSoft(server, runtime=Runtime())
    add_examples(server, Context)
    return server


def fastmcp_server(*, adapted: bool) -> Any:
    import fastmcp  # noqa: PLC0415 - it takes seconds

    from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - imports it

    middleware = [FailSoftMiddleware(runtime=Runtime())] if adapted else []
    server: Any = fastmcp.FastMCP("examples", middleware=middleware)
    add_examples(server, fastmcp.Context)
    return server


def mounting_server(*, adapted: bool) -> Any:
    """Return a server that serves the tools of another one, which has no adapter."""
    import fastmcp  # noqa: PLC0415 - it takes seconds

    from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - imports it

    middleware = [FailSoftMiddleware(runtime=Runtime())] if adapted else []
    server: Any = fastmcp.FastMCP("examples", middleware=middleware)
    server.mount(fastmcp_server(adapted=False))
    return server


SERVERS = {"mcpserver": mcpserver, "fastmcp": fastmcp_server, "fastmcp, mounted": mounting_server}


def client_of(server: Any) -> Any:
    return Client(getattr(server, "_mcp_server", server), cache=None)


async def seen(server: Any) -> dict[str, Any]:
    """Return all that a client gets, as JSON; of the tools all but the output schemas, which the adapter widens."""
    async with client_of(server) as client:
        answers = {
            "calls": [await client.call_tool(name, arguments) for name, arguments in CALLS],
            "static": await client.read_resource("echo://static"),
            "template": await client.read_resource("echo://b"),
            "prompt": await client.get_prompt("echo", {"text": "a"}),
            "prompts": await client.list_prompts(),
            "tools": [tool.model_copy(update={"output_schema": None}) for tool in (await client.list_tools()).tools],
        }
    return {
        name: [item.model_dump_json(by_alias=True) for item in (value if isinstance(value, list) else [value])]
        for name, value in answers.items()
    }


@pytest.mark.parametrize("make", SERVERS.values(), ids=SERVERS)
async def test_what_works_is_answered_as_by_the_bare_server(make: Any) -> None:
    bare = await seen(make(adapted=False))
    assert not any('"isError":true' in answer for answer in bare["calls"])
    assert await seen(make(adapted=True)) == bare


@pytest.mark.parametrize("make", SERVERS.values(), ids=SERVERS)
async def test_what_the_bare_server_reports_as_text_is_typed(make: Any) -> None:
    async with client_of(make(adapted=True)) as client:
        for name, arguments, paths in REFUSED:
            result = await client.call_tool(name, arguments)
            error = result.structured_content["error"]
            assert (result.is_error, error["code"]) == (True, "INVALID_PARAM")
            assert {item["path"] for item in error["violations"]} == paths

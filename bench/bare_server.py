"""The bare SDK server of `start_up` and `stdio`, in a process of its own.

It imports nothing of failsoft; it validates, bounds, times, counts and catches nothing.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server

__all__ = ["bare", "ours_over_sdk_streams", "over_http", "over_stdio"]

_SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}


def bare() -> Server[Any]:
    """Return a low-level server with one tool, whose answer has the form of failsoft's."""
    tool = types.Tool(name="get_text", input_schema=_SCHEMA)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        size = (params.arguments or {})["size"]
        answer = {"success": True, "data": "x" * size, "metadata": {"execution_time_ms": 0.123}}
        text = types.TextContent(type="text", text=json.dumps(answer))
        return types.CallToolResult(content=[text], structured_content=answer)

    return Server(
        "bare", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema={"get_text": _SCHEMA}.get
    )


def over_stdio() -> None:
    """Serve the standard streams."""
    asyncio.run(_serve(bare()))


def ours_over_sdk_streams() -> None:
    """Serve the same tool of failsoft on the standard streams, as the SDK reads and writes them."""
    from text_tool import Texts  # noqa: PLC0415 - the other servers do without failsoft

    from failsoft import mcp_server  # noqa: PLC0415 - the same

    asyncio.run(_serve(mcp_server(Texts)))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def over_http(port: int) -> None:
    """Serve on a port."""
    uvicorn.run(bare().streamable_http_app(stateless_http=True), port=port, log_level="error")

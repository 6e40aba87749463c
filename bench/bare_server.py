"""The bare SDK server of `start_up` and `stdio`, in a process of its own.

It imports nothing of failsoft, and it validates, bounds, times, counts and catches nothing.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server

__all__ = ["bare", "over_http", "over_stdio"]

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

    async def serve() -> None:
        server = bare()
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(serve())


def over_http(port: int) -> None:
    """Serve on a port."""
    uvicorn.run(bare().streamable_http_app(stateless_http=True), port=port, log_level="error")

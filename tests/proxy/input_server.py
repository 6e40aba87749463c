"""An MCP server of the newer era over stdio whose tool `book` ends in a question for the field that it is given."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

BOOK = types.Tool(
    name="book", input_schema={"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"]}
)


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[BOOK])


async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> Any:
    field = (params.arguments or {})["field"]
    if params.input_responses is None:
        form = {"type": "object", "properties": {field: {"type": "string"}}}
        asked = {"mode": "form", "message": f"Which {field}?", "requestedSchema": form}
        requests = {"one": {"method": "elicitation/create", "params": asked}}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": "of this server"}
    answer: Any = params.input_responses["one"]
    said = answer.content[field] if params.request_state == "of this server" else "no state"
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


async def main() -> None:
    server: Server[Any] = Server("input", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())

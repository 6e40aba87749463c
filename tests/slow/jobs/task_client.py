"""Calls a tool by a client that knows task handles, and prints what it gets: `task_client.py CLIENT TARGET CALLS`.

`TARGET` is a URL or the command of a server, as JSON. `CALLS` is a JSON list of calls, made one after the other. For
each of them one JSON object is printed: the `text`, the `structured` content and whether it `is_error`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

Call = dict[str, Any]


def transport(target: Any) -> Any:
    from fastmcp.client.transports import StdioTransport

    return target if isinstance(target, str) else StdioTransport(target[0], target[1:])


def show(result: Any) -> None:
    is_error, structured = result.is_error, result.structured_content
    print(json.dumps({"text": result.content[0].text, "structured": structured, "is_error": is_error}), flush=True)


async def fastmcp(target: Any, calls: list[Call]) -> None:
    import fastmcp_tasks  # noqa: F401 - registers the extension with every client
    from fastmcp import Client

    async with Client(transport(target)) as client:
        for call in calls:
            show(await client.call_tool(call["name"], call["arguments"], raise_on_error=False))


async def fastmcp_handle(target: Any, calls: list[Call]) -> None:
    from fastmcp import Client
    from fastmcp_tasks import call_tool_task

    async with Client(transport(target)) as client:
        for call in calls:
            task = await call_tool_task(client, call["name"], call["arguments"], raise_on_error=False)
            print(json.dumps({"task": task.task_id}), flush=True)
            if call.get("cancel"):
                await task.cancel()
            show(await task.result())


async def pydantic_ai(target: Any, calls: list[Call]) -> None:
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(transport(target)) as toolset:
        for call in calls:
            try:
                result = await toolset.direct_call_tool(call["name"], call["arguments"])
            except Exception as error:  # noqa: BLE001 - what the model would be shown
                print(json.dumps({"text": str(error), "structured": None, "is_error": True}), flush=True)
            else:
                print(json.dumps({"text": None, "structured": result, "is_error": False}), flush=True)


async def strands(target: Any, calls: list[Call]) -> None:
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from strands.tools.mcp import MCPClient, TasksConfig

    def opened() -> Any:
        if isinstance(target, str):
            return streamable_http_client(target)
        return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))

    def run() -> None:
        with MCPClient(opened, tasks_config=TasksConfig()) as client:
            for number, call in enumerate(calls):
                result = client.call_tool_sync(str(number), call["name"], call["arguments"])
                shown = {"text": result["content"][0]["text"], "structured": result.get("structuredContent")}
                print(json.dumps({**shown, "is_error": result["status"] == "error"}), flush=True)

    await asyncio.to_thread(run)


if __name__ == "__main__":
    CLIENTS = {"fastmcp": fastmcp, "fastmcp_handle": fastmcp_handle, "pydantic_ai": pydantic_ai, "strands": strands}
    _, name, where, what = sys.argv
    asyncio.run(CLIENTS[name](json.loads(where), json.loads(what)))

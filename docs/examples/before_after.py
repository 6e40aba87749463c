"""One mistaken call, `get_book(titel="Dune")`, answered by three servers."""

import asyncio
import logging
from typing import Any

import fastmcp
from library import Library
from mcp import Client
from mcp.server.mcpserver import MCPServer

from failsoft import mcp_server

logging.disable()


def get_book(title: str) -> str:
    """Return what a book is about."""
    return {"Dune": "A planet of sand."}[title]


async def answers() -> dict[str, Any]:
    """Return the text that a model reads, by server."""
    sdk, peer = MCPServer("library"), fastmcp.FastMCP("library")
    sdk.tool()(get_book)
    peer.tool(get_book)
    texts = {}
    for name, server in {
        "MCP SDK": sdk,
        "FastMCP": peer,
        "failsoft": mcp_server([Library()]),
    }.items():
        client = fastmcp.Client(server) if name == "FastMCP" else Client(server)
        async with client as connected:
            call = connected.call_tool_mcp if name == "FastMCP" else connected.call_tool
            texts[name] = (await call("get_book", {"titel": "Dune"})).content[0].text
    return texts


for name, text in asyncio.run(answers()).items():
    print(f"# {name}")
    print(text)

"""One tool of an `MCPServer` with typed answers."""

import asyncio
from typing import Any

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")
stock = {"tea": {1: 3, 2: 2}}

# --8<-- [start:tool]
import failsoft


@server.tool()
@failsoft.soft(read_only=True, timeout=5.0)
def count(item: str, shelf: int = 1) -> int:
    """Return how many of an item are on a shelf."""
    return stock[item][shelf]


# --8<-- [end:tool]


async def call(**arguments: Any) -> Any:
    async with Client(server) as client:
        return await client.call_tool("count", arguments)


for arguments in ({"item": "tea", "shlef": 2}, {"item": "tea", "shelf": 2}):
    print(asyncio.run(call(**arguments)).content[0].text)

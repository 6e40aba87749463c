"""An `MCPServer` of your own, before and after one line."""

# --8<-- [start:server]
import asyncio
from typing import Any

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")
stock = {"tea": 3}


@server.tool()
def take(item: str, count: int = 1) -> int:
    """Take items from stock and return how many are left."""
    stock[item] -= count
    return stock[item]


# --8<-- [end:server]


# --8<-- [start:before]
async def call(arguments: dict[str, Any]) -> Any:
    async with Client(server) as client:
        return await client.call_tool("take", arguments)


before = asyncio.run(call({"item": "tea", "cuont": 2}))
print("before:", before.content[0].text)
# --8<-- [end:before]

# --8<-- [start:adapter]
from failsoft.adapters.mcpserver import FailSoft

FailSoft(server)
# --8<-- [end:adapter]

# --8<-- [start:after]
after = asyncio.run(call({"item": "tea", "cuont": 2}))
error = after.structured_content["error"]
print(
    "after:",
    error["code"],
    error["violations"][0]["path"],
    "->",
    error["violations"][0]["suggestion"],
)
# --8<-- [end:after]

"""A FastMCP server with failsoft as its middleware."""

# --8<-- [start:server]
import asyncio
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

from failsoft.adapters.fastmcp import FailSoftMiddleware

prices: dict[str, float] = {}
server = FastMCP("shop", middleware=[FailSoftMiddleware(timeout_s=10)])


@server.tool(annotations={"readOnlyHint": True})
def price(item: str) -> float:
    """Return the price of an item."""
    if item not in prices:
        reason = "The price list is being updated"
        raise ToolError(reason)
    return prices[item]


# --8<-- [end:server]


# --8<-- [start:run]
async def main() -> Any:
    async with Client(server) as client:
        return await client.call_tool_mcp("price", {"item": "tea"})


error = asyncio.run(main()).structured_content["error"]
print(error["code"], error["effect"], error["retry"]["when"])
# --8<-- [end:run]

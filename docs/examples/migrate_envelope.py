"""A tool with an envelope of its own, before and after."""

# --8<-- [start:before]
import asyncio
from typing import Any

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")
PRICES = {"tea": 2.5, "cafe": 3.0}


@server.tool()
def price(item: str) -> dict[str, Any]:
    """Return the price of an item."""
    try:
        return {"ok": True, "price": PRICES[item]}
    except KeyError:
        return {"ok": False, "error": f"unknown item {item}", "retry": False}


# --8<-- [end:before]
# --8<-- [start:after]
from failsoft import BaseTool, NotFound, operation


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        """Return the price of an item."""
        if item not in PRICES:
            raise NotFound(message=f'No item "{item}".', suggestions=sorted(PRICES))
        return PRICES[item]


# --8<-- [end:after]
# --8<-- [start:wrapped]
from mcp_types import ToolAnnotations

import failsoft
from failsoft.adapters.mcpserver import FailSoft

wrapped: MCPServer[Any] = MCPServer("shop")


@wrapped.tool(name="price", annotations=ToolAnnotations(read_only_hint=True))
def price_or_error(item: str) -> float:
    """Return the price of an item."""
    if item not in PRICES:
        raise failsoft.NotFound(
            message=f'No item "{item}".', suggestions=sorted(PRICES)
        )
    return PRICES[item]


FailSoft(wrapped)
# --8<-- [end:wrapped]


# --8<-- [start:answers]
async def answer(target: Any) -> str:
    async with Client(target) as client:
        result = await client.call_tool("price", {"item": "coffee"})
    if not result.is_error:
        return f"a success: {result.content[0].text}"
    error = result.structured_content["error"]
    facts = error["code"], error["effect"], error["retry"]["when"], error["suggestions"]
    return "a failure: {} {} {} {}".format(*facts)


async def main() -> None:
    print("before is", await answer(server))
    print("after is", await answer(failsoft.mcp_server(Shop)))
    print("with the adapter it is", await answer(wrapped))


asyncio.run(main())
# --8<-- [end:answers]

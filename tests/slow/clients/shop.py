"""One small shop as each kind of server: `shop.py KIND PORT`; the foreign one speaks over stdio.

`price` is limited for ten minutes, `order` loses its connection when the order may have arrived. The one of failsoft
has `stock` as well, which answers after a while.
"""

from __future__ import annotations

import sys
from typing import Any

from mcp_types import CallToolResult, TextContent, ToolAnnotations

WAIT_S = 600


def serve_failsoft(port: int) -> None:
    import asyncio

    import failsoft

    class Shop(failsoft.BaseTool):
        """A shop."""

        @failsoft.operation(read_only=True)
        async def price(self, item: str, currency: str = "EUR") -> float:
            """Return a price."""
            raise failsoft.RateLimited(retry_after_seconds=WAIT_S)

        @failsoft.operation
        async def order(self, item: str) -> str:
            """Order an item."""
            raise ConnectionResetError(104, "reset")

        @failsoft.operation(read_only=True)
        async def stock(self, item: str) -> int:
            """Return how many there are."""
            await asyncio.sleep(0.5)  # a client that cancels calls beside a failed one has the time for it
            return 5

    failsoft.serve(Shop, transport="http", port=port)


def add_tools(tool: Any) -> None:
    import httpx

    @tool(annotations=ToolAnnotations(read_only_hint=True))
    async def price(item: str, currency: str = "EUR") -> float:
        """Return a price."""
        response = httpx.Response(429, headers={"retry-after": str(WAIT_S)}, request=httpx.Request("GET", "http://x"))
        response.raise_for_status()
        return 0.0

    @tool()
    async def order(item: str) -> str:
        """Order an item."""
        raise ConnectionResetError(104, "reset")


def serve_mcpserver(port: int) -> None:
    from mcp.server.mcpserver import MCPServer

    from failsoft.adapters.mcpserver import FailSoft

    server: Any = MCPServer("shop")
    add_tools(server.tool)
    FailSoft(server)
    server.run("streamable-http", port=port)


def serve_fastmcp(port: int) -> None:
    from fastmcp import FastMCP

    from failsoft.adapters.fastmcp import FailSoftMiddleware

    server = FastMCP("shop", middleware=[FailSoftMiddleware()])
    add_tools(server.tool)
    server.run("http", port=port, show_banner=False)


def serve_foreign(_port: int) -> None:
    """Serve the shop without failsoft, by an `MCPServer` that answers with envelopes of its own."""
    from mcp.server.mcpserver import MCPServer

    server: Any = MCPServer("shop")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def price(item: str, currency: str = "EUR") -> CallToolResult:
        """Return a price."""
        said = f'{{"status": 429, "message": "slow down", "retry_after": {WAIT_S}}}'
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)

    @server.tool()
    async def order(item: str) -> CallToolResult:
        """Order an item."""
        said = '{"status": 503, "message": "connection lost"}'
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)

    server.run()


KINDS = {
    "failsoft": serve_failsoft,
    "mcpserver": serve_mcpserver,
    "fastmcp": serve_fastmcp,
    "foreign": serve_foreign,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](int(sys.argv[2]))

"""A server of the SDK, which speaks both eras: its tool logs, and it tells what it is for."""

from __future__ import annotations

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("both", instructions="Read before you count.")


@server.tool()
async def count(ctx: Context) -> int:
    """Count the books."""
    await ctx.info("counting")
    return 3


if __name__ == "__main__":
    server.run()

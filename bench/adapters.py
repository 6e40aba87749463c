"""What an adapter costs on a success: the library's own call, bare and with failsoft, in turns, in one process."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from measure import options

from failsoft.adapters.fastmcp import FailSoftMiddleware
from failsoft.adapters.mcpserver import FailSoft

CALLS, ROUNDS = 400, 15


def fastmcp(*, adapted: bool) -> Any:
    """Return a FastMCP server with one tool."""
    server = FastMCP("bench", middleware=[FailSoftMiddleware()] if adapted else [])

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


def mcpserver(*, adapted: bool) -> Any:
    """Return an MCPServer with one tool."""
    server: Any = MCPServer("bench")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    if adapted:
        FailSoft(server)
    return server


async def once(call: Callable[..., Awaitable[Any]]) -> float:
    """Return the microseconds of one call, the mean of many."""
    began = time.perf_counter()
    for _ in range(CALLS):
        await call("add", {"a": 1, "b": 2})
    return (time.perf_counter() - began) / CALLS * 1e6


async def compared(name: str, make: Callable[..., Any], rounds: int) -> None:
    """Print the cost of a call, bare and adapted."""
    bare, adapted = make(adapted=False), make(adapted=True)
    pairs = [(await once(bare.call_tool), await once(adapted.call_tool)) for _ in range(rounds)]
    least = [min(times) for times in zip(*pairs, strict=True)]
    added = statistics.median(after - before for before, after in pairs)
    bare_us, adapted_us = least
    print(f"{name}: bare {bare_us:.0f} us, adapted {adapted_us:.0f} us, added {adapted_us - bare_us:.0f} us")
    print(f"{name}: added at the median of the rounds {added:.0f} us")


async def main(rounds: int) -> None:
    """Compare both libraries."""
    await compared("FastMCP", fastmcp, rounds)
    await compared("MCPServer", mcpserver, rounds)


if __name__ == "__main__":
    asyncio.run(main(options(__doc__ or "", rounds=ROUNDS, quick=1).rounds))

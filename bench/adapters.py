"""What an adapter costs: calls that work and calls that fail, bare and with failsoft, in turns, in one process."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError as FastMCPToolError
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from measure import Figure, benchmark, figure, us

from failsoft.adapters.fastmcp import FailSoftMiddleware
from failsoft.adapters.mcpserver import FailSoft

CALLS = 400


def fastmcp(*, adapted: bool) -> Any:
    """Return a FastMCP server with one tool."""
    server = FastMCP("bench", middleware=[FailSoftMiddleware()] if adapted else [])

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    async def refuse(a: int, b: int) -> int:
        """Refuse to add two numbers."""
        raise FastMCPToolError(str(a + b))

    return server


def mcpserver(*, adapted: bool) -> Any:
    """Return an MCPServer with one tool."""
    server: Any = MCPServer("bench")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def refuse(a: int, b: int) -> int:
        """Refuse to add two numbers."""
        raise ToolError(str(a + b))

    if adapted:
        FailSoft(server)
    return server


async def once(call: Callable[..., Awaitable[Any]], name: str) -> float:
    """Return the seconds of one call, the mean of many."""
    began = time.perf_counter()
    for _ in range(CALLS):
        with contextlib.suppress(FastMCPToolError, ToolError):  # the bare libraries raise what their handlers answer
            await call(name, {"a": 1, "b": 2})
    return (time.perf_counter() - began) / CALLS


@benchmark("Adapters", rounds=(15, 1))
async def measure(given: Any) -> list[Figure]:
    """Return the cost of a call, bare and adapted, for both libraries."""
    logging.disable()  # FastMCP logs a failure where the SDK leaves that to its handler
    found = []
    for name, make in {"FastMCP": fastmcp, "MCPServer": mcpserver}.items():
        bare, adapted = make(adapted=False), make(adapted=True)
        for tool, kind in {"add": "success", "refuse": "failure"}.items():
            pairs = [
                (await once(bare.call_tool, tool), await once(adapted.call_tool, tool)) for _ in range(given.rounds)
            ]
            found += [
                figure(f"{name}, {kind}: bare", us([before for before, _ in pairs]), "us"),
                figure(f"{name}, {kind}: adapted", us([after for _, after in pairs]), "us"),
                figure(f"{name}, {kind}: added", us([after - before for before, after in pairs]), "us"),
            ]
    logging.disable(logging.NOTSET)
    return found

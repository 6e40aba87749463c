"""`connected`: the SDK's own client on the real server, without a port or a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

    from failsoft.server.registry import Tools

__all__ = ["connected"]


@asynccontextmanager
async def connected(tools: Tools, *, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Hold an MCP client connected to a server for these tools, in memory, for as long as the block lasts.

    Every call passes the protocol, the server and the chain, as one over stdio or HTTP does.

    Args:
        tools: Toolsets, their classes, or a function that returns either.
        mode: `auto`, `legacy` (a session, with the handshake of 2025), or a version of the protocol.
        options: Others of the SDK's `mcp.Client`.
    """
    from mcp import Client  # noqa: PLC0415 - half a second that tests of tools alone need not pay

    from failsoft.server import mcp_server  # noqa: PLC0415 - the same

    async with Client(mcp_server(tools), mode=mode, **options) as client:
        yield client

"""`connected`: the SDK's client, connected in memory to a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

    from failsoft.server.sources import Tools

__all__ = ["connected"]


@asynccontextmanager
async def connected(tools: Tools, *, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Yield an MCP client that is connected in memory to a server for these tools.

    Calls go through the protocol, the server and the chain, as over stdio or HTTP.

    Args:
        tools: Toolsets, their classes, or a function that returns either.
        mode: `auto`, `legacy` (a session, with the handshake of 2025), or a version of the protocol.
        options: Further options of the SDK's `mcp.Client`.
    """
    from mcp import Client  # noqa: PLC0415 - half a second that tests of tools alone need not pay

    from failsoft.server import mcp_server  # noqa: PLC0415 - the same

    async with Client(mcp_server(tools), mode=mode, **options) as client:
        yield client

"""The failing tools as an `MCPServer` and as a FastMCP server, bare or adopted, and over stdio for the proxy."""

from __future__ import annotations

import logging
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError

from tests.laws.adopting.failing_ways import add_failing_tools
from tests.laws.adopting.planted_secrets import add_leaking_tools

__all__ = ["fastmcp_server", "sdk_server", "serve"]


def sdk_server(runtime: Any = None, *, adopted: bool = False) -> tuple[Any, dict[str, str]]:
    """Return the server, and the expected category by tool."""
    server: Any = MCPServer("ways")
    if adopted:
        from failsoft.adapters.mcpserver import FailSoft  # noqa: PLC0415 - the bare server runs without it

        FailSoft(server, runtime=runtime)
    expected = add_failing_tools(server, SdkToolError)
    add_leaking_tools(server, SdkToolError)
    return server, expected


def fastmcp_server(runtime: Any = None, *, adopted: bool = False, masked: bool = False) -> tuple[Any, dict[str, str]]:
    """Return the server, and the expected category by tool."""
    from fastmcp import FastMCP  # noqa: PLC0415 - takes seconds to load
    from fastmcp.exceptions import ToolError  # noqa: PLC0415 - as above

    from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - as above

    layers = [FailSoftMiddleware(runtime=runtime)] if adopted else []
    server: Any = FastMCP("ways", middleware=layers, mask_error_details=masked)
    expected = add_failing_tools(server, ToolError)
    add_leaking_tools(server, ToolError)
    return server, expected


def serve() -> None:
    """Serve the bare `MCPServer` over stdio, without the log of its library: a crash takes it a second."""
    logging.disable()
    sdk_server()[0].run()

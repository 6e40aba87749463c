"""MCP over stdio and HTTP. Every name loads on first use: the SDK and the web server are for those who serve."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.server.assembly import mcp_server as mcp_server
    from failsoft.server.http import asgi_app as asgi_app
    from failsoft.server.registry import ToolSource as ToolSource
    from failsoft.server.running import serve as serve

__all__ = ["ToolSource", "asgi_app", "mcp_server", "serve"]

_HOMES = {"ToolSource": "registry", "asgi_app": "http", "mcp_server": "assembly", "serve": "running"}


def __getattr__(name: str) -> Any:
    """Load a public name from its home when it is first asked for."""
    if name not in _HOMES:
        msg = f"module 'failsoft.server' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"failsoft.server.{_HOMES[name]}"), name)

"""MCP servers over stdio and HTTP. Names load on first use, so that importing does not load the SDK or uvicorn."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.server.assembly import mcp_server as mcp_server
    from failsoft.server.http.app import asgi_app as asgi_app
    from failsoft.server.running import serve as serve
    from failsoft.server.sources import ToolSource as ToolSource

__all__ = ["ToolSource", "asgi_app", "mcp_server", "serve"]

_HOMES = {"ToolSource": "sources", "asgi_app": "http.app", "mcp_server": "assembly", "serve": "running"}


def __getattr__(name: str) -> Any:
    """Import a public name on first access."""
    if name not in _HOMES:
        msg = f"module 'failsoft.server' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"failsoft.server.{_HOMES[name]}"), name)

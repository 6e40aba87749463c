"""The server that a `Client` is given: its name for messages, and what connects to it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from mcp import StdioServerParameters
from mcp.server import Server
from mcp.server.mcpserver import MCPServer

from failsoft.client.http import http_streams
from failsoft.client.stdio import stdio_streams
from failsoft.framework.call.runtime import default_runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.server.assembly import mcp_server

_MESSAGE_PER_RESULT = 8
"""A message is read up to this many times the limit on responses: escapes, and text beside structured content."""


def name_of(target: Any) -> str:
    """Return a server's name for messages: a host or a program, since addresses and arguments hold secrets.

    Args:
        target: As for `Client`.
    """
    if _is_url(target):
        return urlsplit(target).hostname or "server"
    words = _words(target)
    return type(target).__name__ if words is None else PurePath(words[0]).name


def transport_to(target: Any, *, token: str | None) -> Any:
    """Return what the SDK's client connects through: a transport, or a server in this process.

    Args:
        target: As for `Client`.
        token: A bearer token for a URL.
    """
    limit_bytes = _MESSAGE_PER_RESULT * default_runtime().settings.max_response_bytes
    if _is_url(target):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return http_streams(target, headers=headers, limit_bytes=limit_bytes)
    if (words := _words(target)) is not None:
        target = StdioServerParameters(command=words[0], args=words[1:])
    if isinstance(target, StdioServerParameters):
        return stdio_streams(
            [target.command, *target.args],
            environment=target.env or {},
            folder=None if target.cwd is None else str(target.cwd),
            limit_bytes=limit_bytes,
        )
    # A toolset is a context manager too, one that starts and ends it.
    is_transport = hasattr(type(target), "__aenter__") and not isinstance(target, BaseTool)
    if isinstance(target, (Server, MCPServer)) or is_transport:
        return target
    fastmcp = getattr(target, "_mcp_server", None)
    return fastmcp if isinstance(fastmcp, Server) else mcp_server(target)


def _is_url(target: Any) -> bool:
    return isinstance(target, str) and target.startswith(("http://", "https://"))


def _words(target: Any) -> list[str] | None:
    """Return the words of a command, or None if the target is something else."""
    words = shlex.split(str(target)) if isinstance(target, (str, PurePath)) else target
    if not isinstance(words, Sequence) or not words or not all(isinstance(word, (str, PurePath)) for word in words):
        return None
    return [str(word) for word in words]

"""A server put together: tools, their box, their lifecycle, and the SDK's server that offers them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from loguru import logger
from mcp.server import Server

from failsoft._version import __version__
from failsoft.framework.normalize import load_rules
from failsoft.framework.settings import Settings
from failsoft.framework.tool import BaseTool
from failsoft.framework.toolbox import Toolbox
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol import ToolProtocol
from failsoft.server.registry import Tools, as_tools

__all__ = ["Assembly", "assemble", "mcp_server"]

_SHUTDOWN_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Assembly:
    """One server and everything that belongs to it."""

    name: str
    version: str
    tools: tuple[BaseTool, ...]
    toolbox: Toolbox
    lifecycle: Lifecycle
    settings: Settings
    server: Server[Any]


def assemble(tools: Tools, *, name: str | None = None, instructions: str | None = None) -> Assembly:
    """Return a server for these tools.

    Args:
        tools: Toolsets, or what makes them.
        name: What the server calls itself; by default the name of its only toolset, else `failsoft`.
        instructions: What it tells clients about itself; by default what the docstrings of the toolsets say.

    Raises:
        CONFIG_ERROR: Two tools have one name, or something given is no toolset.
    """
    made = tuple(as_tools(tools))
    toolbox = Toolbox(made)
    settings = made[0].runtime.settings
    for tool in made:
        if tool.runtime.configuration is not None:
            tool.runtime.configuration.check_tools([other.name for other in made])
    _warn_of_stacks(made)
    load_rules()  # a package of somebody else's is imported now, and not while the first failing call waits
    lifecycle = Lifecycle(made, shutdown_limit_s=_SHUTDOWN_LIMIT_S)
    protocol = ToolProtocol(toolbox, lifecycle, max_response_bytes=settings.max_response_bytes)
    name = name or (made[0].name if len(made) == 1 else "failsoft")
    server = protocol.server(name, version=__version__, instructions=instructions or _introduced(made))
    return Assembly(name, __version__, made, toolbox, lifecycle, settings, server)


def mcp_server(tools: Tools, *, name: str | None = None, instructions: str | None = None) -> Server[Any]:
    """Return a low-level server of the `mcp` SDK that offers these tools, for any transport of yours.

    Args:
        tools: Toolsets, their classes, or a function that returns either.
        name: What the server calls itself; by default the name of its only toolset, else `failsoft`.
        instructions: What it tells clients about itself; by default what the docstrings of the toolsets say.

    Raises:
        CONFIG_ERROR: Two tools have one name, or something given is no toolset.
    """
    return assemble(tools, name=name, instructions=instructions).server


def _warn_of_stacks(tools: tuple[BaseTool, ...]) -> None:
    """Say in the log that callers see stack traces: in production that is a decision, and easily a forgotten one."""
    every = [tool.runtime.settings for tool in tools]
    if any(settings.debug_stack and settings.environment == "production" for settings in every):
        logger.warning("Callers are sent stack traces in production: FAILSOFT_DEBUG_STACK is set")


def _introduced(tools: tuple[BaseTool, ...]) -> str | None:
    described = [(tool.name, inspect.cleandoc(type(tool).__doc__ or "")) for tool in tools]
    return "\n".join(f"{name}: {text}" for name, text in described if text) or None

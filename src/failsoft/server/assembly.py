"""Assembles a server: its tools, their toolbox and lifecycle, and the SDK's server; checks them before the start."""

from __future__ import annotations

import itertools
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp.server import Server

from failsoft import composition
from failsoft._version import __version__
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.chain import check_shared
from failsoft.framework.call.runtime import inherited
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors.meanings import edits_between
from failsoft.framework.normalize import THIRD_PARTIES
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.settings import Settings
from failsoft.jobs.toolset import with_jobs
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.asking import Asking
from failsoft.server.protocol.tools import ToolProtocol
from failsoft.server.risks import open_risks
from failsoft.server.sources import Tools, as_tools, misspelt_variables, server_name

_SHORT = 4
"""Minimum length of names to compare: `eu` and `us` are two dependencies."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server with its tools, toolbox and lifecycle."""

    name: str
    version: str
    tools: tuple[BaseTool, ...]
    toolbox: Toolbox
    lifecycle: Lifecycle
    settings: Settings
    server: Server[Any]
    asking: Asking


def assemble(
    tools: Tools, *, name: str | None = None, version: str | None = None, instructions: str | None = None
) -> Assembly:
    """Return a server for these tools; the arguments and errors are those of `mcp_server`."""
    given = tuple(as_tools(tools))
    made = with_jobs(given, _elsewhere(tools, name))
    toolbox = Toolbox(made)
    settings = made[0].runtime.settings
    for tool in made:
        if tool.runtime.configuration is not None and not inherited:
            tool.runtime.configuration.check(made, are_all=True)
    _check_dependencies(made)
    _warn_of_stacks(made)
    warn_of_misspelt_variables(made)
    for about, allows, remedy in open_risks(made):
        logger.warning("{}: {}; {}.", about, allows, remedy)
    THIRD_PARTIES.load()  # imports third-party packages now and not during the first failing call
    lifecycle = Lifecycle(made)
    protocol = ToolProtocol(toolbox, lifecycle, settings)
    name = _named(made, server_name(given, name))
    version = version or _version_of(given)
    server = protocol.server(name, version=version, instructions=instructions or _introduced(made))
    return Assembly(name, version, made, toolbox, lifecycle, settings, server, protocol.asking)


def _named(tools: Sequence[BaseTool], name: str) -> str:
    """Let the records of the toolsets be those of the server of this name; return it."""
    for tool in tools:
        tool.server_name = name
    return name


def _elsewhere(tools: Tools, name: str | None) -> Callable[[], tuple[BaseTool, ...]] | None:
    """Return what makes the toolsets of a server in another process; None if only this process has them."""
    parts = tools if isinstance(tools, Sequence) else [tools]
    if any(isinstance(part, (BaseTool, ModuleType)) for part in parts):
        return None
    make = partial(made_again, tools, name, composition.durable_file)
    try:
        pickle.dumps(make)
    except Exception:  # noqa: BLE001 - whatever an author's object raises
        return None
    return make


def made_again(tools: Tools, name: str | None, durable: Path | None) -> tuple[BaseTool, ...]:
    """Return the toolsets of a server that another process assembled, for its jobs.

    Args:
        tools: As they were given to `assemble`.
        name: The same.
        durable: See `composition.install`.
    """
    if durable is not None:
        composition.install(durable=durable)
    given = tuple(as_tools(tools))
    made = with_jobs(given)
    _named(made, server_name(given, name))
    return made


def mcp_server(
    tools: Tools, *, name: str | None = None, version: str | None = None, instructions: str | None = None
) -> Server[Any]:
    """Return a low-level server of the `mcp` SDK that offers these tools, for any transport of yours.

    Args:
        tools: Toolsets, their classes, modules of `@soft` functions, or a function that returns any of these.
        name: What the server calls itself; by default the name of its only toolset, else `failsoft`.
        version: The version that it reports; by default that of the package that the tools are from.
        instructions: What it tells clients about itself; by default the `introduction` of each toolset.

    Raises:
        CONFIG_ERROR: Two tools have one name, or something given is not a toolset.

    Examples:
        >>> mcp_server(Shelf, name="shelf", version="1.2").name
        'shelf'
    """
    return assemble(tools, name=name, version=version, instructions=instructions).server


def _version_of(tools: tuple[BaseTool, ...]) -> str:
    """Return the version of the package that all tools are from; failsoft's if they are from several or from none."""
    packages = {type(tool).__module__.partition(".")[0] for tool in tools}
    package = packages.pop() if len(packages) == 1 else "failsoft"
    declared = getattr(sys.modules.get(package), "__version__", None)
    with suppress(PackageNotFoundError):
        return str(declared or metadata.version(package))
    return __version__


def _check_dependencies(tools: Sequence[BaseTool]) -> None:
    """Reject contradicting options of a dependency.

    Two names that differ in one letter are logged, unless it is a digit: one of them may be misspelt.

    Raises:
        CONFIG_ERROR: Strategies that share a state by their dependency have different options.
    """
    chains = {bound: bound.chain for tool in tools for bound in tool.operations.values()}
    check_shared(chains)
    used = sorted({dependency for chain in chains.values() for _, dependency in chain.recovery.shared})
    for one, other in itertools.combinations(used, 2):
        is_numbered = re.sub(r"\d", "", one) == re.sub(r"\d", "", other)
        if (
            min(len(one), len(other)) >= _SHORT
            and not is_numbered
            and edits_between(one.casefold(), other.casefold(), 1) <= 1
        ):
            logger.warning("The dependencies '{}' and '{}' differ in one letter: is one of them misspelt?", one, other)


def warn_of_misspelt_variables(tools: Sequence[BaseTool]) -> None:
    """Log what `misspelt_variables` finds."""
    for sentence in misspelt_variables(tools):
        logger.warning("{}", sentence)


def _warn_of_stacks(tools: tuple[BaseTool, ...]) -> None:
    """Log a warning that callers see stack traces, which is rarely intended in production."""
    every = [tool.runtime.settings for tool in tools]
    if any(settings.debug_stack and settings.environment == "production" for settings in every):
        logger.warning("Callers are sent stack traces in production: FAILSOFT_DEBUG_STACK is set")


def _introduced(tools: tuple[BaseTool, ...]) -> str | None:
    described = [(tool.name, tool.introduction()) for tool in tools]
    return "\n".join(f"{name}: {text}" for name, text in described if text) or None

"""The tools that a command line selects: toolsets by name, an application, the project's own, or installed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from failsoft.cli.faults import usage
from failsoft.cli.targets.project import ConfiguredProject, find_project
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.logs.logs import configure_logging
from failsoft.framework.text import bounded
from failsoft.server.sources import ToolSource, find_toolsets, not_set_up

if TYPE_CHECKING:
    from failsoft.proxy.serve import ProxySource


@dataclass(frozen=True, slots=True)
class LoggedSource:
    """Makes tools where the process logs as an application does: each worker of a server sets that up for itself."""

    source: ToolSource | ProxySource

    def __call__(self) -> list[Any]:
        """Return the tools. The arguments and errors are those of the source."""
        from failsoft.cli.library_logs import LIBRARIES, drop_noise  # noqa: PLC0415 - only servers have it

        try:
            configure_logging(intercept=LIBRARIES)
        except ToolError as error:  # the settings are not usable
            if not getattr(self.source, "is_governed", False):
                raise
            raise not_set_up(error) from error
        drop_noise()
        return self.source()


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """The selection of a command line. Without toolsets and `app` it is the application of the current project.

    Args:
        toolsets: Names of installed toolsets; `module:attribute` among them is an application.
        app: `module:attribute`, or `module` alone for its only toolset.
        root: The folders that the toolsets work in.
        command: The command to suggest, with `{}` for a toolset or for `--app module:attribute`.
    """

    toolsets: Sequence[str] = ()
    app: str | None = None
    root: Sequence[Path] | None = None
    command: str = "failsoft serve {}"

    @property
    def is_named(self) -> bool:
        """Whether the command line or the project selects any tools."""
        return bool(self.toolsets or self.app or self.project)

    @property
    def project(self) -> ConfiguredProject | None:
        """The project around the current folder, if its application is selected.

        Raises:
            CONFIG_ERROR: Its `pyproject.toml` cannot be used.
        """
        return None if self.toolsets or self.app else find_project()

    def sources(self) -> list[ToolSource]:
        """Return the factories of the tools, also for other processes: one, or several for several applications.

        Raises:
            CONFIG_ERROR: A toolset or a folder does not exist; the closest name is in the message.
            BOOTSTRAP_FAILURE: A folder does not exist, and one of the toolsets is governed.
        """
        named = [name for name in self.toolsets if ":" not in name]
        known = find_toolsets() if named else {}  # 10 ms
        for name in named:
            if name not in known:
                raise _unknown(name, list(known), self.command)
        project = self.project
        apps = [name for name in self.toolsets if ":" in name] + ([self.app] if self.app else [])
        app, folder = (project.app, project.folder) if project is not None else (apps[0] if apps else "", None)
        source = ToolSource(tuple(dict.fromkeys(named)), app, tuple(self.root or ()), folder)
        for root in self.root or ():
            if not root.is_dir():
                error = ConfigurationError(issue=f"--root {root} is no folder", resolution="make it, or name another")
                raise not_set_up(error) if source.is_governed else error
        return [source, *(ToolSource(app=other) for other in apps[1:])]

    def source(self) -> ToolSource:
        """Return the factory of a server's tools: toolsets and one application. Raises the errors of `sources`."""
        first, *more = self.sources()
        if more:
            raise usage(
                message="Only one application can be served at once.", hint="an attribute may be a list of tools"
            )
        return first

    def tools(self) -> list[BaseTool]:
        """Return the tools.

        Raises:
            CONFIG_ERROR: A selected toolset cannot be loaded, or none was selected.
        """
        return [tool for source in self.sources() for tool in source()]


def tools_for(operation: str, target: CommandTarget) -> list[BaseTool]:
    """Return the selected tools, or the one installed toolset that has the operation.

    Raises:
        CONFIG_ERROR: A selected toolset cannot be loaded, or none is installed.
        INVALID_PARAM: Several installed toolsets have the operation.
    """
    if target.is_named:
        return target.tools()
    tools = installed_tools(target.root)
    having = [tool for tool in tools if operation in tool.operations]
    if len(having) > 1:
        names = [tool.name for tool in having]
        raise usage(
            message=f"Several toolsets have an operation '{operation}': {', '.join(names)}.",
            hint=f"failsoft call {operation} --toolset {names[0]}",
        )
    near = [tool for tool in tools if tool.toolbox.closest(operation) is not None]
    return (having or near or tools)[:1]


def installed_tools(root: Sequence[Path] | None) -> list[BaseTool]:
    """Return the installed toolsets, without those that cannot be created."""
    tools: list[BaseTool] = []
    reason: ToolError | None = None
    for name in find_toolsets():
        try:
            tools += CommandTarget([name], root=root).tools()
        except ToolError as error:
            reason = reason or error
    if tools:
        return tools
    raise reason or ConfigurationError(issue="no toolset is installed", resolution="name an application with --app")


def _unknown(name: str, known: Sequence[str], command: str) -> ConfigurationError:
    closest = closest_name(name, known)
    listed = ", ".join(known) or "none"
    asked = f"; did you mean '{closest}'?" if closest else "."
    meant = closest or (known[0] if known else "")
    return ConfigurationError(
        message=f"There is no toolset '{bounded(name)}'{asked} The toolsets are: {listed}.",
        suggestions=[closest] if closest else known,
        operator_hint=command.format(meant) if meant else "",
    )

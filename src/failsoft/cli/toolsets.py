"""The tools that a command line names: toolsets by name, an application, or everything that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from failsoft.cli.faults import usage
from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.logs import configure_logging
from failsoft.framework.text import bounded
from failsoft.framework.tool import BaseTool
from failsoft.framework.toolbox import Toolbox
from failsoft.server.registry import ToolSource, find_toolsets, not_set_up

__all__ = ["LoggedSource", "tool_source", "toolbox_of", "tools_for"]


@dataclass(frozen=True, slots=True)
class LoggedSource:
    """Makes tools where the process logs as an application does: each worker of a server sets that up for itself."""

    source: ToolSource

    def __call__(self) -> list[BaseTool]:
        """Return the tools. The arguments and errors are those of `ToolSource`."""
        from failsoft.cli.foreign_logs import FOREIGN, leave_out_what_is_no_fault  # noqa: PLC0415 - only servers have it

        try:
            configure_logging(intercept=FOREIGN)
        except ToolError as error:  # the settings cannot be used at all
            if not self.source.is_governed:
                raise
            raise not_set_up(error) from error
        leave_out_what_is_no_fault()
        return self.source()


def tool_source(
    toolsets: Sequence[str], app: str | None, root: Sequence[Path] | None, *, command: str = "failsoft serve {}"
) -> ToolSource:
    """Return what makes these tools, here or in another process.

    Args:
        toolsets: Names of installed ones.
        app: `module:attribute`, or None.
        root: The folders that the toolsets work in.
        command: What to type, with `{}` for a toolset or for `--app module:attribute`.

    Raises:
        CONFIG_ERROR: A toolset does not exist, or the folder does not; the closest name is told.
        BOOTSTRAP_FAILURE: The folder does not, and one of the toolsets is governed.
    """
    known = find_toolsets()
    for name in toolsets:
        if name not in known:
            raise _unknown(name, list(known), command)
    source = ToolSource(tuple(dict.fromkeys(toolsets)), app or "", tuple(root or ()))
    for folder in root or ():
        if not folder.is_dir():
            error = ConfigurationError(issue=f"--root {folder} is no folder", resolution="make it, or name another")
            raise not_set_up(error) if source.is_governed else error
    return source


def tools_for(operation: str, toolset: str | None, app: str | None, root: Sequence[Path] | None) -> list[BaseTool]:
    """Return the tools among which an operation is called: those named, else the one installed toolset that has it.

    Raises:
        CONFIG_ERROR: Something that was named cannot be loaded, or nothing is installed.
        INVALID_PARAM: Several installed toolsets have the operation.
    """
    if toolset is not None or app is not None:
        named = [] if toolset is None else [toolset]
        return tool_source(named, app, root, command=f"failsoft call {operation} --toolset {{}}")()
    tools = _installed(root)
    having = [tool for tool in tools if operation in tool.operations]
    if len(having) > 1:
        names = [tool.name for tool in having]
        raise usage(
            message=f"Several toolsets have an operation '{operation}': {', '.join(names)}.",
            hint=f"failsoft call {operation} --toolset {names[0]}",
        )
    near = [tool for tool in tools if tool.toolbox.closest(operation) is not None]
    return (having or near or tools)[:1]


def toolbox_of(targets: Sequence[str], root: Sequence[Path] | None) -> Toolbox:
    """Return the tools that are named, together: toolsets by name, applications as `module:attribute`.

    Raises:
        CONFIG_ERROR: Something that was named cannot be loaded, or two tools have one name.
    """
    tools: list[BaseTool] = []
    for target in targets:
        is_app = ":" in target
        named = [] if is_app else [target]
        tools += tool_source(named, target if is_app else None, root, command="failsoft lint {}")()
    return Toolbox(tools)


def _installed(root: Sequence[Path] | None) -> list[BaseTool]:
    """Return the installed toolsets that can be made; one that cannot must not hide the others."""
    tools: list[BaseTool] = []
    reason: ToolError | None = None
    for name in find_toolsets():
        try:
            tools += tool_source([name], None, root)()
        except ToolError as error:
            reason = reason or error
    if tools:
        return tools
    raise reason or ConfigurationError(issue="no toolset is installed", resolution="name an application with --app")


def _unknown(name: str, known: Sequence[str], command: str) -> ConfigurationError:
    closest = closest_name(name, known)
    listed = ", ".join(known) or "none"
    asked = f"; did you mean '{closest}'?" if closest else "."
    meant = f"--app {name}" if ":" in name else closest or (known[0] if known else "")
    return ConfigurationError(
        message=f"There is no toolset '{bounded(name)}'{asked} The toolsets are: {listed}.",
        suggestions=[closest] if closest else known,
        operator_hint=command.format(meant).replace("--toolset --app", "--app") if meant else "",
    )

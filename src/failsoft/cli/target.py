"""The one way to name what a command works on: toolsets, --app, the application of the project, or --url."""

from __future__ import annotations

import asyncio
import getpass
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from failsoft.cli.errors import usage
from failsoft.cli.remote import TOKEN, bearer, mcp_address
from failsoft.framework.audit import change_entry
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError, ToolError, Unauthenticated, Unavailable
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.files import read_regular
from failsoft.framework.settings import Settings
from failsoft.framework.text import bounded, printable
from failsoft.rules import Silences
from failsoft.server.sources import ToolSource, find_toolsets, not_set_up

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

    from failsoft.client import OnQuestion

T = TypeVar("T")
_ANSWERS_WITHIN_S = 30.0
_CALL_WITHIN_S = 3_600.0
_KNOWN = frozenset({"app", "silence"})
"""The keys of `[tool.failsoft]`."""
_PROJECT_BYTES_AT_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class ConfiguredProject:
    """A project whose `pyproject.toml` names its application.

    Args:
        app: `module:attribute` or `module`.
        folder: The folder of its modules: that of `pyproject.toml`, or its `src`.
        name: The project's name, if given.
        version: The project's version, if given.
    """

    app: str
    folder: Path
    name: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What a command line names; without toolsets, `app` and `url` it is the application of the project, if any.

    Args:
        toolsets: Names of installed toolsets; `module:attribute`, or a Python file, among them is an application.
        app: `module:attribute`, or `module` alone for its only toolset.
        url: The address of a running server; `/mcp` is added where there is no path.
        token: Sent to it as a bearer token; by default FAILSOFT_TOKEN.
        root: The folders that the toolsets work in.
        command: The command to suggest, with `{}` for a toolset or for `--app module:attribute`.

    Raises:
        INVALID_PARAM: `url` is given with toolsets, `app` or `root`.
    """

    toolsets: Sequence[str] = ()
    app: str | None = None
    url: str | None = None
    token: str | None = None
    root: Sequence[Path] | None = None
    command: str = "failsoft serve {}"

    def __post_init__(self) -> None:
        given = (*self.toolsets, *(["--app"] if self.app else ()), *(["--root"] if self.root else ()))
        if self.url is not None and given:
            raise usage(
                message=f"--url names a running server, so that it goes without {', '.join(map(bounded, given))}.",
                hint="leave out one of the two",
            )

    @property
    def is_named(self) -> bool:
        """Whether the command line or the project names any target."""
        return bool(self.url or self.toolsets or self.app or self.project)

    @property
    def project(self) -> ConfiguredProject | None:
        """The project around the current folder, if its application is the target.

        Raises:
            CONFIG_ERROR: Its `pyproject.toml` cannot be used.
        """
        return None if self.url or self.toolsets or self.app else find_project()

    def sources(self) -> list[ToolSource]:
        """Return the factories of the named tools, also for other processes: several for several applications.

        Raises:
            CONFIG_ERROR: A toolset or a folder does not exist; the closest name is in the message.
            BOOTSTRAP_FAILURE: A folder does not exist, and one of the toolsets is governed.
        """
        apps = [name for name in self.toolsets if ":" in name or name.endswith(".py")]
        named = [name for name in self.toolsets if name not in apps]
        known = find_toolsets() if named else {}  # 10 ms
        for name in named:
            if name not in known:
                raise _unknown(name, list(known), self.command)
        project = self.project
        apps += [self.app] if self.app else []
        app, folder = (project.app, project.folder) if project is not None else (apps[0] if apps else "", None)
        source = ToolSource(tuple(dict.fromkeys(named)), app, tuple(self.root or ()), folder)
        for root in self.root or ():
            if not root.is_dir():
                error = ConfigurationError(
                    issue=f"--root {root} is not a folder", resolution="make it, or name another"
                )
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

    def tools(self, *, on_fault: Callable[[str, ToolError], None] | None = None) -> list[BaseTool]:
        """Return the named tools; where none are named, those of every installed toolset that can be made.

        Args:
            on_fault: Gets the name and the error of each toolset or application that cannot be made and is left out; by
                default a line on standard error names it.

        Raises:
            CONFIG_ERROR: A named toolset or application cannot be loaded; or no toolset can be made, and there is no
                `on_fault`.
        """
        if self.is_named and on_fault is None:
            return [tool for source in self.sources() for tool in source()]
        names = self.toolsets if self.is_named else tuple(find_toolsets())
        parts = {name: Target((name,), root=self.root) for name in names}
        if app := self.app or (self.project.app if self.project else None):
            parts[app] = Target((), self.app, root=self.root)
        tools: list[BaseTool] = []
        faults: dict[str, ToolError] = {}
        for name, part in parts.items():
            try:
                tools += part.tools()
            except ToolError as error:
                faults[name] = error
        if not tools and on_fault is None:
            raise next(iter(faults.values()), None) or ConfigurationError(
                issue="no toolset is installed", resolution="name an app with --app"
            )
        for name, fault in faults.items():
            (on_fault or _say_left_out)(name, fault)
        return tools

    def ask(self, question: Callable[[Client], Awaitable[T]], *, on_question: OnQuestion | None = None) -> T:
        """Connect a client to the server at `url`, pass it to a function, and return the result.

        Args:
            question: The function.
            on_question: Answers what the server asks; without it the server is told that nobody can be asked.

        Raises:
            UNAVAILABLE: No MCP server answers there.
            UNAUTHENTICATED: It asks for a token, or for another one.
            INVALID_PARAM: The URL is not an HTTP address.
        """
        import httpx2  # noqa: PLC0415 - half a second that commands on local tools save
        from mcp import Client, MCPError  # noqa: PLC0415 - the same
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the same

        from failsoft.client.questions import answering  # noqa: PLC0415 - the same

        address = mcp_address(self.url or "")
        headers = bearer(self.token)
        statuses: list[int] = []

        async def note(response: httpx2.Response) -> None:
            statuses.append(response.status_code)

        async def asked() -> T:
            limits = httpx2.Timeout(_CALL_WITHIN_S, connect=_ANSWERS_WITHIN_S)
            hooks = {"response": [note]}  # the SDK's own error does not contain the status
            async with (
                httpx2.AsyncClient(headers=headers, timeout=limits, follow_redirects=True, event_hooks=hooks) as http,
                Client(
                    streamable_http_client(address, http_client=http), elicitation_callback=answering(on_question)
                ) as client,
            ):
                return await question(client)

        try:
            return asyncio.run(asked())
        except BaseException as raised:  # noqa: BLE001 - it is raised again, as what it means
            error = raised
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                error = error.exceptions[0]
            if isinstance(error, Exception) and not isinstance(error, ToolError):
                if statuses and statuses[-1] in {401, 403}:
                    said = "does not accept this token" if headers else "asks for a token"
                    error = Unauthenticated(message=f"{address} {said}.", operator_hint=f"--token TOKEN, or {TOKEN}")
                elif isinstance(error, (MCPError, httpx2.HTTPError, OSError)):
                    cause = f"{type(error).__name__}: {bounded(str(error))}"
                    error = Unavailable(message=f"No MCP server answers at {address} ({cause}).")
            raise error from (raised if raised is not error else raised.__cause__)


async def audited(operation: str, *, tool: str = "", log: Path | None = None, **about: Any) -> None:
    """Write a change that the user of this process makes on the command line to the audit log.

    Args:
        operation: What is done, such as `state open`.
        tool: The toolset that it is about, if it is about one.
        log: The audit log where the settings name none; None for none.
        about: Further keys of the entry.

    Raises:
        AUDIT_LOG_FAILED: The entry cannot be written.
        AUDIT_LOCK_FAILED: Another process held the log for too long.
    """
    from failsoft.framework.audit.trail import AuditLog  # noqa: PLC0415 - `failsoft --help` needs none of it

    settings = Settings.load()
    trail = AuditLog.from_settings(settings.model_copy(update={"audit_path": settings.audit_path or log}))
    if trail is None:
        return
    await trail.record(change_entry(operation, tool=tool, principal=operator(), **about))


def operator() -> str:
    """Return who types this command, as audit entries and held breakers name it; the user behind `sudo` too."""
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):  # no such user, as in containers; or none is said, on Windows
        name = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    behind = os.environ.get("SUDO_USER")
    return f"operator:{name} ({behind})" if behind and behind != name else f"operator:{name}"


def find_project(start: Path | None = None) -> ConfiguredProject | None:
    """Return the project around a folder, by default the current one; None if none names an application.

    Raises:
        CONFIG_ERROR: Its `pyproject.toml` is not TOML, or `[tool.failsoft]` is not `app = "..."`.
    """
    file, content = _project_file(start)
    tools = _table(content, "tool", file)
    return (
        _project(_table(tools, "failsoft", file), _table(content, "project", file), file)
        if "failsoft" in tools
        else None
    )


def find_silences() -> Silences:
    """Return the rules that the project around the current folder silences.

    Raises:
        CONFIG_ERROR: Its `pyproject.toml` is not TOML, a rule in it is unknown, or a reason is missing.
    """
    file, content = _project_file(None)
    table = _table(_table(content, "tool", file), "failsoft", file)
    return Silences.from_table(table.get("silence", {}), place=str(file))


def _project_file(start: Path | None) -> tuple[Path, Mapping[str, Any]]:
    """Return the closest `pyproject.toml` at or above a folder, and what it holds; nothing where there is none."""
    start = (start or Path.cwd()).resolve()
    file = next((found for folder in (start, *start.parents) if (found := folder / "pyproject.toml").is_file()), None)
    if file is None:
        return start / "pyproject.toml", {}
    try:
        data = read_regular(file, _PROJECT_BYTES_AT_MOST + 1)
        if len(data) > _PROJECT_BYTES_AT_MOST:
            raise ConfigurationError(issue=f"{file} has more than {_PROJECT_BYTES_AT_MOST} bytes")
        return file, tomllib.loads(data.decode())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(issue=f"{file} cannot be read ({bounded(str(error))})") from error


def _table(content: Mapping[str, Any], name: str, file: Path) -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, Mapping):
        raise ConfigurationError(issue=f"{name} in {file} is not a table")
    return table


def _project(table: Mapping[str, Any], about: Mapping[str, Any], file: Path) -> ConfiguredProject | None:
    unknown = sorted(table.keys() - _KNOWN)
    if unknown:
        raise ConfigurationError(
            issue=f"[tool.failsoft] in {file} has an unknown key '{bounded(unknown[0])}'",
            resolution="it takes app and silence",
        )
    app = table.get("app")
    if app is None:
        return None
    if not isinstance(app, str):
        raise ConfigurationError(issue=f"[tool.failsoft] app in {file} is not of the form module:attribute")
    source = file.parent / "src"
    package = app.partition(":")[0].partition(".")[0]
    is_in_source = any((source / f"{package}{ending}").exists() for ending in ("", ".py"))
    return ConfiguredProject(app, source if is_in_source else file.parent, about.get("name"), about.get("version"))


def _say_left_out(name: str, error: ToolError) -> None:
    """Print which installed toolset cannot be made, and what it lacks, in one line."""
    lacks = f"{error.issue}: {error.resolution}" if isinstance(error, ConfigurationError) else error.message
    typer.echo(f"toolset {name} is left out: {printable(lacks)}", err=True)


def _unknown(name: str, known: Sequence[str], command: str) -> ConfigurationError:
    closest = closest_name(name, known)
    listed = ", ".join(known) or "none"
    asked = f"; did you mean '{closest}'?" if closest else "."
    is_here = Path(f"{name}.py").is_file() or Path(name, "__init__.py").is_file()
    meant = f"--app {name}" if is_here else closest or (known[0] if known else "")
    return ConfigurationError(
        message=f"There is no toolset '{bounded(name)}'{asked} The toolsets are: {listed}.",
        suggestions=[closest] if closest else known,
        operator_hint=command.format(meant) if meant else "",
    )

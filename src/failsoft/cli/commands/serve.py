"""`failsoft serve` and `failsoft proxy`: toolsets, or other servers, as a running MCP server."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from starlette.requests import ClientDisconnect

from failsoft.cli.errors import ExitCode, report, usage
from failsoft.cli.options import App, Root, Toolsets
from failsoft.cli.reload import relay_and_reload, serve_and_reload
from failsoft.cli.target import Target
from failsoft.composition import install
from failsoft.framework.clock import OnceAMinute
from failsoft.framework.errors import BootstrapFailure, ConfigurationError, SelfAuditFailure, ToolError
from failsoft.framework.logs.log_output import announce
from failsoft.framework.logs.logs import configure_logging
from failsoft.framework.text import bounded
from failsoft.recovery.state.store import default_file
from failsoft.server.sources import ToolSource, not_set_up

if TYPE_CHECKING:
    from failsoft.proxy.serve import ProxySource
    from failsoft.proxy.targets import UpstreamTarget

_STATE_URL = "FAILSOFT_STATE_URL"
_LIBRARIES = ("",)
"""The standard library's loggers that are forwarded: the root logger, and so all of them."""
_SHARED_STATE = "sqlite:"
_HTTP_ONLY = ("host", "port", "workers", "insecure")


class Transport(StrEnum):
    """How clients reach the server."""

    stdio = "stdio"
    http = "http"


Via = Annotated[Transport, typer.Option("--transport", help="How clients reach the server.")]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen, over HTTP.")]
Port = Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="Over HTTP: the port, or 0 for a free one.")]
Workers = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Over HTTP: processes that share the port.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Serve beyond this machine without a token.")]


def serve(  # noqa: PLR0913 - what an operator may set
    toolsets: Toolsets = None,
    *,
    ctx: typer.Context,
    app: App = None,
    root: Root = None,
    transport: Via = Transport.stdio,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    workers: Workers = 1,
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLE", help="The only role that sessions of the workspace toolset may have here."),
    ] = None,
    insecure: Insecure = False,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when a file of the application changes.")] = False,
) -> None:
    """Serve toolsets to MCP clients, over stdio or HTTP.

    Over stdio, the client starts this command, and the server ends when the client does. Over HTTP, stop the server
    with Ctrl-C; calls in flight may finish. Settings come from the environment: see `failsoft doctor`.

    Examples:
      failsoft serve docs --root docs
      failsoft serve --app library:Library --transport http --reload
      FAILSOFT_AUTH_TOKEN=... failsoft serve docs --transport http --host 0.0.0.0
    """
    target = Target(toolsets or (), app, root=root)
    if role is not None:
        os.environ["FAILSOFT_WORKSPACE_ROLE"] = role  # workers are given it, too
    source = target.source()
    if reload:
        raise typer.Exit(_reload(transport, source.folder, workers))
    from failsoft.server import serve as run  # noqa: PLC0415 - a second, not spent on a misspelt toolset

    project = target.project
    served = [*(toolsets or ()), *(("--app", app) if app else ())]
    with _serving(ctx, transport, workers, " ".join(["failsoft serve", *served, "--transport http"])):
        run(
            LoggedSource(source, role=role),
            transport=transport.value,
            host=host,
            port=port,
            name=project.name if project is not None else None,
            version=project.version if project is not None else None,
            workers=workers,
            insecure=insecure,
            on_ready=partial(_announce, "failsoft serves"),
        )


def proxy(  # noqa: PLR0913 - what an operator may set
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="The command that starts the server, over stdio."),
    ] = None,
    *,
    ctx: typer.Context,
    url: Annotated[str | None, typer.Option(metavar="URL", help="A running server, over HTTP.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with several servers: `mcpServers`, as MCP clients read it."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="The server's name in metrics, logs and failures.")] = "",
    overrides: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML: annotations, time-outs, names, hidden tools.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:VALUE", help="With --url: a header for every request; ${VARIABLE} is replaced by its value."
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A variable of this process that the server gets, too; can be repeated."),
    ] = None,
    transport: Via = Transport.stdio,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    workers: Workers = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Over stdio: serve /metrics and /healthz on 127.0.0.1; 0: a free port.",
        ),
    ] = None,
    insecure: Insecure = False,
) -> None:
    """Put failsoft in front of an MCP server in any language.

    Arguments are checked against the server's schemas, failures become typed errors that say what to do next, and calls
    are retried where that is safe. A server process that dies is restarted; of the environment it gets the variables
    that the SDK deems safe, and those that --env names. Metrics, logs and audit work as in `serve`.

    Examples:
      failsoft proxy -- npx -y @modelcontextprotocol/server-filesystem .
      failsoft proxy --url http://127.0.0.1:9000/mcp --transport http
    """
    if sum((bool(command), url is not None, config is not None)) != 1:
        message = "give exactly one of: a command after --, --url URL, --config FILE"
        raise usage(message=message, hint="failsoft proxy --help")
    from failsoft.proxy.listing import read_overrides  # noqa: PLC0415 - 0.6 s that `serve` does without
    from failsoft.proxy.serve import ProxySource, run_http, run_stdio  # noqa: PLC0415 - as above
    from failsoft.proxy.targets import check_programs, from_command, from_file, from_url  # noqa: PLC0415 - as above

    if config is not None:
        targets = from_file(config)
    elif url is not None:
        targets = [from_url(url, name=name, headers=_headers(header or []))]
    else:
        targets = [from_command(command or [], name=name)]
    if env:
        targets = _with_variables(targets, env)
    check_programs(targets)
    source = ProxySource(tuple(targets), read_overrides(overrides), asks=transport is Transport.stdio)
    over_http = transport is Transport.http
    if metrics_port is not None and over_http:
        raise usage(message="Over HTTP, /metrics is served on --port.", hint="leave out --metrics-port")
    command_line = "failsoft proxy ..." + (" --transport http" if over_http else "")
    with _serving(ctx, transport, workers, command_line, port_option="--port" if over_http else "--metrics-port"):
        if not over_http:
            run_stdio(LoggedSource(source), name=name or None, metrics_port=metrics_port)
            return
        run_http(
            LoggedSource(source),
            name=name or None,
            host=host,
            port=port,
            workers=workers,
            insecure=insecure,
            on_ready=partial(_announce, "failsoft proxy on"),
        )


@contextmanager
def _serving(
    ctx: typer.Context, transport: Transport, workers: int, command: str, *, port_option: str = "--port"
) -> Iterator[None]:
    """Set up the state store for a server in this process, and map an unusable address to its exit code.

    Unless FAILSOFT_STATE_URL is set, a single worker keeps its breakers in memory and its durable records in the file
    in the user's state folder; several share all state in that file.

    Args:
        ctx: The context of the command.
        transport: How clients reach the server.
        workers: The number of worker processes.
        command: The command to suggest for another address.
        port_option: The option for the port that it listens on.
    """
    if transport is Transport.stdio:
        _introduce_stdio(ctx)
    if not os.environ.get(_STATE_URL):
        if workers > 1:
            os.environ[_STATE_URL] = _SHARED_STATE
        else:
            install(durable=default_file())
    try:
        yield
    except ConfigurationError as error:
        # The address is in use or does not belong to this machine; the configuration is valid otherwise.
        if isinstance(error, (BootstrapFailure, SelfAuditFailure)) or not isinstance(error.__cause__, OSError):
            raise
        is_taken = error.__cause__.errno in {errno.EADDRINUSE, errno.EACCES}
        error.operator_hint = f"{command} {f'{port_option} 0' if is_taken else '--host 127.0.0.1'}"
        raise typer.Exit(report(error, code=ExitCode.NOT_STARTED, is_server=True)) from error


def _reload(transport: Transport, folder: Path | None, workers: int) -> int:
    if workers > 1:
        raise usage(message="--reload goes with a single worker.", hint="leave out --workers")
    arguments = [word for word in sys.argv[1:] if word != "--reload"]
    watched = folder or Path.cwd()
    if transport is Transport.stdio:
        return relay_and_reload(arguments, watched)
    return serve_and_reload(arguments, watched)


def _introduce_stdio(ctx: typer.Context) -> None:
    """Print a hint on a terminal, for people who meant to serve over HTTP or started the command by hand."""
    unused = [f"--{name}" for name in _HTTP_ONLY if str(ctx.get_parameter_source(name)).endswith("COMMANDLINE")]
    if unused:
        named = ", ".join(unused)
        announce(f"failsoft serves over stdio, without {named}: that goes with --transport http")
    if sys.stdin is not None and sys.stdin.isatty():
        announce("failsoft waits for an MCP client on standard input (Ctrl-D ends it; see --transport http)")


def _announce(what: str, url: str) -> None:
    announce(f"{what} {url}/mcp (metrics on {url}/metrics; Ctrl-C ends it)")


def _with_variables(targets: list[UpstreamTarget], names: list[str]) -> list[UpstreamTarget]:
    """Return the targets with these variables of this process added to what their programs get.

    Raises:
        CONFIG_ERROR: A variable is not set, or no program would get it.
    """
    for name in names:
        if "=" in name:
            issue = f"--env takes the name of a variable alone, not '{bounded(name.partition('=')[0])}=...'"
            raise ConfigurationError(issue=issue, resolution="set the variable, and give its name")
        if name not in os.environ:
            raise ConfigurationError(issue=f"--env names '{bounded(name)}', which is not set")
    if not any(target.command for target in targets):
        raise ConfigurationError(issue="--env goes with a server that is started, not with one at a URL")
    given = {name: os.environ[name] for name in names}
    return [
        replace(target, environment={**given, **target.environment}) if target.command else target for target in targets
    ]


def _headers(given: list[str]) -> dict[str, str]:
    from failsoft.proxy.targets import expanded  # noqa: PLC0415 - as above

    headers = {}
    for text in given:
        name, separator, value = text.partition(":")
        if not separator or not name.strip():
            raise usage(message="a --header is of the form NAME:VALUE", hint="failsoft proxy --help")
        headers[name.strip()] = expanded(value.strip(), f"the --header {name.strip()}")
    return headers


@dataclass(frozen=True, slots=True)
class LoggedSource:
    """Makes tools where the process logs as an application does: each worker of a server sets that up for itself."""

    source: ToolSource | ProxySource
    role: str | None = None

    def __call__(self) -> list[Any]:
        """Return the tools. The arguments and errors are those of the source.

        Raises:
            CONFIG_ERROR: None of them takes the role.
        """
        try:
            configure_logging(intercept=_LIBRARIES)
        except ToolError as error:  # the settings are not usable
            if not getattr(self.source, "is_governed", False):
                raise
            raise not_set_up(error) from error
        _drop_noise()
        tools = self.source()
        if self.role is not None and all(getattr(tool.settings, "role", None) != self.role for tool in tools):
            issue = f"--role {bounded(self.role)} goes with the toolset 'workspace', which is not served"
            raise ConfigurationError(issue=issue, resolution="leave it out")
        return tools


def _drop_noise() -> None:
    """Drop log lines of libraries for every request, and tracebacks of normal events."""
    root = logging.getLogger()
    root.setLevel(max(root.level, logging.WARNING))
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_no_disconnect)
    of_others = OnceAMinute()  # the SDK warns of each request whose token is for another resource
    logging.getLogger("mcp.server.auth.middleware.bearer_auth").addFilter(lambda _: of_others.due() > 0)
    logging.getLogger("uvicorn.error").addFilter(_is_no_failed_start)


def _is_no_disconnect(record: logging.LogRecord) -> bool:
    """Clients leave in the middle of a request every day; the SDK logs each with a traceback, as an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


def _is_no_failed_start(record: logging.LogRecord) -> bool:
    """Our own error says why a start failed; uvicorn (`lifespan/on.py`) logs the same as a traceback."""
    return record.module != "on"

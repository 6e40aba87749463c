"""`failsoft proxy`: typed errors, validation, recovery and metrics in front of any MCP server."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failsoft.cli.commands.serve import Transport, serving
from failsoft.cli.faults import usage
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.proxy.targets import UpstreamTarget

__all__ = ["proxy"]


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
        list[str] | None, typer.Option(metavar="NAME:VALUE", help="With --url: a header for every request.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A variable of this process that started servers get; repeats."),
    ] = None,
    transport: Annotated[Transport, typer.Option(help="How clients reach the proxy.")] = Transport.stdio,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen, over HTTP.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Over HTTP: the port, or 0 for a free one.")
    ] = 8321,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Over HTTP: processes that share the port.")
    ] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Over stdio: serve /metrics and /healthz on 127.0.0.1; 0: a free port.",
        ),
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Serve beyond this machine without a token.")] = False,
) -> None:
    """Put failsoft in front of an MCP server in any language.

    Arguments are checked against the server's schemas, failures become typed errors that say what to do next, and calls
    are retried where that is safe. A server process that dies is restarted; of our variables it gets what the SDK deems
    safe, and what --env names. Metrics, logs and audit work as in `serve`.

    Examples:
      failsoft proxy -- npx -y @modelcontextprotocol/server-filesystem .
      failsoft proxy --url http://127.0.0.1:9000/mcp --transport http
    """
    if sum((bool(command), url is not None, config is not None)) != 1:
        raise ConfigurationError(issue="give exactly one of: a command after --, --url URL, --config FILE")
    from failsoft.cli.targets.toolsets import LoggedSource  # noqa: PLC0415 - `failsoft --help` needs none of it
    from failsoft.proxy.listing import read_overrides  # noqa: PLC0415 - as above
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
    with serving(ctx, transport, workers, command_line, port_option="--port" if over_http else "--metrics-port"):
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
            on_ready=_announce,
        )


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
    headers = {}
    for text in given:
        name, separator, value = text.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError(issue="a --header is of the form NAME:VALUE")
        headers[name.strip()] = value.strip()
    return headers


def _announce(url: str) -> None:
    typer.echo(f"failsoft proxy on {url}/mcp (metrics on {url}/metrics; Ctrl-C ends it)", err=True)

"""`failsoft serve`: toolsets and applications as an MCP server."""

from __future__ import annotations

import errno
import sys
from enum import StrEnum
from typing import Annotated

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.faults import report
from failsoft.cli.options import App, Root
from failsoft.framework.errors import BootstrapFailure, ConfigurationError, SelfAuditFailure

__all__ = ["serve"]


_HTTP_ONLY = ("host", "port", "workers", "insecure")


class Transport(StrEnum):
    """How clients reach the server."""

    stdio = "stdio"
    http = "http"


def serve(  # noqa: PLR0913 - what an operator may set
    toolsets: Annotated[list[str] | None, typer.Argument(metavar="TOOLSET", help="Installed toolsets.")] = None,
    *,
    ctx: typer.Context,
    app: App = None,
    root: Root = None,
    transport: Annotated[Transport, typer.Option(help="How clients reach it.")] = Transport.stdio,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen, over HTTP.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Over HTTP: the port, or 0 for a free one.")
    ] = 8321,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Over HTTP: processes that share the port.")
    ] = 1,
    insecure: Annotated[bool, typer.Option("--insecure", help="Serve beyond this machine without a token.")] = False,
) -> None:
    """Serve toolsets to MCP clients, over stdio or HTTP.

    Over stdio, the client starts this command itself, and it ends with its client. Over HTTP it ends with Ctrl-C;
    calls in flight may finish. Settings come from the environment: see `failsoft doctor`.
    """
    from failsoft.cli.toolsets import LoggedSource, tool_source  # noqa: PLC0415 - `failsoft --help` needs none of it

    source = LoggedSource(tool_source(toolsets or (), app, root))
    from failsoft.server import serve as run  # noqa: PLC0415 - a second, which a misspelt toolset need not wait for

    if transport is Transport.stdio:
        _introduce_stdio(ctx)
    try:
        run(
            source,
            transport=transport.value,
            host=host,
            port=port,
            workers=workers,
            insecure=insecure,
            on_ready=_announce,
        )
    except ConfigurationError as error:
        # The address is taken or is not ours: nothing is wrong with the configuration, and another one may do.
        if isinstance(error, (BootstrapFailure, SelfAuditFailure)) or not isinstance(error.__cause__, OSError):
            raise
        is_taken = error.__cause__.errno in {errno.EADDRINUSE, errno.EACCES}
        other = "--port 0" if is_taken else "--host 127.0.0.1"
        served = [*(toolsets or ()), *(("--app", app) if app else ())]
        error.operator_hint = " ".join(["failsoft serve", *served, "--transport http", other])
        raise typer.Exit(report(error, code=ExitCode.NOT_STARTED)) from error


def _introduce_stdio(ctx: typer.Context) -> None:
    """Say what somebody who meant to serve over HTTP, or who started it by hand, may wonder about."""
    unused = [f"--{name}" for name in _HTTP_ONLY if str(ctx.get_parameter_source(name)).endswith("COMMANDLINE")]
    if unused:
        named = ", ".join(unused)
        typer.echo(f"failsoft serves over stdio, without {named}: that goes with --transport http", err=True)
    if sys.stdin is not None and sys.stdin.isatty():
        typer.echo(
            "failsoft waits for an MCP client on standard input (Ctrl-D ends it; see --transport http)", err=True
        )


def _announce(url: str) -> None:
    typer.echo(f"failsoft serves {url}/mcp (metrics on {url}/metrics; Ctrl-C ends it)", err=True)

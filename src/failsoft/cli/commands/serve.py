"""`failsoft serve`: toolsets as a running MCP server."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from failsoft.cli.exits import ExitCode
from failsoft.cli.faults import report, usage
from failsoft.cli.options import App, Root, Toolsets
from failsoft.composition import install
from failsoft.framework.errors import BootstrapFailure, ConfigurationError, SelfAuditFailure

__all__ = ["Transport", "serve", "serving"]


_STATE_URL = "FAILSOFT_STATE_URL"
_SHARED_STATE = "sqlite:"
_HTTP_ONLY = ("host", "port", "workers", "insecure")


class Transport(StrEnum):
    """How clients reach the server."""

    stdio = "stdio"
    http = "http"


def serve(  # noqa: PLR0913 - what an operator may set
    toolsets: Toolsets = None,
    *,
    ctx: typer.Context,
    app: App = None,
    root: Root = None,
    transport: Annotated[Transport, typer.Option(help="How clients reach the server.")] = Transport.stdio,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen, over HTTP.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Over HTTP: the port, or 0 for a free one.")
    ] = 8321,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Over HTTP: processes that share the port.")
    ] = 1,
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLE", help="The only role that sessions of the workspace toolset may have here."),
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Serve beyond this machine without a token.")] = False,
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
    from failsoft.cli.targets.toolsets import CommandTarget, LoggedSource  # noqa: PLC0415 - `failsoft --help` needs none of it

    if role is not None:
        os.environ["FAILSOFT_WORKSPACE_ROLE"] = role  # workers are given it, too
    target = CommandTarget(toolsets or (), app, root)
    source = target.source()
    if reload:
        raise typer.Exit(_reload(transport, source.folder, workers))
    from failsoft.server import serve as run  # noqa: PLC0415 - a second, not spent on a misspelt toolset

    project = target.project
    served = [*(toolsets or ()), *(("--app", app) if app else ())]
    with serving(ctx, transport, workers, " ".join(["failsoft serve", *served, "--transport http"])):
        run(
            LoggedSource(source),
            transport=transport.value,
            host=host,
            port=port,
            name=project.name if project is not None else None,
            version=project.version if project is not None else None,
            workers=workers,
            insecure=insecure,
            on_ready=_announce,
        )


@contextmanager
def serving(
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
            from failsoft.recovery.state.store import default_file  # noqa: PLC0415 - `failsoft --help` needs none of it

            install(durable=default_file())
    try:
        yield
    except ConfigurationError as error:
        # The address is in use or does not belong to this machine; the configuration is valid otherwise.
        if isinstance(error, (BootstrapFailure, SelfAuditFailure)) or not isinstance(error.__cause__, OSError):
            raise
        is_taken = error.__cause__.errno in {errno.EADDRINUSE, errno.EACCES}
        error.operator_hint = f"{command} {f'{port_option} 0' if is_taken else '--host 127.0.0.1'}"
        raise typer.Exit(report(error, code=ExitCode.NOT_STARTED)) from error


def _reload(transport: Transport, folder: Path | None, workers: int) -> int:
    if workers > 1:
        raise usage(message="--reload goes with a single worker.", hint="leave out --workers")
    arguments = [word for word in sys.argv[1:] if word != "--reload"]
    watched = folder or Path.cwd()
    if transport is Transport.stdio:
        from failsoft.cli.reload.stdio_relay import relay_and_reload  # noqa: PLC0415 - for development only

        return relay_and_reload(arguments, watched)
    from failsoft.cli.reload.supervisor import serve_and_reload  # noqa: PLC0415 - the same

    return serve_and_reload(arguments, watched)


def _introduce_stdio(ctx: typer.Context) -> None:
    """Print a hint on a terminal, for people who meant to serve over HTTP or started the command by hand."""
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

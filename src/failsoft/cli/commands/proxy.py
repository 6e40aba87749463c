"""`failsoft proxy`: typed errors, validation, recovery and metrics in front of any MCP server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from failsoft.cli.commands.serve import Transport, serving
from failsoft.framework.errors import ConfigurationError

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
    transport: Annotated[Transport, typer.Option(help="How clients reach the proxy.")] = Transport.stdio,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen, over HTTP.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Over HTTP: the port, or 0 for a free one.")
    ] = 8321,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Over HTTP: processes that share the port.")
    ] = 1,
    insecure: Annotated[bool, typer.Option("--insecure", help="Serve beyond this machine without a token.")] = False,
) -> None:
    """Put failsoft in front of an MCP server in any language.

    Arguments are checked against the server's schemas, failures become typed errors that say what to do next, and calls
    are retried where that is safe. A server process that dies is restarted. Metrics, logs and audit work as in `serve`.

    Examples:
      failsoft proxy -- npx -y @modelcontextprotocol/server-filesystem .
      failsoft proxy --url http://127.0.0.1:9000/mcp --transport http
    """
    if sum((bool(command), url is not None, config is not None)) != 1:
        raise ConfigurationError(issue="give exactly one of: a command after --, --url URL, --config FILE")
    from failsoft.cli.targets.toolsets import LoggedSource  # noqa: PLC0415 - `failsoft --help` needs none of it
    from failsoft.proxy.listing import read_overrides  # noqa: PLC0415 - as above
    from failsoft.proxy.serve import ProxySource, run_proxy  # noqa: PLC0415 - as above
    from failsoft.proxy.targets import check_programs, from_command, from_file, from_url  # noqa: PLC0415 - as above

    if config is not None:
        targets = from_file(config)
    elif url is not None:
        targets = [from_url(url, name=name, headers=_headers(header or []))]
    else:
        targets = [from_command(command or [], name=name)]
    check_programs(targets)
    source = ProxySource(tuple(targets), read_overrides(overrides), asks=transport is Transport.stdio)
    with serving(ctx, transport, workers, "failsoft proxy ... --transport http"):
        run_proxy(
            LoggedSource(source),
            name=name or None,
            transport=transport.value,
            host=host,
            port=port,
            workers=workers,
            insecure=insecure,
            on_ready=_announce,
        )


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

"""`serve`: runs a server until a signal, or until its only client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings

from failsoft.framework.errors import ConfigurationError
from failsoft.server.assembly import assemble
from failsoft.server.draining import stop_watching
from failsoft.server.sources import Tools
from failsoft.server.telemetry import start_with


def serve(  # noqa: PLR0913 - options of an operator, keyword-only except the first
    tools: Tools,
    *,
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8321,
    name: str | None = None,
    version: str | None = None,
    instructions: str | None = None,
    allowed_hosts: Sequence[str] | None = None,
    token_verifier: TokenVerifier | None = None,
    auth: AuthSettings | None = None,
    insecure: bool = False,
    workers: int = 1,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve these tools until a signal, or until the only client disconnects (stdio).

    Args:
        tools: Toolsets, their classes, modules of `@soft` functions, or a function that returns any of these. With
            several workers it must be picklable: classes, a module-level function, or a `ToolSource`.
        transport: `stdio` for one client on the standard streams, or `http`.
        host: Where to listen.
        port: The port, or 0 for a free one.
        name: What the server calls itself; by default the name of its only toolset, else `failsoft`.
        version: The version that it reports; by default that of the package that the tools are from.
        instructions: What it tells clients about itself; by default the `introduction` of each toolset.
        allowed_hosts: Further Host headers to accept; by default `FAILSOFT_ALLOWED_HOSTS`.
        token_verifier: Checks bearer tokens on `/mcp` and `/metrics`; by default one for `FAILSOFT_AUTH_TOKEN(S)`.
        auth: OAuth settings of the SDK, for a protected resource; they go with a token verifier.
        insecure: Allow serving beyond this machine without a token.
        workers: Processes that share the port; at least 1.
        on_ready: Called with the server's URL once it answers; over HTTP only.

    Raises:
        CONFIG_ERROR: Two tools have one name, something given is not a toolset, the address cannot be used, or the
            server would be exposed without a token.
        INIT_ERROR: A toolset failed to start.

    Examples:
        >>> if __name__ == "__main__":
        ...     serve(Shelf, transport="http", port=8321)  # until Ctrl-C
    """
    if transport not in ("stdio", "http"):
        raise ConfigurationError(issue=f"there is no transport '{transport}'; there are stdio and http")
    if transport == "stdio":
        try:
            _serve_stdio(tools, name, version, instructions)
        finally:
            stop_watching()
        return
    # uvicorn is imported for HTTP only.
    from failsoft.server.http.process.process import AppFactory  # noqa: PLC0415 - a stdio server needs no web server
    from failsoft.server.http.process.serve import serve_http  # noqa: PLC0415 - a stdio server needs no web server

    factory = AppFactory(
        tools=tools,
        name=name,
        version=version,
        instructions=instructions,
        host=host,
        allowed_hosts=allowed_hosts,
        token_verifier=token_verifier,
        auth=auth,
    )
    serve_http(factory, port=port, insecure=insecure, workers=workers, on_ready=on_ready or _ignore_url)


def _serve_stdio(tools: Tools, name: str | None, version: str | None, instructions: str | None) -> None:
    from failsoft.server.stdio import serve_stdio  # noqa: PLC0415 - with its transport only

    assembly = assemble(tools, name=name, version=version, instructions=instructions)
    start_with(assembly.lifecycle, assembly.settings)
    asyncio.run(serve_stdio(assembly.server, assembly.lifecycle, assembly.settings))


def _ignore_url(_url: str) -> None:
    return

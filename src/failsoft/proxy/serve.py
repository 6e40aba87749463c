"""Assemble a proxy, and serve it over stdio or HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from failsoft._version import __version__
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.normalize import THIRD_PARTIES
from failsoft.framework.safe.author_reports import logger
from failsoft.proxy.clients import Front
from failsoft.proxy.listing import Overrides
from failsoft.proxy.protocol import LiveToolbox, ProxyProtocol
from failsoft.proxy.targets import UpstreamTarget
from failsoft.proxy.toolset import ProxyTools
from failsoft.server.assembly import Assembly, warn_of_misspelt_variables
from failsoft.server.draining import stop_watching
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.sources import Tools
from failsoft.server.telemetry import start_with


@dataclass(frozen=True, slots=True)
class ProxySource:
    """Makes the toolsets of a proxy, in any process.

    Args:
        targets: The upstreams; the tools of several are named `NAME__tool`.
        overrides: What the operator changes about their tools.
        asks: Whether upstreams may ask the client: where there is a single one.

    Raises:
        CONFIG_ERROR: Two upstreams have one name.
    """

    targets: tuple[UpstreamTarget, ...]
    overrides: Overrides
    asks: bool = False

    def __call__(self) -> list[ProxyTools]:
        """Return a toolset for each upstream."""
        names = [target.name for target in self.targets]
        if len(set(names)) != len(names):
            raise ConfigurationError(issue=f"two servers have one name ({', '.join(names)})")
        front = Front(asks=self.asks)
        several = len(names) > 1
        tools = [
            ProxyTools(target, overrides=self.overrides, front=front, prefix=f"{target.name}__" if several else "")
            for target in self.targets
        ]
        for tool in tools if several else ():
            tool.neighbors = tools
        return tools


_QUOTING = ("client", "mcp.client.streamable_http")
"""Loggers of the SDK that quote each message of an upstream that breaks the protocol, the second one at length."""


def assemble_proxy(
    tools: Tools, *, name: str | None = None, version: str | None = None, instructions: str | None = None
) -> Assembly:
    """Return a server for the upstreams of a `ProxySource`; the signature is that of `assemble`."""
    made: list[ProxyTools] = tools()  # type: ignore[operator, assignment]  # a ProxySource
    THIRD_PARTIES.load()
    for quoting in _QUOTING:
        logging.getLogger(quoting).setLevel(logging.CRITICAL)
    toolbox = LiveToolbox(made)
    lifecycle = Lifecycle(made)
    settings = made[0].runtime.settings
    warn_of_misspelt_variables(made)
    protocol = ProxyProtocol(toolbox, made, lifecycle, settings)
    name = name or (made[0].name if len(made) == 1 else "failsoft-proxy")
    version = version or __version__
    server = protocol.server(name, version=version, instructions=instructions)
    made[0].front.attend(server)
    return Assembly(name, version, tuple(made), toolbox, lifecycle, settings, server, protocol.asking)


def run_stdio(
    source: Callable[[], list[ProxyTools]], *, name: str | None = None, metrics_port: int | None = None
) -> None:
    """Serve the upstreams' tools to one client on our standard streams, until it leaves or a signal comes.

    Args:
        source: A `ProxySource`, or what makes the same.
        name: What the proxy calls itself; by default the name of its only upstream.
        metrics_port: Where metrics and probes are served on loopback, or 0 for a free port; None for nowhere.

    Raises:
        CONFIG_ERROR: Two upstreams have one name, or the port cannot be used.
    """
    try:
        asyncio.run(_serve_stdio(source, name, metrics_port))
    finally:
        stop_watching()


async def _serve_stdio(source: Callable[[], list[ProxyTools]], name: str | None, metrics_port: int | None) -> None:
    from failsoft.server.stdio import serve_stdio  # noqa: PLC0415 - with its transport only

    assembly = assemble_proxy(source, name=name)
    start_with(assembly.lifecycle, assembly.settings)
    async with AsyncExitStack() as stack:
        if metrics_port is not None:
            await stack.enter_async_context(_probes(assembly, metrics_port))
        await stack.enter_async_context(assembly.server.lifespan(assembly.server))
        await serve_stdio(assembly.server, assembly.lifecycle, assembly.settings)


@asynccontextmanager
async def _probes(assembly: Assembly, port: int) -> AsyncIterator[None]:
    """Serve metrics and probes on loopback while the block lasts."""
    from failsoft.server.http.app import probe_app  # noqa: PLC0415 - a stdio server seldom needs a web server
    from failsoft.server.http.connections import ConnectionLimits  # noqa: PLC0415 - the same
    from failsoft.server.http.process.process import bound_socket, serving_beside  # noqa: PLC0415 - the same

    limits = ConnectionLimits.from_settings(assembly.settings)
    with bound_socket("127.0.0.1", port) as listener:
        async with serving_beside(probe_app(assembly), listener, limits=limits):
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
            logger.bind(url=url).info("Metrics and probes are served beside stdio")
            yield


def run_http(
    source: Callable[[], list[ProxyTools]],
    *,
    name: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8321,
    workers: int = 1,
    insecure: bool = False,
    on_ready: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve the upstreams' tools over HTTP until a signal comes.

    Args:
        source: A `ProxySource`, or what makes the same and can be pickled; called in each process.
        name: What the proxy calls itself; by default the name of its only upstream.
        host: Where to listen.
        port: The port, or 0 for one that is free.
        workers: Processes that share the port; each has upstream processes of its own.
        insecure: Serve beyond this machine without a token all the same.
        on_ready: Called with the URL once it answers.

    Raises:
        CONFIG_ERROR: Two upstreams have one name, or the address cannot be used.
    """
    from failsoft.server.http.process.process import AppFactory  # noqa: PLC0415 - a stdio server needs no web server
    from failsoft.server.http.process.serve import serve_http  # noqa: PLC0415 - a stdio server needs no web server

    factory = AppFactory(tools=source, name=name, host=host, assemble=assemble_proxy)
    serve_http(factory, port=port, insecure=insecure, workers=workers, on_ready=on_ready)

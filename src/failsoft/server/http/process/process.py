"""Runs an app in this process, by uvicorn: binds the address, listens when ready, drains, ends with the parent."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import uvicorn
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE

from failsoft.framework.errors import ConfigurationError, InitializationError
from failsoft.framework.safe.author_reports import logger
from failsoft.metrics.board import Board, in_use
from failsoft.server.assembly import Assembly, assemble
from failsoft.server.draining import drain_on_signals, stop_watching
from failsoft.server.garbage import freeze_loaded
from failsoft.server.http.app import build_app
from failsoft.server.http.connections import ConnectionLimits, LimitedProtocol
from failsoft.server.http.process.heartbeat import Heartbeat
from failsoft.server.sources import Tools
from failsoft.server.telemetry import start_with

HURRY = getattr(signal, "SIGQUIT", None)
"""At this signal a worker skips the grace period: SIGTERM may reach it twice, from a service manager, too."""
_LAST_BYTES_S = 3
"""Time for clients to read pending responses once the server has drained, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFactory:
    """Makes the ASGI app, in this process or in a worker. The fields are the arguments of `serve`."""

    tools: Tools
    host: str
    name: str | None = None
    version: str | None = None
    instructions: str | None = None
    allowed_hosts: Sequence[str] | None = None
    token_verifier: TokenVerifier | None = None
    auth: AuthSettings | None = None
    assemble: Callable[..., Assembly] = assemble
    """Assembles the server; a module-level function, so that it can be pickled."""

    def __call__(self) -> Starlette:
        """Return the app.

        Raises:
            CONFIG_ERROR: Two tools have one name, or something given is not a toolset.
        """
        assembly = self.assemble(self.tools, name=self.name, version=self.version, instructions=self.instructions)
        return build_app(
            assembly,
            host=self.host,
            allowed_hosts=self.allowed_hosts,
            token_verifier=self.token_verifier,
            auth=self.auth,
        )


def run_server(app: Starlette, listener: socket.socket, *, on_ready: Callable[[], None]) -> None:
    """Serve an app of `AppFactory` in this process until a signal; it listens once the toolsets have started.

    Raises:
        CONFIG_ERROR: Another server has begun to listen on the address meanwhile.
        INIT_ERROR: A toolset failed to start; of a governed one BOOTSTRAP_FAILURE, or SELF_AUDIT_FAILURE.
    """
    assembly: Assembly = app.state.assembly
    start_with(assembly.lifecycle, assembly.settings)
    server = _Server(app, assembly, on_ready)
    try:
        server.run([listener])
    except SystemExit as error:
        if server.started or error.code != STARTUP_FAILURE:
            raise
        failure = assembly.lifecycle.failure or InitializationError()
        raise failure from failure.__cause__
    except OSError as error:
        if server.started:
            raise
        host, port, *_ = listener.getsockname()
        _refuse_address(host, port, error)
    finally:
        stop_watching()


class _Server(uvicorn.Server):
    """uvicorn's server with the drain as its handling of signals and its main loop as the heartbeat."""

    def __init__(self, app: Starlette, assembly: Assembly, on_ready: Callable[[], None]) -> None:
        limits, on_refused = ConnectionLimits.from_settings(assembly.settings), assembly.lifecycle.refused
        super().__init__(config_for(app, limits=limits, on_refused=on_refused))
        self._assembly = assembly
        self._on_ready = on_ready
        self._is_worker = multiprocessing.parent_process() is not None
        self._board = in_use() or Board.create(None, slot=0)
        publish = assembly.tools[0].runtime.events.publish
        self._heartbeat = Heartbeat(
            self._board, stall_s=assembly.settings.worker_stall_s, on_stall=None if self._is_worker else publish
        )
        self._while_serving = ExitStack()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # any context manager will do
        return drain_on_signals(
            self._assembly.lifecycle,
            grace_s=self._assembly.settings.shutdown_grace_s,
            then=self._end,
            hurry=HURRY if self._is_worker else None,
        )

    def _end(self) -> None:
        self.handle_exit(signal.SIGTERM, None)  # sse-starlette has its streams end by this method

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        freeze_loaded()
        self._while_serving.enter_context(self._heartbeat.watched())
        self._while_serving.enter_context(_end_without_supervisor())
        self._add_gauges()
        self._on_ready()

    def _add_gauges(self) -> None:
        pools = list({id(tool.runtime.threads): tool.runtime.threads for tool in self._assembly.tools}.values())
        for name, read in (
            ("mcp_workers", lambda: float(self._assembly.lifecycle.is_ready)),
            ("mcp_event_loop_lag_seconds", lambda: self._heartbeat.lag_s),
            ("mcp_connections", lambda: float(len(self.server_state.connections))),
            ("mcp_threads_busy", lambda: float(sum(pool.busy for pool in pools))),
            ("mcp_threads_waiting", lambda: float(sum(pool.waiting for pool in pools))),
        ):
            remove = self._assembly.tools[0].runtime.gauges.add(name, partial(_alone, read))
            self._while_serving.callback(remove)

    async def on_tick(self, counter: int) -> bool:
        self._heartbeat.beat(self._assembly.lifecycle.phase)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._board.beat(phase="stopped")  # it accepts no more connections from here on
        with self._while_serving:
            await super().shutdown(sockets)


def _alone(read: Callable[[], float]) -> dict[tuple[str, ...], float]:
    """Return the number of a gauge without labels."""
    return {(): read()}


@contextmanager
def _end_without_supervisor() -> Iterator[None]:
    """Shut down gracefully, as on SIGTERM, when the parent process of a worker has ended.

    The parent's sentinel is a pipe that the system closes with the parent.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        yield
        return
    loop = asyncio.get_running_loop()
    sentinel = parent.sentinel

    def end() -> None:
        loop.remove_reader(sentinel)
        logger.warning("The supervisor of this worker is gone, so the worker ends")
        signal.raise_signal(signal.SIGTERM)

    try:
        loop.add_reader(sentinel, end)
    except NotImplementedError:  # on Windows the loop can only watch sockets
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(sentinel)


@asynccontextmanager
async def serving_beside(app: Starlette, listener: socket.socket, *, limits: ConnectionLimits) -> AsyncIterator[None]:
    """Serve an app in this event loop while the block lasts; signals are left to what else the process serves."""
    server = _Beside(config_for(app, limits=limits))
    task = asyncio.create_task(server.serve([listener]), name="failsoft probes")
    try:
        yield
    finally:
        server.should_exit = True
        await task


class _Beside(uvicorn.Server):
    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # any context manager will do
        return nullcontext()


def config_for(
    app: Any, *, limits: ConnectionLimits | None = None, on_refused: Callable[[int], None] | None = None
) -> uvicorn.Config:
    """Return the configuration of uvicorn: bounded connections, no access log, no logging set-up, no websockets."""
    return uvicorn.Config(
        app,
        http=partial(LimitedProtocol, limits or ConnectionLimits(), on_refused=on_refused),  # type: ignore[arg-type]  # uvicorn accepts any factory
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        reset_contextvars=True,
        timeout_graceful_shutdown=_LAST_BYTES_S,
    )


@contextmanager
def bound_socket(host: str, port: int) -> Iterator[socket.socket]:
    """Bind an address while the block lasts; it is listened on once there is something that answers.

    Raises:
        CONFIG_ERROR: It cannot be used, as another server listens on it; its cause is an `OSError`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as bound:
        if os.name == "posix":  # elsewhere it lets two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # asyncio sets this only on sockets with an explicit protocol; accepted sockets inherit it. Without it every
        # response waits 40 ms for the client's delayed acknowledgement.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bound.setblocking(False)  # noqa: FBT003 - the socket's own signature
        try:
            bound.bind((host.strip("[]"), port))
        except (OSError, OverflowError) as error:
            _refuse_address(host, port, error)
        if (
            port == 0 and sys.platform == "linux"
        ):  # which takes a port back that it chose itself, at each end of listening
            with bound_socket(host, bound.getsockname()[1]) as chosen:
                yield chosen
            return
        yield bound


def _refuse_address(host: str, port: int, error: OSError | OverflowError) -> NoReturn:
    reason = str(getattr(error, "strerror", None) or error)
    cause = OSError(getattr(error, "errno", None), reason)
    raise ConfigurationError(issue=f"cannot listen on {host or 'every address'}, port {port} ({reason})") from cause

"""Runs the web server: one process, or several that share the port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from failsoft.framework.errors import ConfigurationError, InitializationError
from failsoft.framework.safe.author_reports import logger
from failsoft.server.assembly import Assembly
from failsoft.server.draining import CLEANUP_S, stop_watching
from failsoft.server.http.access import check_exposure
from failsoft.server.http.connections import ConnectionLimits
from failsoft.server.http.process.app_factory import AppFactory
from failsoft.server.http.process.uvicorn_config import config_for
from failsoft.server.lifecycle import require_sound
from failsoft.server.signals import signals_handled

_LIFESPAN_FAILED = 3
"""uvicorn's exit code for an app that did not start."""


def serve_http(
    factory: AppFactory, *, port: int, insecure: bool, workers: int, on_ready: Callable[[str], None]
) -> None:
    """Serve the app until a signal ends it. The arguments are those of `failsoft.serve`.

    Raises:
        CONFIG_ERROR: The address cannot be used, or the server would be exposed without a token.
        INIT_ERROR: A toolset failed to start; of a governed one BOOTSTRAP_FAILURE, or SELF_AUDIT_FAILURE.
    """
    # With several workers this app is not served: it is made to report configuration errors once, before any starts.
    app = factory()
    assembly: Assembly = app.state.assembly
    check_exposure(factory.host, has_token=app.state.has_token, insecure=insecure)
    _warn_of_missing_principals(app, assembly)
    with listening(factory.host, port) as listener:
        url = _url(factory.host, listener.getsockname()[1])
        if workers > 1:
            _check_shared_state(assembly)
            require_sound(assembly.tools)
            from failsoft.server.http.process.workers import serve_workers  # noqa: PLC0415 - multiprocessing only where it is used

            with signals_handled(_ignore):  # the supervisor does not restore the handlers that it replaces
                serve_workers(
                    factory,
                    listener,
                    limits=ConnectionLimits.from_settings(assembly.settings),
                    workers=workers,
                    end_within_s=assembly.settings.shutdown_grace_s + CLEANUP_S,
                    on_ready=lambda: on_ready(url),
                )
        else:
            _serve_alone(app, assembly, listener, on_ready=lambda: on_ready(url))


def _warn_of_missing_principals(app: Starlette, assembly: Assembly) -> None:
    """Log a warning if callers of a governed toolset have no principal, so that approvals are impossible."""
    governed = [tool.name for tool in assembly.tools if tool.governed]
    if governed and not app.state.has_token:
        logger.warning(
            "Serving {} without tokens: callers have no principal, so plans cannot be approved; set "
            "FAILSOFT_AUTH_TOKENS",
            ", ".join(governed),
        )


def _check_shared_state(assembly: Assembly) -> None:
    """Refuse, or log as an error, local state with several workers: keyed work could be done once per worker.

    Raises:
        CONFIG_ERROR: `FAILSOFT_STATE_WITHOUT_STORE` is `refuse`.
    """
    apart = [
        tool.name
        for tool in assembly.tools
        if tool.runtime.state.records(tool).is_local
        and (tool.governed or any(not bound.read_only for bound in tool.operations.values()))
    ]
    if not apart:
        return
    named = ", ".join(apart)
    issue = (
        f"each of several workers keeps keys and sessions of {named} in its own memory, so keyed work may be done twice"
    )
    if assembly.settings.state_without_store == "refuse":
        raise ConfigurationError(issue=issue, resolution="set FAILSOFT_STATE_URL, as sqlite:PATH or redis://...")
    logger.error("{}: set FAILSOFT_STATE_URL", issue[0].upper() + issue[1:])


def _serve_alone(app: Starlette, assembly: Assembly, listener: socket.socket, *, on_ready: Callable[[], None]) -> None:
    server = _Server(config_for(app, limits=ConnectionLimits.from_settings(assembly.settings)), on_ready)
    try:
        server.run([listener])
    except SystemExit as error:
        if error.code != _LIFESPAN_FAILED:
            raise
        failure = assembly.lifecycle.failure or InitializationError()
        raise failure from failure.__cause__
    finally:
        stop_watching()


class _Server(uvicorn.Server):
    """uvicorn's server with a callback once it accepts requests."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        with signals_handled(_ignore):  # uvicorn raises the signal again once it has ended by it
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def _ignore(_number: int, _frame: FrameType | None) -> None:
    return


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
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on an address while the block lasts.

    Raises:
        CONFIG_ERROR: It cannot be used; its cause is an `OSError`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]  # asyncio appends the address
        cause = OSError(getattr(error, "errno", None), reason)
        raise ConfigurationError(issue=f"cannot listen on {host or 'every address'}, port {port}: {reason}") from cause
    with listener:
        # asyncio sets this only on sockets with an explicit protocol; accepted sockets inherit it. Without it every
        # response waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setblocking(False)  # noqa: FBT003 - the socket's own signature
        yield listener


def _url(host: str, port: int) -> str:
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"

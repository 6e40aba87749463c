"""The web server under an app: one process, or several that share the port."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from loguru import logger
from starlette.applications import Starlette

from failsoft.framework.errors import ConfigurationError, InitializationError
from failsoft.server.access import check_exposure
from failsoft.server.app_factory import AppFactory
from failsoft.server.assembly import Assembly
from failsoft.server.draining import SIGNALS
from failsoft.server.self_audit import require_sound
from failsoft.server.uvicorn_config import config_for

__all__ = ["serve_http"]

_LIFESPAN_FAILED = 3
"""uvicorn's exit code for an app that did not start."""


def serve_http(
    factory: AppFactory, *, port: int, insecure: bool, workers: int, on_ready: Callable[[str], None]
) -> None:
    """Serve the app until a signal ends it. The arguments are those of `failsoft.serve`.

    Raises:
        CONFIG_ERROR: The address cannot be used, or the server would be open to everybody.
        INIT_ERROR: A toolset failed to start; of a governed one BOOTSTRAP_FAILURE, or SELF_AUDIT_FAILURE.
    """
    # With several workers this one is not served: it is made so that what is wrong shows here, once, and in words.
    app = factory()
    assembly: Assembly = app.state.assembly
    check_exposure(factory.host, has_token=app.state.has_token, insecure=insecure)
    with _listening(factory.host, port) as listener, _signals_answered():
        url = _url(factory.host, listener.getsockname()[1])
        if workers > 1:
            _warn_of_sessions_apart(assembly)
            require_sound(assembly.tools)
            from failsoft.server.workers import serve_workers  # noqa: PLC0415 - multiprocessing only where it is used

            serve_workers(factory, listener, workers=workers, on_ready=lambda: on_ready(url))
        else:
            _serve_alone(app, assembly, listener, on_ready=lambda: on_ready(url))


def _warn_of_sessions_apart(assembly: Assembly) -> None:
    """Say in the log that a call may reach a worker that does not know its session: nothing else would tell why."""
    apart = [tool.name for tool in assembly.tools if tool.governed and tool.runtime.state.is_local]
    if apart:
        logger.warning("Each worker knows its own sessions of {} only: set FAILSOFT_STATE_URL", ", ".join(apart))


def _serve_alone(app: Starlette, assembly: Assembly, listener: socket.socket, *, on_ready: Callable[[], None]) -> None:
    server = _Server(config_for(app), on_ready)
    try:
        server.run([listener])
    except SystemExit as error:
        if error.code != _LIFESPAN_FAILED:
            raise
        failure = assembly.lifecycle.failure or InitializationError()
        raise failure from failure.__cause__


class _Server(uvicorn.Server):
    """uvicorn, telling somebody when it has begun to answer."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]  # the address is told already
        cause = OSError(getattr(error, "errno", None), reason)
        raise ConfigurationError(issue=f"cannot listen on {host or 'every address'}, port {port}: {reason}") from cause
    with listener:
        # asyncio sets this only on sockets that name their protocol, and accepted ones inherit ours: without it every
        # answer waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setblocking(False)  # noqa: FBT003 - the socket's own signature
        yield listener


def _url(host: str, port: int) -> str:
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _signals_answered() -> Iterator[None]:
    """Take SIGINT and SIGTERM as answered once the server has ended by one: uvicorn raises them again at its end."""

    def answered(_number: int, _frame: FrameType | None) -> None:
        return

    before: dict[int, Any] = {}
    try:
        for number in SIGNALS:
            before[number] = signal.signal(number, answered)
    except ValueError:  # not the main thread: there is nothing to handle
        yield
        return
    try:
        yield
    finally:
        for number in SIGNALS:
            signal.signal(number, before[number])

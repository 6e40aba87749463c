"""The outermost layer of the HTTP app: the Host check for every route, and the count of requests in flight."""

from __future__ import annotations

import anyio
from loguru import logger
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.server.lifecycle import Lifecycle

__all__ = ["Gate"]

_CLOSING_S = 5.0


class Gate:
    """Lets a request in if its Host is ours, and counts calls until their answer has been written.

    The SDK checks the Host on its own route only, so that one is left to it.
    """

    def __init__(
        self, app: ASGIApp, *, security: TransportSecuritySettings, lifecycle: Lifecycle, mcp_path: str
    ) -> None:
        self._app = app
        self._security = TransportSecurityMiddleware(security)
        self._lifecycle = lifecycle
        self._mcp_path = mcp_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it with 421 or 403."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        outgoing = _Outgoing(send)
        await self._serve(scope, receive, outgoing)
        if outgoing.is_refused:
            await _see_it_closed(receive)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].removeprefix(scope.get("root_path", "")) != self._mcp_path:
            refusal = await self._security.validate_request(Request(scope))
            await (refusal or self._app)(scope, receive, send)
        elif scope["method"] != "POST":
            # A GET of an older client holds a stream open for as long as it likes: nobody should wait for it.
            await self._app(scope, receive, send)
        else:
            self._lifecycle.enter()
            try:
                await self._app(scope, receive, send)
            except ClientDisconnect:
                logger.debug("A client left before all of its request had come")
            finally:
                self._lifecycle.leave()


class _Outgoing:
    """`send` for a client that may have had its answer already.

    The server itself answers a body that breaks off or cannot be read, while we may still be about to write another
    answer. To the server that second one is a fault of the protocol; to us it is for nobody, as after a disconnect.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_refused = False

    async def __call__(self, message: Message) -> None:
        try:
            await self._send(message)
        except RuntimeError:  # messages in an order that ASGI forbids: a mistake in this app
            raise
        except Exception as refused:  # noqa: BLE001 - each server has its own type for this
            self.is_refused = True
            logger.debug("An answer was not sent, for its connection is over: {reason}", reason=type(refused).__name__)


async def _see_it_closed(receive: Receive) -> None:
    """Wait for the end of a connection that is being closed: to leave earlier looks as if we owed it an answer."""
    with anyio.move_on_after(_CLOSING_S):
        while (await receive())["type"] != "http.disconnect":
            pass

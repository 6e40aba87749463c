"""The outermost layer of the HTTP app: the Host check for every route, and the count of requests in flight."""

from __future__ import annotations

from loguru import logger
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.server.lifecycle import Lifecycle

__all__ = ["Gate"]


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
        send = _unless_gone(send)
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


def _unless_gone(send: Send) -> Send:
    """Return `send` for a client that may have had its answer already.

    The server itself answers a body that breaks off or cannot be read, while we may still be about to write another
    answer. To the server that second one is a fault of the protocol; to us it is for nobody, as after a disconnect.
    """

    async def sending(message: Message) -> None:
        try:
            await send(message)
        except RuntimeError:  # messages in an order that ASGI forbids: a mistake in this app
            raise
        except Exception as refused:  # noqa: BLE001 - each server has its own type for this
            logger.debug("An answer was not sent, for its connection is over: {reason}", reason=type(refused).__name__)

    return sending

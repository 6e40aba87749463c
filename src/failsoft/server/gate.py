"""The outermost layer of the HTTP app: the Host check for every route, and the count of requests in flight."""

from __future__ import annotations

from loguru import logger
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

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
        elif scope["path"].removeprefix(scope.get("root_path", "")) != self._mcp_path:
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

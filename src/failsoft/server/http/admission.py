"""Outermost ASGI middleware: Host check for every route, drain responses, count of requests in flight."""

from __future__ import annotations

import logging
from contextvars import ContextVar

import anyio
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.framework.clock import OnceAMinute
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded
from failsoft.server.lifecycle import ADMITTED, Lifecycle

_ONCE = (b"host", b"authorization", b"origin")
"""Headers that decide about access; a request that repeats one is refused."""
_CLOSING_S = 5.0
_RETRY_AFTER_S = 5
"""The `Retry-After` of a draining server, in seconds."""
_ALWAYS_OPEN = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are served while the server drains."""
_PROBES = frozenset({"/healthz", "/readyz"})
"""Paths whose refusals are no news: an orchestrator asks for them all the time."""
_REMEMBERED_AT_MOST = 256
_REMEMBERED_BYTES_AT_MOST = 512
_refusals: ContextVar[OnceAMinute | None] = ContextVar("refusals", default=None)
"""Of the app that checks a request."""
_SDK_LOG = logging.getLogger("mcp.server.transport_security")


class _Seldom(logging.Filter):
    """Passes one of the SDK's records of refusals a minute and header, bounded: anyone can cause them, of any size."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged; those of other apps are."""
        said, refused = record.getMessage(), _refusals.get()
        record.msg, record.args = bounded(said), None
        return refused is None or refused.due(said.startswith("Invalid Origin")) > 0


_SDK_LOG.addFilter(_Seldom())


class Passed(set[tuple[bytes | None, ...]]):
    """Values of headers that have passed a check, a bounded number of them, none of them long."""

    def add(self, values: tuple[bytes | None, ...]) -> None:
        """Remember values, unless they are long; beyond the bound, all others are forgotten."""
        if sum(len(value or b"") for value in values) > _REMEMBERED_BYTES_AT_MOST:
            return
        if len(self) >= _REMEMBERED_AT_MOST:
            self.clear()
        super().add(values)


class AdmissionMiddleware:
    """Checks the Host and Origin headers of every route, and counts calls until their response has been written.

    Args:
        app: Gets the requests that pass.
        security: The Host and Origin headers that are accepted. The SDK's own check of them is off.
        lifecycle: Says whether the server drains, and counts the calls.
        mcp_path: The path of the calls.
        has_token: Whether `/metrics` asks for a token, so that it answers whatever the Host is, as the probes do: those
            who scrape and probe a pod address it by its number.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        security: TransportSecuritySettings,
        lifecycle: Lifecycle,
        mcp_path: str,
        has_token: bool,
    ) -> None:
        self._app = app
        self._security = TransportSecurityMiddleware(security)
        self._lifecycle = lifecycle
        self._mcp_path = mcp_path
        self._of_any_host = _ALWAYS_OPEN if has_token else _ALWAYS_OPEN - {"/metrics"}
        self._passed = Passed()
        self._refused = OnceAMinute()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it with 400, 421 or 403."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["headers"] = headers = [*scope["headers"]]
        by_name = dict(headers)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        outgoing = SafeSend(send, self._lifecycle, is_probe=path in _PROBES)
        if len(by_name) < len(headers) and _repeats(headers):  # a proxy may have checked the other one
            await JSONResponse({"error": "a header is repeated"}, 400)(scope, receive, outgoing)
        elif self._lifecycle.is_ending and path not in _ALWAYS_OPEN:
            await _draining_response()(scope, receive, outgoing)
        elif (refusal := await self._refusal(scope, by_name, path)) is not None:
            await refusal(scope, receive, outgoing)
        elif path == self._mcp_path and scope["method"] == "POST":
            await self._counted(scope, receive, outgoing)
        else:  # older clients hold a GET stream open indefinitely; draining must not wait for it
            await self._app(scope, receive, outgoing)
        await outgoing.complete()
        if outgoing.is_gone:
            await _await_disconnect(receive)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ADMITTED] = self._lifecycle.is_ready  # a request that arrived before the drain is still served
        self._lifecycle.enter()
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            logger.debug("A client left before all of its request had come")
        finally:
            self._lifecycle.leave()

    async def _refusal(self, scope: Scope, headers: dict[bytes, bytes], path: str) -> Response | None:
        """Return the SDK's refusal of the Host or Origin header. Values that have passed are not checked again."""
        if path in self._of_any_host and b"origin" not in headers:
            return None
        values = headers.get(b"host", b""), headers.get(b"origin", b"")
        if values in self._passed:
            return None
        lowered = [(name, value.lower()) for name, value in scope["headers"]]  # host names ignore case
        _refusals.set(self._refused)
        refusal = await self._security.validate_request(Request({**scope, "headers": lowered}))
        if refusal is None:
            self._passed.add(values)
        return refusal


def _draining_response() -> JSONResponse:
    """Return the 503 of a draining server; a proxy can send the request to another replica."""
    headers = {"retry-after": str(_RETRY_AFTER_S), "connection": "close", "cache-control": "no-store"}
    return JSONResponse({"status": "draining"}, 503, headers=headers)


def _repeats(headers: list[tuple[bytes, bytes]]) -> bool:
    names = [name for name, _ in headers]
    return any(names.count(name) > 1 for name in _ONCE)


class SafeSend:
    """`send` that tolerates a response the ASGI server has already sent.

    The ASGI server itself responds to a truncated or unreadable body. A second response from the app is then a
    protocol error for the server; it is dropped here, as after a disconnect. A refusal is reported as it begins, except
    for that of a probe.
    """

    def __init__(self, send: Send, lifecycle: Lifecycle, *, is_probe: bool) -> None:
        self._send = send
        self._lifecycle = lifecycle
        self._is_probe = is_probe
        self.is_gone = False
        self._is_begun = self._is_complete = False

    async def complete(self) -> None:
        """Terminate the response when the server stops; the SDK leaves idle streams open."""
        if self._is_begun and not self._is_complete and self._lifecycle.is_ending:
            await self({"type": "http.response.body", "body": b"", "more_body": False})

    async def __call__(self, message: Message) -> None:
        """Send one message of the response."""
        self._is_begun = True
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        if message["type"] == "http.response.start":
            status = message["status"]
            if (400 <= status < 500 or status == 503) and not self._is_probe:  # noqa: PLR2004 - HTTP's own classes
                self._lifecycle.refused(status)
            if self._lifecycle.is_ending:  # makes the client open a new connection, which reaches another replica
                others = [(name, value) for name, value in message.get("headers", ()) if name.lower() != b"connection"]
                message = {**message, "headers": [*others, (b"connection", b"close")]}
        try:
            await self._send(message)
        except RuntimeError:  # messages in an order that ASGI forbids: a mistake in this app
            raise
        except Exception as gone:  # noqa: BLE001 - each server has its own type for this
            self.is_gone = True
            logger.debug("An answer was not sent, for its connection is over: {reason}", reason=type(gone).__name__)


async def _await_disconnect(receive: Receive) -> None:
    """Wait until the connection has closed; returning earlier looks to the server like a missing response."""
    with anyio.move_on_after(_CLOSING_S):
        while (await receive())["type"] != "http.disconnect":
            pass

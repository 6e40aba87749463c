"""Requests of the protocol's handshake versions, each served within its own POST.

When the SDK runs stateless, it builds a transport, streams and several tasks for each such request. Here the handler
runs in the task of the request. The response is a stream of events, as the SDK sends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pydantic_core
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import MCP_NAME_HEADER, NAME_BEARING_METHODS, decode_header_value
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data, progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, HEADER_MISMATCH, INTERNAL_ERROR, ErrorData, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.framework.safe.author_reports import logger
from failsoft.server.http.acceptance import Acceptance
from failsoft.server.http.exchange import Disconnects, event, replayed
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.kept_list import encoded

_VERSION_HEADER, _NAME_HEADER = b"mcp-protocol-version", MCP_NAME_HEADER.encode()
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class LegacyRequests:
    """ASGI app that serves well-formed requests of handshake versions; everything else goes to the SDK.

    Args:
        app: The SDK's app, below its limit for bodies.
        server: The SDK's server.
        lifecycle: The state that handlers are given.
        acceptance: Checks the headers.
    """

    def __init__(self, app: ASGIApp, *, server: Server[Any], lifecycle: Lifecycle, acceptance: Acceptance) -> None:
        self._app = app
        self._server = server
        self._lifecycle = lifecycle
        self._acceptance = acceptance
        self._disconnects = Disconnects()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = dict(reversed(scope["headers"]))  # of a repeated one the first counts
        version = headers.get(_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION.encode()).decode("latin-1")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS or not await self._is_acceptable(scope, headers):
            await self._app(scope, receive, send)
            return
        messages = [await receive()]
        while _NAME_HEADER in headers and messages[-1].get("more_body", False):  # in pieces, it may differ as well
            messages.append(await receive())
        call = _request_in(messages)
        if call is None:
            await self._app(scope, replayed(messages, receive), send)
            return
        if _names_another(call, headers):
            error = {"code": HEADER_MISMATCH, "message": "The header Mcp-Name names another than the body"}
            await JSONResponse({"jsonrpc": "2.0", "id": call.id, "error": error}, 400)(scope, receive, send)
            return
        exchange = _Exchange(call, Request(scope), send)
        connection = Connection.from_envelope(version, None, None)
        await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
        outcome = exchange.outcome(self._server, connection, self._lifecycle)
        member = await self._disconnects.watch(outcome, receive, exchange.ping)
        if member is not None:
            body = b'{"jsonrpc":"2.0","id":%b,%b}' % (pydantic_core.to_json(call.id), member)
            await send({"type": "http.response.body", "body": event(body), "more_body": False})

    async def _is_acceptable(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Return whether the SDK would read the body; a server that has not started is the SDK's to refuse, too."""
        return (
            scope["method"] == "POST"
            and self._lifecycle.phase != "starting"
            and await self._acceptance.accepts(scope, headers)
        )


def _request_in(messages: Sequence[Message]) -> JSONRPCRequest | None:
    """Return the JSON-RPC request of a complete body, or None."""
    last = messages[-1]
    if last["type"] != "http.request" or last.get("more_body", False):
        return None
    try:
        tree = pydantic_core.from_json(b"".join([message.get("body", b"") for message in messages]))
        return JSONRPCRequest.model_validate(tree, by_name=False)
    except ValueError:  # ValidationError, too
        return None


def _names_another(call: JSONRPCRequest, headers: dict[bytes, bytes]) -> bool:
    """Return whether a header names another tool, prompt or resource than the body: a proxy may have decided by it."""
    named, key = headers.get(_NAME_HEADER), NAME_BEARING_METHODS.get(call.method)
    if named is None or key is None:
        return False
    return decode_header_value(named.decode("latin-1")) != (call.params or {}).get(key)


class _Exchange:
    """One request and its response: the SDK's `DispatchContext`."""

    can_send_request = False
    """The answer to a question of the server would come in another POST, perhaps to another process."""
    transport = _TRANSPORT

    def __init__(self, call: JSONRPCRequest, request: Request, send: Send) -> None:
        self._call = call
        self._send = send
        self._progress_token = progress_token_from_params(call.params)
        self._is_over = False
        self.request_id = call.id
        self.message_metadata = ServerMessageMetadata(request_context=request, can_send_request=False)
        self.cancel_requested = anyio.Event()

    async def outcome(self, server: Server[Any], connection: Connection, lifecycle: Lifecycle) -> bytes:
        """Return the member `result` or `error` of the response."""
        try:
            result = await serve_one(
                server, self, self._call.method, self._call.params, connection=connection, lifespan_state=lifecycle
            )
            return b'"result":%b' % encoded(server, self._call.method, result, connection.protocol_version)
        except Exception as exception:  # noqa: BLE001 - what it says stays in the log
            error = handler_exception_to_error_data(exception)
            if error is None:
                logger.opt(exception=exception).error("The handler of '{}' failed", self._call.method)
                error = ErrorData(code=INTERNAL_ERROR, message="Internal server error")
            return b'"error":%b' % error.model_dump_json(by_alias=True, exclude_unset=True).encode()
        finally:
            self._is_over = True

    async def ping(self) -> None:
        """Send a comment."""
        await self._stream(b": ping\r\n\r\n")

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:  # noqa: ARG002 - the SDK's signature
        """Send a notification in the response's stream."""
        tree = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        await self._stream(event(pydantic_core.to_json(tree)))

    async def _stream(self, chunk: bytes) -> None:
        if not self._is_over:
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress, if the client asked for it."""
        if self._progress_token is None:
            return
        facts = {"progress": progress, "total": total, "message": message}
        given = {name: value for name, value in facts.items() if value is not None}
        await self.notify("notifications/progress", {"progressToken": self._progress_token, **given})

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:  # noqa: ARG002 - the SDK's signature
        """Refuse to ask the client something.

        Raises:
            NoBackChannelError: Always.
        """
        raise NoBackChannelError(method)

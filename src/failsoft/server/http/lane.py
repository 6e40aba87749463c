"""Requests of both eras of the protocol, each answered within its own POST by the SDK's `ServerRunner`.

The SDK's own transport builds streams and several tasks for each request, which takes most of the time of a short call.
Whatever it would refuse or treat in a special way is handed to it, with its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import anyio
import pydantic_core
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, aclose_shielded, modern_error_data
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    InboundModernRoute,
    classify_inbound_request,
    decode_header_value,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, HEADER_MISMATCH
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.server.http.admission import Passed
from failsoft.server.http.exchange import event, received, replayed, watched
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.direct import encoded

_ROUTING = tuple((name.encode(), name) for name in (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER))
"""The headers that the SDK compares with the body."""
_VERSION, _NAME = MCP_PROTOCOL_VERSION_HEADER.encode(), MCP_NAME_HEADER.encode()
_CHECKED = (b"content-type", b"accept")
"""The headers that the SDK's checks read; Host and Origin have been checked before."""
_IDS = frozenset({int, str})
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_DIGITS_AT_MOST = 18
"""A longer `Content-Length` is for the SDK to read."""
_IS_A_STREAM = "subscriptions/listen"
_JSON = (b"content-type", b"application/json")
_STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)


class Lane:
    """ASGI app that serves well-formed requests, and passes every other one on.

    Args:
        server: The SDK's server.
        lifecycle: The state that handlers are given.
        path: The path of the requests.
        max_body_bytes: The SDK refuses larger bodies.
        scopes: What the token of a request has to permit; None if requests need no token.

    Attributes:
        app: Gets the other requests.
        is_on: Whether it serves; otherwise it only compares names with headers.
    """

    app: ASGIApp
    is_on = False

    def __init__(
        self,
        *,
        server: Server[Any],
        lifecycle: Lifecycle,
        path: str,
        max_body_bytes: int,
        scopes: Sequence[str] | None,
    ) -> None:
        self._server = server
        self._lifecycle = lifecycle
        self._path = path
        self._max_body_bytes = max_body_bytes
        self._scopes = scopes
        self._security = TransportSecurityMiddleware()
        self._passed = Passed()
        self._without_headers: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = dict(reversed(scope["headers"])) if scope["type"] == "http" else {}  # the first counts
        if not (self.is_on or _NAME in headers) or not headers or not await self._accepts(scope, headers):
            await self.app(scope, receive, send)
            return
        messages = await received(receive, at_most=self._max_body_bytes)
        tree = _request_in(messages, at_most=self._max_body_bytes)
        version = headers.get(_VERSION, DEFAULT_NEGOTIATED_VERSION.encode()).decode("latin-1")
        is_legacy = version in HANDSHAKE_PROTOCOL_VERSIONS
        if is_legacy and _NAME in headers:
            whole = _object_in(messages, at_most=self._max_body_bytes) if tree is None else tree
            if _names_another(whole, scope["headers"]):
                shown_id = whole.get("id") if type(whole.get("id")) in _IDS else None
                error = {"code": HEADER_MISMATCH, "message": "The header Mcp-Name names another than the body"}
                await JSONResponse({"jsonrpc": "2.0", "id": shown_id, "error": error}, 400)(scope, receive, send)
                return
        if tree is not None and is_legacy and self.is_on:
            connection = _Connection(version, None, None)
        elif tree is None or is_legacy or not self.is_on or (route := self._route(tree, scope, headers)) is None:
            await self.app(scope, replayed(messages, receive), send)
            return
        else:
            connection = _Connection(route.protocol_version, route.client_info, route.client_capabilities)
        exchange = _Exchange(tree, Request(scope, replayed(messages, receive)), send, is_legacy=is_legacy)
        if is_legacy:
            await exchange.begin()
        outcome = await watched(exchange.outcome(self._server, connection, self._lifecycle), receive, exchange.ping)
        if outcome is not None:
            await exchange.finish(*outcome)

    async def _accepts(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Return whether the SDK would read the body."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if path != self._path or scope["method"] != "POST" or not self._permits(scope):
            return False
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > _DIGITS_AT_MOST or int(length) > self._max_body_bytes:
            return False
        values = tuple(map(headers.get, _CHECKED))
        if values in self._passed:
            return True
        request = Request(scope)
        if not all(check_accept_headers(request)) or await self._security.validate_request(request, is_post=True):
            return False
        self._passed.add(values)
        return True

    def _permits(self, scope: Scope) -> bool:
        """Return whether the token of a request permits it, as the SDK's `RequireAuthMiddleware` decides."""
        if self._scopes is None:
            return True
        return isinstance(scope.get("user"), AuthenticatedUser) and {*self._scopes} <= {*scope["auth"].scopes}

    def _route(self, tree: dict[str, Any], scope: Scope, headers: dict[bytes, bytes]) -> InboundModernRoute | None:
        """Return what the SDK reads of a request of the stateless era, or None if it would refuse it, or stream it."""
        if len(headers) < len(scope["headers"]) or tree["method"] == _IS_A_STREAM:
            return None
        texts = {text: headers[name].decode("latin-1") for name, text in _ROUTING if name in headers}
        route = classify_inbound_request(tree, headers=texts)
        if not isinstance(route, InboundModernRoute):
            return None
        return route if tree["method"] != "tools/call" or self._needs_no_headers(tree["params"].get("name")) else None

    def _needs_no_headers(self, name: Any) -> bool:
        """Return whether no argument of a tool comes in a header, too; the SDK compares the two."""
        look_up = self._server.get_tool_input_schema
        if look_up is None or type(name) is not str:
            return False
        schema = look_up(name)
        if schema is None:
            return True
        if self._without_headers.get(name) is not schema:
            if x_mcp_header_map(schema):
                return False
            self._without_headers[name] = schema
        return True


def _request_in(messages: Sequence[Message], *, at_most: int) -> dict[str, Any] | None:
    """Return the JSON-RPC request of a complete body, or None if it is none, or an odd one."""
    tree = _object_in(messages, at_most=at_most, allow_inf_nan=False)
    if not tree or not tree.keys() <= _MEMBERS or tree.get("jsonrpc") != "2.0":
        return None
    is_request = type(tree.get("id")) in _IDS and type(tree.get("method")) is str
    return tree if is_request and type(tree.setdefault("params", {})) is dict else None


def _object_in(messages: Sequence[Message], *, at_most: int, allow_inf_nan: bool = True) -> dict[str, Any]:
    """Return the JSON object of a complete body, empty if it is none."""
    last = messages[-1]
    body = last.get("body", b"")
    if last["type"] != "http.request" or last.get("more_body", False) or len(body) > at_most:
        return {}
    try:
        tree = pydantic_core.from_json(body, allow_inf_nan=allow_inf_nan)
    except ValueError:
        return {}
    return tree if type(tree) is dict else {}


def _names_another(tree: dict[str, Any], headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether a header names another tool, prompt or resource than the body: a proxy may have decided by it."""
    method, params = tree.get("method"), tree.get("params")
    key = NAME_BEARING_METHODS.get(method) if type(method) is str else None
    if key is None:
        return False
    own = params.get(key) if type(params) is dict else None
    return any(decode_header_value(value.decode("latin-1")) != own for name, value in headers if name == _NAME)


class _Connection(Connection):
    """The connection of one request; all but its version is made by the SDK when it is asked for."""

    def __init__(self, version: str, client_info: Any, client_capabilities: Any) -> None:
        self.protocol_version = version
        self._client = client_info, client_capabilities

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that is not there yet."""
        own = vars(self)
        if "exit_stack" in own:
            raise AttributeError(name)
        own |= {**vars(Connection.from_envelope(self.protocol_version, *self._client)), **own}
        return getattr(self, name)


class _Exchange:
    """One request and its response: the SDK's `DispatchContext`.

    The response of an older version is a stream of events. In the stateless era it is JSON, unless something has to be
    sent before the result.
    """

    can_send_request = False
    """The answer to a question of the server would come in another POST, perhaps to another process."""

    def __init__(self, tree: dict[str, Any], request: Request, send: Send, *, is_legacy: bool) -> None:
        self._tree = tree
        self._send = send
        self._is_legacy = is_legacy
        self._is_stream = self._is_over = False
        self.request_id = tree["id"]
        self.message_metadata = ServerMessageMetadata(request_context=request, can_send_request=False)

    @cached_property
    def transport(self) -> TransportContext:
        """What handlers may know of the transport."""
        request: Any = self.message_metadata.request_context
        headers = None if self._is_legacy else request.headers
        return TransportContext(kind="streamable-http", can_send_request=False, headers=headers)

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        """Never set: a client cancels by disconnecting."""
        return anyio.Event()

    async def outcome(self, server: Server[Any], connection: Connection, lifecycle: Lifecycle) -> tuple[int, bytes]:
        """Return the status and the member `result` or `error` of the response."""
        method, params = self._tree["method"], self._tree["params"]
        try:
            runner = ServerRunner(server, connection, lifecycle)
            try:
                result = await runner.on_request(self, method, params)
            finally:
                vars(runner).clear()  # it keeps a method of its own, and would last until a garbage collection
                if "exit_stack" in vars(connection):
                    await aclose_shielded(connection)
            return 200, b'"result":%b' % encoded(server, method, result, connection.protocol_version)
        except Exception as exception:  # noqa: BLE001 - what it says stays in the log
            error = modern_error_data(exception)
            found = error.model_dump_json(by_alias=True, exclude_none=True).encode()
            return ERROR_CODE_HTTP_STATUS.get(error.code, 200), b'"error":%b' % found
        finally:
            self._is_over = True

    async def begin(self) -> None:
        """Begin a stream."""
        await self._send({"type": "http.response.start", "status": 200, "headers": list(_STREAM)})
        self._is_stream = True

    async def finish(self, status: int, member: bytes) -> None:
        """Send the response."""
        body = b'{"jsonrpc":"2.0","id":%b,%b}' % (pydantic_core.to_json(self.request_id), member)
        if self._is_stream:
            body = event(body)
        else:
            headers = [(b"content-length", b"%d" % len(body)), _JSON]
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def ping(self) -> None:
        """Send a comment."""
        await self._stream(b": ping\r\n\r\n")

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:  # noqa: ARG002 - the SDK's signature
        """Send a notification in the response's stream."""
        tree = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        await self._stream(event(pydantic_core.to_json(tree)))

    async def _stream(self, chunk: bytes) -> None:
        if self._is_over:
            return
        if not self._is_stream:
            await self.begin()
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress, if the client asked for it."""
        token = progress_token_from_params(self._tree["params"])
        if token is None:
            return
        facts = {"progress": progress, "total": total, "message": message}
        given = {name: value for name, value in facts.items() if value is not None}
        await self.notify("notifications/progress", {"progressToken": token, **given})

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:  # noqa: ARG002 - the SDK's signature
        """Refuse to ask the client something.

        Raises:
            NoBackChannelError: Always.
        """
        raise NoBackChannelError(method)

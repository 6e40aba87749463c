"""Requests of both eras of the protocol, each answered within its own POST by the SDK's `ServerRunner`.

The SDK's own transport builds streams and several tasks for each request, which takes most of the time of a short call.
Whatever it would refuse or treat in a special way is handed to it, with its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pydantic_core
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    InboundModernRoute,
    classify_inbound_request,
    decode_header_value,
    x_mcp_header_map,
)
from mcp_types import DEFAULT_NEGOTIATED_VERSION, HEADER_MISMATCH
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.server.http.admission import Passed
from failsoft.server.http.backchannel import SESSION_HEADER, Backchannel
from failsoft.server.http.exchange import (
    AskClient,
    Exchange,
    SingleConnection,
    received,
    replayed,
    watched,
    with_header,
)
from failsoft.server.http.turns import Turns
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.caller import principal_over_http

_ROUTING = tuple((name.encode(), name) for name in (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER))
"""The headers that the SDK compares with the body."""
_VERSION, _NAME = MCP_PROTOCOL_VERSION_HEADER.encode(), MCP_NAME_HEADER.encode()
_CHECKED = (b"content-type", b"accept")
"""The headers that the SDK's checks read; Host and Origin have been checked before."""
_IDS = frozenset({int, str})
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_DIGITS_AT_MOST = 18
"""A longer `Content-Length` is for the SDK to read."""
_FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
"""What the client of a session has declared."""
_IS_A_STREAM = "subscriptions/listen"


class Lane:
    """ASGI app that serves well-formed requests, and passes every other one on.

    Args:
        server: The SDK's server.
        lifecycle: The state that handlers are given.
        path: The path of the requests.
        max_body_bytes: The SDK refuses larger bodies.
        scopes: What the token of a request has to permit; None if requests need no token.
        backchannel: Puts questions to clients of older versions.

    Attributes:
        app: Gets the other requests.
        is_on: Whether it serves; otherwise it only compares names with headers.
        asks: Whether it opens sessions and serves their requests: as long as nothing is known against its answers.
    """

    app: ASGIApp
    is_on = False
    asks = True

    def __init__(
        self,
        *,
        server: Server[Any],
        lifecycle: Lifecycle,
        path: str,
        max_body_bytes: int,
        scopes: Sequence[str] | None,
        backchannel: Backchannel,
    ) -> None:
        self._server = server
        self._lifecycle = lifecycle
        self._path = path
        self._max_body_bytes = max_body_bytes
        self._scopes = scopes
        self._backchannel = backchannel
        self._security = TransportSecurityMiddleware()
        self._passed = Passed()
        self._turns = Turns()
        self._without_headers: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = dict(reversed(scope["headers"])) if scope["type"] == "http" else {}  # the first counts
        if SESSION_HEADER in headers and scope["method"] == "GET" and self._is_path(scope):
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)  # nothing is sent there
            return
        is_read = self.is_on or self.asks or _NAME in headers
        if not is_read or not headers or not await self._accepts(scope, headers):
            await self.app(scope, receive, send)
            return
        messages = await received(receive, at_most=self._max_body_bytes)
        await self._turns.take(_principal, among=self._lifecycle.in_flight)
        tree = _request_in(messages, at_most=self._max_body_bytes)
        version = headers.get(_VERSION, DEFAULT_NEGOTIATED_VERSION.encode()).decode("latin-1")
        is_legacy = version in HANDSHAKE_PROTOCOL_VERSIONS
        ask = None
        if is_legacy:
            refusal = self._refusal(scope, messages, tree) if _NAME in headers else None
            if self.asks and refusal is None and (tree is None or SESSION_HEADER in headers or _opens(tree)):
                refusal, ask, send = await self._asked(messages, tree, headers, send)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        if tree is not None and is_legacy and (self.is_on or ask is not None):
            connection = SingleConnection(version, None, _FORMS if ask else None)
        elif tree is None or is_legacy or not self.is_on or (route := self._route(tree, scope, headers)) is None:
            await self.app(scope, replayed(messages, receive), send)
            return
        else:
            connection = SingleConnection(route.protocol_version, route.client_info, route.client_capabilities)
        exchange = Exchange(tree, Request(scope, replayed(messages, receive)), send, is_legacy=is_legacy, ask=ask)
        if is_legacy:
            await exchange.begin()
        outcome = await watched(exchange.outcome(self._server, connection, self._lifecycle), receive, exchange.ping)
        if outcome is not None:
            self._turns.charge(len(outcome[1]))
            await exchange.finish(*outcome)

    def _refusal(self, scope: Scope, messages: Sequence[Message], tree: dict[str, Any] | None) -> Response | None:
        """Return the refusal of a request whose header names another tool, prompt or resource than its body."""
        whole = _object_in(messages, at_most=self._max_body_bytes) if tree is None else tree
        if not _names_another(whole, scope["headers"]):
            return None
        shown_id = whole.get("id") if type(whole.get("id")) in _IDS else None
        error = {"code": HEADER_MISMATCH, "message": "The header Mcp-Name names another than the body"}
        return JSONResponse({"jsonrpc": "2.0", "id": shown_id, "error": error}, 400)

    async def _asked(
        self, messages: Sequence[Message], tree: dict[str, Any] | None, headers: Mapping[bytes, bytes], send: Send
    ) -> tuple[Response | None, AskClient | None, Send]:
        """Return the response to an answer, how the client of a request is asked, and what sends the response."""
        session = headers.get(SESSION_HEADER)
        if tree is None:
            message = _object_in(messages, at_most=self._max_body_bytes)
            is_taken = await self._backchannel.deliver(message, _principal())
            return Response(status_code=202) if is_taken else None, None, send
        if session is not None:
            return None, await self._backchannel.asker(session, _principal()), send
        opened = await self._backchannel.session_of(tree, _principal())
        return None, None, send if opened is None else with_header(send, SESSION_HEADER, opened)

    def _is_path(self, scope: Scope) -> bool:
        return bool(scope["path"].removeprefix(scope.get("root_path", "")) == self._path)

    async def _accepts(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Return whether the SDK would read the body."""
        if not self._is_path(scope) or scope["method"] != "POST" or not self._permits(scope):
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


def _principal() -> str | None:
    """Return the principal of the request, or None also where the verifier of its token names it in no text."""
    try:
        return principal_over_http()
    except TypeError:  # the call fails of it, and is answered so
        return None


def _opens(tree: dict[str, Any]) -> bool:
    return bool(tree["method"] == "initialize")


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

"""Plain `tools/call` requests of the stateless protocol version, answered without the SDK's request machinery.

The SDK gets every other request, and every request with something unusual in it, unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import metadata
from typing import Any

import pydantic_core
from mcp.server import ServerRequestContext
from mcp.server.runner import modern_error_data
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types import RequestId
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from failsoft.server.assembly import Assembly
from failsoft.server.http.acceptance import Acceptance
from failsoft.server.http.exchange import Disconnects, event, received, replayed
from failsoft.server.http.plain_calls import METHOD, PlainCalls
from failsoft.server.http.plain_requests import VERSION
from failsoft.server.http.plain_results import PlainResult, PlainResults
from failsoft.server.protocol.kept_list import KeptList
from failsoft.server.protocol.tools import ToolProtocol

PROVEN_WITH = frozenset({"2.3.0"})
"""The versions of the SDK with which `tests/server/http/test_fast_lane.py` has passed."""

_OPEN = frozenset({"ready", "draining"})
"""The phases in which calls are answered; a draining server has refused those that came too late."""
_JSON = (b"content-type", b"application/json")
_STREAM_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)


def is_proven() -> bool:
    """Return whether the installed version of the SDK is one that the fast lane was compared with."""
    return metadata.version("mcp") in PROVEN_WITH


class _NoSession:
    """The session of a request that asked for no notifications."""

    async def report_progress(self, *_: Any) -> None:
        return


_NO_SESSION: Any = _NoSession()


class FastLane:
    """ASGI app that answers plain calls itself and passes every other request on.

    Args:
        app: Gets the other requests.
        assembly: The server, with the tools that are all failsoft's.
        protocol: Runs the calls.
        entry: The handler of `tools/call` of the SDK's server, which is that of `protocol`.
        middleware: The middleware of the SDK's server as failsoft installed it.
        acceptance: Checks the headers.
        path: The path of the requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        assembly: Assembly,
        protocol: ToolProtocol,
        entry: Any,
        middleware: Sequence[Any],
        acceptance: Acceptance,
        path: str,
    ) -> None:
        self._app = app
        self._server = assembly.server
        self._lifecycle = assembly.lifecycle
        self._tools = assembly.toolbox.operations
        self._protocol = protocol
        self._entry = entry
        self._middleware = list(middleware)
        self._acceptance = acceptance
        self._path = path
        self._max_body_bytes = assembly.settings.max_request_bytes
        self._calls = PlainCalls(assembly.toolbox, max_body_bytes=self._max_body_bytes)
        self._result = PlainResults(assembly.server).result
        self._disconnects = Disconnects()
        self._call: Any = self._run
        for around in reversed(self._middleware):
            if not isinstance(around, KeptList):  # it passes every call on
                self._call = partial(around, call_next=self._call)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_open = scope["type"] == "http" and self._is_open(scope)
        headers = dict(scope["headers"]) if is_open else {}
        name = self._calls.named_in(scope, headers) if is_open else None
        if name is None or not await self._acceptance.accepts(scope, headers):
            await self._app(scope, receive, send)
            return
        messages = await received(receive, at_most=self._max_body_bytes)
        tree = self._calls.read(messages, name)
        if tree is None:
            await self._app(scope, replayed(messages, receive), send)
            return
        await self._answer(tree["id"], tree["params"], Request(scope), receive, send)

    def _is_open(self, scope: Scope) -> bool:
        """Return whether the request is for the tools of a started server that is still as it was built."""
        return (
            scope["path"].removeprefix(scope.get("root_path", "")) == self._path
            and self._lifecycle.phase in _OPEN
            and self._server.get_request_handler(METHOD) is self._entry
            and self._server.middleware == self._middleware
        )

    async def _answer(
        self, request_id: RequestId, params: dict[str, Any], request: Request, receive: Receive, send: Send
    ) -> None:
        """Run the call and send its response; a client that disconnects cancels it."""
        context: ServerRequestContext[Any, Any] = ServerRequestContext(
            session=_NO_SESSION,
            lifespan_context=self._lifecycle,
            protocol_version=VERSION,
            method=METHOD,
            params=params,
            request_id=request_id,
            meta=params["_meta"],
            request=request,
        )
        response = _Response(send)
        outcome = await self._disconnects.watch(self._outcome(context), receive, response.ping)
        if outcome is not None:
            await response.finish(*outcome)

    async def _outcome(self, context: ServerRequestContext[Any, Any]) -> tuple[int, bytes]:
        """Return the status and the body of the response."""
        request_id = pydantic_core.to_json(context.request_id)
        try:
            result: PlainResult = await self._call(context)
        except Exception as exception:  # noqa: BLE001 - the SDK decides what the client sees of it
            error = modern_error_data(exception)
            found = error.model_dump_json(by_alias=True, exclude_none=True).encode()
            status = ERROR_CODE_HTTP_STATUS.get(error.code, 200)
            return status, b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, found)
        return 200, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result.json)

    async def _run(self, context: ServerRequestContext[Any, Any]) -> PlainResult:
        """Run the tool, whose name was compared with those of the toolbox, as the SDK's handler would."""
        params: Any = context.params
        bound = self._tools[params["name"]]
        return await self._protocol.respond(context, bound, params.get("arguments") or {}, self._result)


class _Response:
    """The response: JSON, or a stream of events once a ping was sent."""

    __slots__ = ("_is_stream", "_send")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_stream = False

    async def ping(self) -> None:
        if not self._is_stream:
            await self._send({"type": "http.response.start", "status": 200, "headers": list(_STREAM_HEADERS)})
            self._is_stream = True
        await self._send({"type": "http.response.body", "body": b": ping\r\n\r\n", "more_body": True})

    async def finish(self, status: int, body: bytes) -> None:
        if self._is_stream:
            body = event(body)
        else:
            headers = [(b"content-length", b"%d" % len(body)), _JSON]
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

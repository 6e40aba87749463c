"""Requests for the list of tools in the stateless protocol version, answered with a body that was encoded before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pydantic_core
from mcp.server import Server, ServerRequestContext
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from failsoft.server.http.acceptance import Acceptance
from failsoft.server.http.exchange import received, replayed
from failsoft.server.http.plain_requests import (
    VERSION,
    fits_protocol,
    has_plain_headers,
    header_values,
    request_in,
)
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.kept_list import METHOD, KeptList

_HEADERS = header_values(METHOD)
_BYTES_AT_MOST = 65_536
"""A longer request is the SDK's."""


class _NotKeptError(Exception):
    """The list has changed, or was not asked for before."""


class ListLane:
    """ASGI app that answers with the kept list, and passes every other request on.

    Args:
        app: Gets the other requests; its answer is kept for the next request.
        server: The SDK's server.
        middleware: Its middleware as failsoft installed it.
        lifecycle: The state that handlers are given.
        acceptance: Checks the headers.
        path: The path of the requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        server: Server[Any],
        middleware: Sequence[Any],
        lifecycle: Lifecycle,
        acceptance: Acceptance,
        path: str,
    ) -> None:
        self._app = app
        self._lifecycle = lifecycle
        self._acceptance = acceptance
        self._path = path
        self._server = server
        self._middleware = list(middleware)
        self._kept = next(one for one in middleware if isinstance(one, KeptList))
        self._list: Any = _refuse
        for around in reversed(self._middleware):
            self._list = partial(around, call_next=self._list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if not await self._is_plain(scope):
            await self._app(scope, receive, send)
            return
        messages = await received(receive, at_most=_BYTES_AT_MOST)
        tree = _plain_request(messages)
        body = None if tree is None else await self._body(tree, Request(scope))
        if body is None:
            await self._app(scope, replayed(messages, receive), send)
            return
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _is_plain(self, scope: Scope) -> bool:
        """Return whether the headers are those of a plain request, to a started server that is as it was built."""
        if scope["type"] != "http" or self._lifecycle.phase != "ready":
            return False
        headers = dict(scope["headers"])
        return (
            has_plain_headers(scope, headers, _HEADERS)
            and b"mcp-name" not in headers
            and scope["path"].removeprefix(scope.get("root_path", "")) == self._path
            and self._server.middleware == self._middleware
            and await self._acceptance.accepts(scope, headers)
        )

    async def _body(self, tree: dict[str, Any], request: Request) -> bytes | None:
        """Return the body of the response, or None if the SDK has to make the list."""
        context: ServerRequestContext[Any, Any] = ServerRequestContext(
            session=None,  # type: ignore[arg-type]  # no handler of ours notifies during a list
            lifespan_context=self._lifecycle,
            protocol_version=VERSION,
            method=METHOD,
            params=tree["params"],
            request_id=tree["id"],
            meta=tree["params"]["_meta"],
            request=request,
        )
        try:
            result = await self._list(context)
        except _NotKeptError:
            return None
        request_id = pydantic_core.to_json(tree["id"])
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, self._kept.encoded(result, VERSION))


async def _refuse(_context: Any) -> Any:
    raise _NotKeptError


def _plain_request(messages: Sequence[Message]) -> dict[str, Any] | None:
    """Return the request for the whole list in a complete body, or None if it is not plain."""
    tree = request_in(messages, METHOD, bytes_at_most=_BYTES_AT_MOST)
    if tree is None:
        return None
    params = tree["params"]
    return tree if params.keys() == {"_meta"} and fits_protocol(METHOD, params) else None

"""Puts the lane into an app, if the installed SDK answers through it as through its own transport.

The parts of the SDK that the lane is made of are public, and provisional in mcp 2.3. So soon after the start of a
server one canned conversation is held both ways, in memory, with handlers of its own. Until it has ended, and for good
if there was any difference, requests take the SDK's way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message

from failsoft.framework.answer.response import EncodedResponse, ToolResponse
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import Encoded
from failsoft.framework.settings import Settings
from failsoft.framework.state.store import LocalState
from failsoft.server.assembly import Assembly
from failsoft.server.http.backchannel import Backchannel
from failsoft.server.lifecycle import ADMITTED, Lifecycle
from failsoft.server.protocol.asking import Asking
from failsoft.server.protocol.direct import DirectAnswers
from failsoft.server.protocol.tools import ToolProtocol
from failsoft.server.protocol.wire import call_tool_result
from failsoft.server.telemetry import spans

_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a list": ("tools/list", {}),
    "a call": ("tools/call", {"name": "works", "arguments": {"a": [1, None]}}),
    "a call that fails": ("tools/call", {"name": "fails"}),
    "a malformed call": ("tools/call", {"name": "works", "arguments": 1}),
}
_META = {
    types.PROTOCOL_VERSION_META_KEY: "2026-07-28",
    types.CLIENT_INFO_META_KEY: {"name": "failsoft", "version": "1"},
    types.CLIENT_CAPABILITIES_META_KEY: {},
}
_VERSIONS = ("2026-07-28", "2025-06-18")
_AFTER_S = 0.1
"""When the conversation is held, in seconds after the start: the server listens first."""
_found: list[str | None] = []
"""How the ways differ in this process, once it is known."""


def put_lane(app: Starlette, assembly: Assembly, *, path: str, scopes: Sequence[str] | None) -> None:
    """Let the lane serve the requests of an app, from soon after its start.

    It is put before the routes, or if something was added to those that it would bypass, below them.

    Args:
        app: The SDK's app, not started yet.
        assembly: The server.
        path: The path of the requests.
        scopes: What the token of a request has to permit; None if requests need no token.
    """
    try:
        from failsoft.server.http.lane import Lane  # noqa: PLC0415 - its parts of the SDK may be missing
    except (ImportError, AttributeError) as missing:
        _tell(str(missing))
        return
    limited = assembly.server.session_manager.asgi_app
    lane = Lane(
        server=assembly.server,
        lifecycle=assembly.lifecycle,
        path=path,
        max_body_bytes=limited.max_body_size,
        scopes=scopes,
        backchannel=Backchannel(assembly.asking),
    )
    below_all, route = limited.app, app.routes[0]
    endpoint, inner = route.app, app.router.lifespan_context  # type: ignore[attr-defined]  # a `Route`

    def placed(below: ASGIApp) -> ASGIApp:
        is_last = app.user_middleware[-1].cls is placed  # type: ignore[comparison-overlap]  # a function makes it, too
        is_first = is_last and app.routes[0] is route and route.app is endpoint  # type: ignore[attr-defined]  # as above
        lane.app, limited.app = (below, below_all) if is_first else (below_all, lane)
        return lane if is_first else below

    async def turn_on() -> None:
        if not _found:
            await asyncio.sleep(_AFTER_S)
            differs = await _difference(Lane, assembly.settings)
            if assembly.lifecycle.phase != "ready":  # with the server the SDK's streams end, whatever they answer
                return
            _found.append(differs)
        lane.is_on = lane.asks = _found[0] is None
        if _found[0] is not None:
            _tell(_found[0])

    @asynccontextmanager
    async def lifespan(started: Any) -> AsyncIterator[Any]:
        async with inner(started) as state:
            lane.is_on = _found[:1] == [None]  # another server of the process has found it out
            lane.asks = _found[:1] in ([None], [])
            task = asyncio.create_task(turn_on())
            try:
                yield state
            finally:
                task.cancel()
                await asyncio.wait([task])
                lane.is_on = lane.asks = False

    app.user_middleware.append(Middleware(placed))
    app.router.lifespan_context = lifespan


def _tell(reason: str) -> None:
    logger.warning("Requests over HTTP take the way of the MCP SDK, which is slower: {reason}", reason=reason)


async def _difference(lane: Any, settings: Settings) -> str | None:
    """Return what the lane answers otherwise than the SDK, or None."""
    try:
        return await _compared(lane, settings)
    except Exception as error:  # noqa: BLE001 - any version of the SDK may raise anything here
        return f"{type(error).__name__}: {error}"


async def _compared(lane: Any, settings: Settings) -> str | None:
    lifecycle = Lifecycle(())
    async with AsyncExitStack() as stack:
        ours = _Canned(lifecycle, settings).server("canned", version="1", instructions=None)
        theirs = _Canned(lifecycle, settings).server("canned", version="1", instructions=None)
        spans.leave_out(ours)
        spans.leave_out(theirs)
        theirs.middleware[:] = [one for one in theirs.middleware if not isinstance(one, DirectAnswers)]
        ways = [await stack.enter_async_context(_transport(server)) for server in (ours, theirs)]
        unasked = Backchannel(Asking(LocalState(), settings))
        short = lane(server=ours, lifecycle=lifecycle, path="/", max_body_bytes=1000, scopes=None, backchannel=unasked)
        short.app, short.is_on = ways[0], True
        ways[0] = short
        for version in _VERSIONS:
            for name, (method, params) in _CALLS.items():
                answers = [await _answer(way, version, method, params) for way in ways]
                if answers[0] != answers[1]:
                    return f"it answers {name} of version {version} otherwise: {answers[0]} and not {answers[1]}"
    return None


@asynccontextmanager
async def _transport(server: Server[Any]) -> AsyncIterator[ASGIApp]:
    manager = StreamableHTTPSessionManager(app=server, stateless=True)
    async with manager.run():
        yield manager.asgi_app


class _Canned(ToolProtocol):
    """One tool that works and one that fails, both without running anything."""

    def __init__(self, lifecycle: Lifecycle, settings: Settings) -> None:
        super().__init__(Toolbox(()), lifecycle, settings)
        tool = types.Tool(name="works", description="Works.", input_schema={"type": "object"})
        self._listed = types.ListToolsResult(tools=[tool], ttl_ms=1)

    async def call_tool(
        self, _ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        """Return the canned response."""
        return call_tool_result(_response(params.name))

    def _call_directly(self, ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        async def answer() -> dict[str, Any]:
            return self._on_the_wire(ctx.protocol_version, _response(params["name"]))

        return answer()


def _response(name: str) -> ToolResponse[Any]:
    text = '{"data":{"a":[1,null]}}'
    is_error = name == "fails"
    return ToolResponse(not is_error, encoded=EncodedResponse(Encoded(text), text, is_error, {"a/b": {"c": 1}}))


async def _answer(app: ASGIApp, version: str, method: str, params: dict[str, Any]) -> Any:
    """Return the status, the type and the messages of the response to a request."""
    is_modern = version == _VERSIONS[0]
    tree = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**params, **({"_meta": _META} if is_modern else {})},
    }
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json", "host": "localhost"}
    headers |= {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": params.get("name", "")}
    body: list[Message] = [{"type": "http.request", "body": json.dumps(tree).encode(), "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if body:
            return body.pop()
        await anyio.sleep_forever()
        raise RuntimeError

    async def send(message: Message) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items() if value]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": pairs, ADMITTED: True}
    await app(scope, receive, send)
    found = b"".join(message.get("body", b"") for message in sent)
    messages = [json.loads(part) for part in found.replace(b"event: message", b"").split(b"data: ") if part.strip()]
    return sent[0]["status"], dict(sent[0]["headers"])[b"content-type"], messages

"""An HTTP exchange of one request: cancellation by disconnect, pings, the body in one piece, server-sent events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping
from contextvars import Context, copy_context
from functools import cached_property
from types import coroutine
from typing import Any, TypeAlias, TypeVar

import anyio
import pydantic_core
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, aclose_shielded, modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from starlette.requests import Request
from starlette.types import Message, Receive, Send

from failsoft.server.lifecycle import Lifecycle
from failsoft.server.protocol.direct import encoded

T = TypeVar("T")
AskClient: TypeAlias = Callable[["Exchange", Mapping[str, Any], float | None], Awaitable[dict[str, Any]]]
"""Puts a question, method and parameters, to the client of an exchange; waits that many seconds for its answer."""

PING_S = 15.0
"""Silence after which a comment keeps the connection open, in seconds; the SDK's interval."""
_WATCHED_AFTER_S = 0.02
"""A request that takes longer than this is cancelled when its client disconnects, in seconds."""
_JSON = (b"content-type", b"application/json")
_STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)
_SEPARATORS = tuple((char.encode(), b"\\u%04x" % ord(char)) for char in "\x85\u2028\u2029")


async def watched(work: Coroutine[Any, Any, T], receive: Receive, ping: Callable[[], Awaitable[None]]) -> T | None:
    """Return the result of the work, or None if the client disconnected, which cancels it.

    Args:
        work: The work, which never returns None. Context variables that it sets are gone when it ends.
        receive: Tells of the disconnect, once the body has been read.
        ping: Called after each ping interval; the work's result is returned when no ping is being sent.
    """
    context = copy_context()
    with anyio.CancelScope() as scope:
        try:
            awaited = context.run(work.send, None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # it never waited, so nothing could be read meanwhile
        watch = _Watch(receive, ping, scope)
        try:
            return await _resumed(work, awaited, context)
        finally:
            await watch.end()
    return None


@coroutine
def _resumed(work: Coroutine[Any, Any, T], awaited: Any, context: Context) -> Generator[Any, Any, T]:
    """Run the rest of a coroutine, which has begun to wait, in a context of its own, as a task of its own would.

    An ASGI server may begin the next request of a connection in the context in which this one was answered.
    """
    step: Callable[[Any], Any]
    while True:
        try:
            value = yield awaited
            step = work.send
        except BaseException as error:  # noqa: BLE001 - a cancellation, too, is for the coroutine to handle
            step, value = work.throw, error
        try:
            awaited = context.run(step, value)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the coroutine returned


class _Watch:
    """A task that reads the connection while the work takes long."""

    __slots__ = ("_ping", "_receive", "_scope", "_task", "_timer", "_writing")

    def __init__(self, receive: Receive, ping: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        self._receive = receive
        self._ping = ping
        self._scope = scope
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._timer = asyncio.get_running_loop().call_later(_WATCHED_AFTER_S, self._begin)

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        self._timer.cancel()
        if self._task is None:
            return
        try:
            await self._writing.acquire()  # a ping that was begun is written first
        finally:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PING_S):
                    message = await self._receive()
            except TimeoutError:
                async with self._writing:
                    await self._ping()
                continue
            if message["type"] == "http.disconnect":
                self._scope.cancel()
                return


async def received(receive: Receive, *, at_most: int) -> list[Message]:
    """Return the messages of a request, its body in one: all of it, or what shows that it is incomplete or too large.

    A list of pieces would take hundreds of times the memory of a body that comes byte by byte.
    """
    message = await receive()
    if not message.get("more_body", False):
        return [message]
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
        if not has_more or len(body) > at_most:
            return [{"type": "http.request", "body": bytes(body), "more_body": has_more}]
        message = await receive()
    return [{"type": "http.request", "body": bytes(body), "more_body": True}, message]


def replayed(messages: Iterable[Message], receive: Receive) -> Receive:
    """Return a `receive` that begins with messages which were received already."""
    pending = deque(messages)

    async def replay() -> Message:
        return pending.popleft() if pending else await receive()

    return replay


def with_header(send: Send, name: bytes, value: bytes) -> Send:
    """Return a `send` that adds a header to the response."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (name, value)]}
        await send(message)

    return sending


def event(body: bytes) -> bytes:
    """Return a JSON message as a server-sent event. Some clients also end lines at Unicode's separators."""
    if not body.isascii():  # looked at twenty times as fast as three replacements
        for separator, escaped in _SEPARATORS:
            body = body.replace(separator, escaped)
    return b"event: message\r\ndata: %b\r\n\r\n" % body


class SingleConnection(Connection):
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


class Exchange:
    """One request and its response: the SDK's `DispatchContext`.

    The response of an older version is a stream of events. In the stateless era it is JSON, unless something has to be
    sent before the result.

    Args:
        tree: The request.
        request: The same in HTTP.
        send: Sends the response.
        is_legacy: Whether it is of an older version.
        ask: Puts a question to the client; None if it cannot be asked.
    """

    def __init__(
        self,
        tree: dict[str, Any],
        request: Request,
        send: Send,
        *,
        is_legacy: bool,
        ask: AskClient | None = None,
    ) -> None:
        self._tree = tree
        self._send = send
        self._is_legacy = is_legacy
        self._is_stream = self._is_over = False
        self._ask = ask
        self.can_send_request = ask is not None
        self.request_id = tree["id"]
        self.message_metadata = ServerMessageMetadata(request_context=request, can_send_request=ask is not None)

    @cached_property
    def transport(self) -> TransportContext:
        """What handlers may know of the transport."""
        request: Any = self.message_metadata.request_context
        headers = None if self._is_legacy else request.headers
        return TransportContext(kind="streamable-http", can_send_request=self.can_send_request, headers=headers)

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
        await self.send({"method": method, **({} if params is None else {"params": params})})

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message in the response's stream."""
        await self._stream(event(pydantic_core.to_json({"jsonrpc": "2.0", **message})))

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

    async def send_raw_request(self, method: str, params: Any, opts: CallOptions | None = None) -> dict[str, Any]:
        """Ask the client something in the response's stream, and wait for its answer.

        Raises:
            NoBackChannelError: It cannot be asked.
            MCPError: It has refused the question, or not answered in time.
        """
        if self._ask is None:
            raise NoBackChannelError(method)
        asked = {"method": method, **({} if params is None else {"params": params})}
        return await self._ask(self, asked, (opts or {}).get("timeout"))

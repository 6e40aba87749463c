"""Parts of an HTTP exchange: cancellation by disconnect, pings, the body in one piece, server-sent events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextvars import Context, copy_context
from types import coroutine
from typing import Any, TypeVar

import anyio
from starlette.types import Message, Receive

T = TypeVar("T")

PING_S = 15.0
"""Silence after which a comment keeps the connection open, in seconds; the SDK's interval."""
_WATCHED_AFTER_S = 0.02
"""A request that takes longer than this is cancelled when its client disconnects, in seconds."""
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


def event(body: bytes) -> bytes:
    """Return a JSON message as a server-sent event. Some clients also end lines at Unicode's separators."""
    if not body.isascii():  # looked at twenty times as fast as three replacements
        for separator, escaped in _SEPARATORS:
            body = body.replace(separator, escaped)
    return b"event: message\r\ndata: %b\r\n\r\n" % body

"""Tracks pending stdio requests so that shutdown can await them."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from failsoft.server.lifecycle.lifecycle import Lifecycle


class PendingRequests:
    """Counts requests as in flight from being read until the transport has accepted their response."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        self._ids: set[Any] = set()

    def note_read(self, message: object) -> None:
        """Record a message from the client: a request becomes pending, a cancelled one no longer is."""
        if isinstance(message, JSONRPCRequest) and message.id not in self._ids:
            self._ids.add(message.id)
            self._lifecycle.enter()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def note_written(self, message: object) -> None:
        """Record a message to the client."""
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._settle(message.id)

    def clear(self) -> None:
        """Drop all pending requests: the connection is closed."""
        for request_id in tuple(self._ids):
            self._settle(request_id)

    def _settle(self, request_id: Any) -> None:
        if isinstance(request_id, (str, int)) and request_id in self._ids:
            self._ids.remove(request_id)
            self._lifecycle.leave()


class TrackingReader:
    """Wraps the SDK's read stream; delays its end until pending requests have finished.

    At the end of the input the SDK cancels calls in flight, so that responses which are nearly ready would be lost.
    """

    def __init__(
        self,
        inner: Any,
        pending: PendingRequests,
        lifecycle: Lifecycle,
        grace_s: float,
        on_broken: Callable[[Exception], None],
    ) -> None:
        self._inner = inner
        self._on_broken = on_broken
        self._pending = pending
        self._lifecycle = lifecycle
        self._grace_s = grace_s

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or the exception for an invalid line."""
        item: SessionMessage | Exception = await self._inner.receive()
        if isinstance(item, SessionMessage):
            self._pending.note_read(item.message)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.__anext__()
        except StopAsyncIteration:
            await self._lifecycle.finish(self._grace_s)
            raise
        if isinstance(item, SessionMessage):
            self._pending.note_read(item.message)
        else:
            self._on_broken(item)
        return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class TrackingWriter:
    """Wraps the SDK's write stream; records responses."""

    def __init__(self, inner: Any, pending: PendingRequests) -> None:
        self._inner = inner
        self._pending = pending

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; a response counts as delivered once the transport has accepted it."""
        await self._inner.send(item)
        self._pending.note_written(item.message)

    async def aclose(self) -> None:
        """Close the stream."""
        self._pending.clear()
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.aclose()

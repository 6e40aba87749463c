"""The answers that a connection owes its client, so that a server that ends can wait for them and no longer."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from failsoft.server.lifecycle import Lifecycle

__all__ = ["Owed", "Reader", "Writer"]


class Owed:
    """Counts a request as in flight from the moment it is read until its answer has been handed to the transport."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        self._ids: set[Any] = set()

    def note_read(self, message: object) -> None:
        """Note a message from the client: a request is owed an answer, a cancelled one is not any more."""
        if isinstance(message, JSONRPCRequest) and message.id not in self._ids:
            self._ids.add(message.id)
            self._lifecycle.enter()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def note_written(self, message: object) -> None:
        """Note a message to the client."""
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._settle(message.id)

    def write_off(self) -> None:
        """Forget what was not answered: the connection is gone."""
        for request_id in tuple(self._ids):
            self._settle(request_id)

    def _settle(self, request_id: Any) -> None:
        if isinstance(request_id, (str, int)) and request_id in self._ids:
            self._ids.remove(request_id)
            self._lifecycle.leave()


class Reader:
    """The SDK's read stream, noting what passes; its end waits for the answers that are owed.

    At the end of the input the SDK cancels what is in flight, and answers that were nearly ready are lost.
    """

    def __init__(self, inner: Any, owed: Owed, lifecycle: Lifecycle, grace_s: float) -> None:
        self._inner = inner
        self._owed = owed
        self._lifecycle = lifecycle
        self._grace_s = grace_s

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or what was wrong with a line that is none."""
        item: SessionMessage | Exception = await self._inner.receive()
        if isinstance(item, SessionMessage):
            self._owed.note_read(item.message)
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
            self._owed.note_read(item.message)
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


class Writer:
    """The SDK's write stream, noting what passes."""

    def __init__(self, inner: Any, owed: Owed) -> None:
        self._inner = inner
        self._owed = owed

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; an answer counts as given once the transport has taken it."""
        await self._inner.send(item)
        self._owed.note_written(item.message)

    async def aclose(self) -> None:
        """Close the stream."""
        self._owed.write_off()
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.aclose()

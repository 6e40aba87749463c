"""MCP server over the standard streams of the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, BinaryIO, Self

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.settings import Settings
from failsoft.server.draining import drain_on_signals
from failsoft.server.garbage import freeze_loaded
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.stdio_streams import StdinReader, StdoutWriter, answer_to_broken, refusal

_LAST_BYTES_S = 3.0
"""Time for the client to read pending responses at shutdown, in seconds."""


async def serve_stdio(server: Server[Any], lifecycle: Lifecycle, settings: Settings) -> None:
    """Serve one client until end of input, SIGINT or SIGTERM.

    Calls in flight get the grace period to finish; after a signal new calls are refused meanwhile, and a second signal
    ends the wait. Lines beyond the limit of requests are not read; a request among them is refused with -32600.

    Args:
        server: The low-level server.
        lifecycle: Its lifecycle.
        settings: The grace period, and the limit of requests.

    Raises:
        CONFIG_ERROR: One of the standard streams is closed.
        INIT_ERROR: A toolset failed to start.
    """
    grace_s, max_line_bytes = settings.shutdown_grace_s, settings.max_request_bytes
    with _own_streams() as (source, target), anyio.CancelScope() as whole:
        writer = StdoutWriter(target)

        def refuse(head: bytes, tail: bytes) -> None:
            answer = refusal(head, tail, max_line_bytes)
            if answer is not None:
                writer.put(answer)

        def refuse_broken(error: Exception) -> None:
            answer = answer_to_broken(error)
            if answer is not None:
                writer.put(answer)

        lines = StdinReader(source, max_line_bytes=max_line_bytes, on_dropped=refuse)
        pending = PendingRequests(lifecycle)
        try:
            # The SDK only iterates over stdin, and only writes to stdout.
            streams = stdio_server(stdin=lines, stdout=writer)  # type: ignore[arg-type]  # declared as text files
            async with streams as (read, write):
                reader = TrackingReader(read, pending, lifecycle, grace_s, refuse_broken)
                freeze_loaded()
                with drain_on_signals(lifecycle, grace_s=grace_s, then=lines.end):
                    await server.run(reader, TrackingWriter(write, pending), server.create_initialization_options())
                lines.end()
                whole.deadline = anyio.current_time() + _LAST_BYTES_S
        except BaseExceptionGroup as broken:
            if lifecycle.failure is not None:
                raise lifecycle.failure from lifecycle.failure.__cause__
            if broken.split((BrokenPipeError, ConnectionResetError))[1] is not None:
                raise
            logger.debug("The client has stopped listening, so it has left")


@contextmanager
def _own_streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Reserve the standard streams for the protocol.

    Tools and their child processes see an empty standard input, and their output goes to standard error.

    Raises:
        CONFIG_ERROR: One of the streams is closed.
    """
    if sys.stdin is None or sys.stdout is None:
        raise ConfigurationError(
            issue="standard input or output is closed, so no client can be served over stdio",
            resolution="have an MCP client start the server, or serve over HTTP",
        )
    try:
        reading, writing = sys.stdin.fileno(), sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # embedded, or in a test: no descriptors to redirect
        yield sys.stdin.buffer, sys.stdout.buffer
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    source, target = os.dup(reading), os.dup(writing)
    os.dup2(nowhere, reading)
    os.dup2(nowhere if sys.stderr is None else sys.stderr.fileno(), writing)
    os.close(nowhere)
    try:
        # Daemon threads may still use the duplicates, so those stay open; unbuffered, because the lock of a buffer in
        # use would block process exit.
        yield os.fdopen(source, "rb", closefd=False), os.fdopen(target, "wb", buffering=0, closefd=False)
    finally:
        with suppress(OSError):
            sys.stdout.flush()  # buffered output of tools
        os.dup2(source, reading)
        os.dup2(target, writing)


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


class _SdkStream:
    """A stream of the SDK, as a context manager that closes it."""

    _inner: Any

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class TrackingReader(_SdkStream):
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


class TrackingWriter(_SdkStream):
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
        await super().aclose()

"""MCP server over the standard streams of the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.safe.author_reports import logger
from failsoft.server.lifecycle.draining import drain_on_signals
from failsoft.server.lifecycle.garbage import freeze_loaded
from failsoft.server.lifecycle.lifecycle import Lifecycle
from failsoft.server.stdio.oversized import answer_to_broken, refusal
from failsoft.server.stdio.pending_answers import PendingRequests, TrackingReader, TrackingWriter
from failsoft.server.stdio.reader import StdinReader
from failsoft.server.stdio.writer import StdoutWriter

_LAST_BYTES_S = 3.0
"""Time for the client to read pending responses at shutdown, in seconds."""


async def serve_stdio(server: Server[Any], lifecycle: Lifecycle, *, grace_s: float, max_line_bytes: int) -> None:
    """Serve one client until end of input, SIGINT or SIGTERM.

    Calls in flight get `grace_s` seconds to finish; after a signal new calls are refused meanwhile, and a second signal
    ends the wait.

    Args:
        server: The low-level server.
        lifecycle: Its lifecycle.
        grace_s: Time for calls in flight to finish, in seconds.
        max_line_bytes: Longer lines are not read; a request among them is refused with -32600.

    Raises:
        CONFIG_ERROR: One of the standard streams is closed.
        INIT_ERROR: A toolset failed to start.
    """
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

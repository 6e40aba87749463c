"""MCP over the process's own standard streams."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from failsoft.server.lifecycle import Lifecycle
from failsoft.server.lines import Lines
from failsoft.server.owed import Owed, Reader, Writer

__all__ = ["serve_stdio"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def serve_stdio(server: Server[Any], lifecycle: Lifecycle, *, grace_s: float, max_line_bytes: int) -> None:
    """Serve one client until it closes our standard input, or until SIGINT or SIGTERM.

    Either way calls in flight may go on for `grace_s` seconds; after a signal new ones are refused meanwhile, and a
    second signal ends the wait.

    Args:
        server: The low-level server.
        lifecycle: Its lifecycle.
        grace_s: How long calls in flight may go on, in seconds.
        max_line_bytes: Longer lines are dropped, as malformed ones are.

    Raises:
        INIT_ERROR: A toolset failed to start.
    """
    with _own_stdin() as source, _signals() as signalled:
        lines = Lines(source, max_line_bytes=max_line_bytes)
        owed = Owed(lifecycle)
        try:
            # The SDK only iterates over what it is given as standard input.
            async with stdio_server(stdin=lines) as (read, write), anyio.create_task_group() as group:  # type: ignore[arg-type]
                group.start_soon(_end_on_signal, signalled, lifecycle, lines, grace_s)
                reader = Reader(read, owed, lifecycle, grace_s)
                await server.run(reader, Writer(write, owed), server.create_initialization_options())
                lines.end()
                group.cancel_scope.cancel()
        except BaseExceptionGroup:
            if lifecycle.failure is None:
                raise
            raise lifecycle.failure from lifecycle.failure.__cause__


async def _end_on_signal(signalled: asyncio.Queue[None], lifecycle: Lifecycle, lines: Lines, grace_s: float) -> None:
    await signalled.get()
    lifecycle.drain()
    async with anyio.create_task_group() as group:

        async def stop_waiting() -> None:
            await signalled.get()
            lifecycle.hurry()

        group.start_soon(stop_waiting)
        await lifecycle.finish(grace_s)
        group.cancel_scope.cancel()
    lines.end()


@contextmanager
def _own_stdin() -> Iterator[BinaryIO]:
    """Take standard input for the protocol alone: tools and their child processes find it empty."""
    try:
        number = sys.stdin.fileno()
        wire = os.dup(number)
        nowhere = os.open(os.devnull, os.O_RDONLY)
    except (OSError, ValueError, AttributeError):  # embedded, or in a test: there is no descriptor to divert
        yield sys.stdin.buffer
        return
    os.dup2(nowhere, number)
    os.close(nowhere)
    try:
        # The reading thread may outlive us on the duplicate, so that one is left open.
        yield os.fdopen(wire, "rb", closefd=False)
    finally:
        os.dup2(wire, number)


@contextmanager
def _signals() -> Iterator[asyncio.Queue[None]]:
    """Receive SIGINT and SIGTERM as items of a queue, so that they reach the server and never a tool."""
    loop = asyncio.get_running_loop()
    received: asyncio.Queue[None] = asyncio.Queue()
    handled = []
    for number in _SIGNALS:
        with suppress(NotImplementedError, ValueError, RuntimeError):  # Windows, or not the main thread
            loop.add_signal_handler(number, received.put_nowait, None)
            handled.append(number)
    try:
        yield received
    finally:
        for number in handled:
            loop.remove_signal_handler(number)

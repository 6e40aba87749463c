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
from loguru import logger
from mcp.server import Server
from mcp.server.stdio import stdio_server

from failsoft.framework.errors import ConfigurationError
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.lines import Lines
from failsoft.server.outlet import Outlet
from failsoft.server.overlong import refusal
from failsoft.server.owed import Owed, Reader, Writer

__all__ = ["serve_stdio"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LAST_BYTES_S = 3.0
"""How long a client may take to read the answers that are ready, once all else has ended, in seconds."""


async def serve_stdio(server: Server[Any], lifecycle: Lifecycle, *, grace_s: float, max_line_bytes: int) -> None:
    """Serve one client until it closes our standard input, or until SIGINT or SIGTERM.

    Either way calls in flight may go on for `grace_s` seconds; after a signal new ones are refused meanwhile, and a
    second signal ends the wait.

    Args:
        server: The low-level server.
        lifecycle: Its lifecycle.
        grace_s: How long calls in flight may go on, in seconds.
        max_line_bytes: Longer lines are not read; a request among them is refused with -32600.

    Raises:
        CONFIG_ERROR: One of the standard streams is closed.
        INIT_ERROR: A toolset failed to start.
    """
    with _own_streams() as (source, target), _signals() as signalled, anyio.CancelScope() as whole:
        outlet = Outlet(target)

        def refuse(head: bytes, tail: bytes) -> None:
            answer = refusal(head, tail, max_line_bytes)
            if answer is not None:
                outlet.put(answer)

        lines = Lines(source, max_line_bytes=max_line_bytes, on_dropped=refuse)
        owed = Owed(lifecycle)
        try:
            # The SDK only iterates over what it is given as standard input, and only writes to the output.
            streams = stdio_server(stdin=lines, stdout=outlet)  # type: ignore[arg-type]
            async with streams as (read, write), anyio.create_task_group() as group:
                group.start_soon(_end_on_signal, signalled, lifecycle, lines, grace_s)
                reader = Reader(read, owed, lifecycle, grace_s)
                await server.run(reader, Writer(write, owed), server.create_initialization_options())
                lines.end()
                group.cancel_scope.cancel()
                whole.deadline = anyio.current_time() + _LAST_BYTES_S
        except BaseExceptionGroup as broken:
            if lifecycle.failure is not None:
                raise lifecycle.failure from lifecycle.failure.__cause__
            if broken.split((BrokenPipeError, ConnectionResetError))[1] is not None:
                raise
            logger.debug("The client has stopped listening, so it has left")


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
    lifecycle.hurry()  # the end of the input asks for no second grace
    lines.end()


@contextmanager
def _own_streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Take the standard streams for the protocol alone.

    Tools and their child processes find the input empty, and what they write goes to standard error.

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
    except (OSError, ValueError, AttributeError):  # embedded, or in a test: there are no descriptors to divert
        yield sys.stdin.buffer, sys.stdout.buffer
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    source, target = os.dup(reading), os.dup(writing)
    os.dup2(nowhere, reading)
    os.dup2(nowhere if sys.stderr is None else sys.stderr.fileno(), writing)
    os.close(nowhere)
    try:
        # The threads may outlive us on the duplicates, so those are left open; and unbuffered, or the lock of a buffer
        # in use would keep the process from ending.
        yield os.fdopen(source, "rb", closefd=False), os.fdopen(target, "wb", buffering=0, closefd=False)
    finally:
        with suppress(OSError):
            sys.stdout.flush()  # what tools have printed and Python has kept back
        os.dup2(source, reading)
        os.dup2(target, writing)


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

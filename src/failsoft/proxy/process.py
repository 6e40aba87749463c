"""The stdio transport of an upstream: its process, streams and shutdown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded
from failsoft.proxy.lines import LineReader
from failsoft.proxy.targets import UpstreamTarget

_LEAVE_S = 2.0
"""How long a process may take to end by itself once its input is closed, and again after SIGTERM."""
_ERROR_LINES = 20


@asynccontextmanager
async def started(target: UpstreamTarget, *, limit_bytes: int, closed: anyio.Event) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server and yield its streams, as the SDK's transports do; `closed` is set when it stops answering.

    Args:
        target: The command, its environment and its folder.
        limit_bytes: The longest line that is read.
        closed: Set when the output ends or the input breaks.

    Raises:
        OSError: The command cannot be started.
    """
    process = await anyio.open_process(
        list(target.command),
        env=get_default_environment() | dict(target.environment),
        cwd=target.folder,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, to_us, limit_bytes, closed)
            group.start_soon(_write, process, from_us, closed)
            group.start_soon(_log_errors, process, target.name)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await outgoing.aclose()
                    await _end(process)
                group.cancel_scope.cancel()
    finally:
        for stream in (to_us, incoming, outgoing, from_us):
            stream.close()


async def _read(process: Process, to_us: Any, limit_bytes: int, closed: anyio.Event) -> None:
    reader = LineReader(limit_bytes=limit_bytes)
    try:
        async with to_us:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                async for chunk in process.stdout:  # type: ignore[union-attr]  # opened as a pipe
                    for message in reader.feed(chunk):
                        await to_us.send(message)
    finally:
        closed.set()


async def _write(process: Process, from_us: Any, closed: anyio.Event) -> None:
    try:
        async for item in from_us:
            lines = [_line(item)]
            with suppress(anyio.WouldBlock, anyio.EndOfStream):
                while True:  # concurrent calls share one write, which wakes the server once
                    lines.append(_line(from_us.receive_nowait()))
            await process.stdin.send(b"".join(lines))  # type: ignore[union-attr]  # opened as a pipe
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        closed.set()


def _line(item: SessionMessage) -> bytes:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


async def _log_errors(process: Process, name: str) -> None:
    """Write the upstream's standard error to the log, a line each at DEBUG, and its end at INFO if it died."""
    tail: deque[str] = deque(maxlen=_ERROR_LINES)
    rest = b""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for chunk in process.stderr:  # type: ignore[union-attr]  # opened as a pipe
            *lines, rest = (rest[-4_000:] + chunk).split(b"\n")
            for line in lines:
                text = bounded(line.decode(errors="replace"))
                tail.append(text)
                logger.bind(upstream=name).debug("Upstream: {}", text)
    if process.returncode:
        logger.bind(upstream=name, exit_status=process.returncode).info("Last lines of the upstream: {}", list(tail))


async def _end(process: Process) -> None:
    """End the process and its children: close its input, then SIGTERM, then SIGKILL, each after a grace period."""
    with suppress(Exception):
        await process.stdin.aclose()  # type: ignore[union-attr]  # opened as a pipe
    for number in (signal.SIGTERM, None if sys.platform == "win32" else signal.SIGKILL):
        with anyio.move_on_after(_LEAVE_S):
            await process.wait()
            break
        _signal_group(process, number)
    else:
        with anyio.move_on_after(_LEAVE_S):
            await process.wait()
    _signal_group(process, None if sys.platform == "win32" else signal.SIGKILL)
    with suppress(Exception):
        await process.aclose()


def _signal_group(process: Process, number: signal.Signals | None) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32" or number is None:
            process.kill()
        else:
            os.killpg(process.pid, number)

"""A server over stdio: its process, bounded lines in, and its shutdown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from failsoft.client.messages import LineReader, beside_the_loop, message_of
from failsoft.client.questions import Unanswered
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded

_LEAVE_S = 2.0
"""How long a process may take to end by itself once its input is closed, and again after SIGTERM."""
_REST_S = 1.0
"""How long the output of a process is read that has ended."""
_ERROR_LINES = 20
_LINE_BYTES = 4_000
_LINES_AT_ONCE = 64
_LARGE_CHUNK_BYTES = 32_768
_WATCH = 'read -r _; sleep 1; kill -s TERM -- "-$1"; sleep 2; kill -s KILL -- "-$1"'


@asynccontextmanager
async def stdio_streams(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: str | None,
    limit_bytes: int,
    closed: anyio.Event | None = None,
    name: str = "",
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server and yield its streams, as the SDK's transports do; `closed` is set when it stops answering.

    Args:
        command: The program and its arguments.
        environment: Variables added to the ones that are safe to inherit.
        folder: The working directory of the command.
        limit_bytes: The longest line that is read.
        closed: Set when the output ends or the input breaks.
        name: What log records call the server; without one, its standard error is that of this process.

    Raises:
        OSError: The command cannot be started.
    """
    process = await anyio.open_process(
        list(command),
        env=get_default_environment() | dict(environment),
        cwd=folder,
        stderr=subprocess.PIPE if name else None,
        start_new_session=True,
    )
    closed = closed or anyio.Event()
    asked = Unanswered()
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        with _ended_after_this_process(process.pid):
            async with anyio.create_task_group() as group:
                reading = anyio.CancelScope()
                group.start_soon(_read, process, to_us, limit_bytes, closed, reading, asked)
                group.start_soon(_read_the_rest, process, reading)
                group.start_soon(_write, process, from_us, closed, asked)
                if process.stderr is not None:
                    group.start_soon(_log_errors, process, process.stderr, name)
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


async def _read_the_rest(process: Process, reading: anyio.CancelScope) -> None:
    """End the reading soon after the process, whose output may be held open by others that it has started."""
    await process.wait()
    await anyio.sleep(_REST_S)
    reading.cancel()


async def _read(
    process: Process, to_us: Any, limit_bytes: int, closed: anyio.Event, reading: anyio.CancelScope, asked: Unanswered
) -> None:
    reader, without_message = LineReader(limit_bytes=limit_bytes), 0
    read = partial(message_of, limit_bytes=limit_bytes)
    try:
        async with to_us:
            with reading, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                async for chunk in process.stdout:  # type: ignore[union-attr]  # opened as a pipe
                    for line in reader.feed(chunk):
                        message = await beside_the_loop(read, line) if isinstance(line, bytes) else line
                        if message is not None and asked.admits(message):
                            await to_us.send(message)
                            continue
                        without_message += 1
                        if without_message % _LINES_AT_ONCE == 0:
                            await anyio.lowlevel.checkpoint()
                    if len(chunk) >= _LARGE_CHUNK_BYTES:  # there may be more at once, without end
                        await anyio.lowlevel.checkpoint()
    finally:
        closed.set()


async def _write(process: Process, from_us: Any, closed: anyio.Event, asked: Unanswered) -> None:
    try:
        async for item in from_us:
            batch = [item]
            with suppress(anyio.WouldBlock, anyio.EndOfStream):
                while True:  # concurrent calls share one write, which wakes the server once
                    batch.append(from_us.receive_nowait())
            await process.stdin.send(b"".join(map(_line, batch)))  # type: ignore[union-attr]  # opened as a pipe
            for sent in batch:
                if not isinstance(sent.message, JSONRPCRequest):
                    asked.answered(getattr(sent.message, "id", None))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        closed.set()


def _line(item: SessionMessage) -> bytes:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


async def _log_errors(process: Process, stream: ByteReceiveStream, name: str) -> None:
    """Write the upstream's standard error to the log, a line each at DEBUG, and its end at INFO if it died."""
    tail: deque[str] = deque(maxlen=_ERROR_LINES)
    rest = b""
    while True:
        try:
            chunk = await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            break
        *lines, rest = (rest[-_LINE_BYTES:] + chunk).split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                text = bounded(line.decode(errors="replace"))
                tail.append(text)
                logger.bind(upstream=name).debug("Upstream: {}", text)
            except Exception as error:  # noqa: BLE001 - a server whose standard error is not read would stop
                logger.bind(upstream=name).opt(exception=error).warning("A line of an upstream cannot be logged")
            if number % _LINES_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
    if process.returncode:
        logger.bind(upstream=name, exit_status=process.returncode).info("Last lines of the upstream: {}", list(tail))


@contextmanager
def _ended_after_this_process(group: int) -> Iterator[None]:
    """End a process group if this process ends first, however it ends: SIGTERM after a second, SIGKILL after two more.

    A shell waits for the end of its standard input, which only this process holds open.
    """
    if sys.platform == "win32":
        yield
        return
    watch: subprocess.Popen[bytes] | None = None
    try:
        watch = subprocess.Popen(  # noqa: S603 - a fixed script, and a number
            ["/bin/sh", "-c", _WATCH, "failsoft-watch", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=get_default_environment(),
            start_new_session=True,
        )
    except OSError as error:
        logger.opt(exception=error).warning("Without a shell, a server may outlive a killed proxy")
    try:
        yield
    finally:
        if watch is not None:
            watch.kill()
            watch.communicate()


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

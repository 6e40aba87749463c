"""A server over stdio: its process, bounded lines in, and its shutdown."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage
from pydantic import TypeAdapter, ValidationError

from failsoft.client.broken_lists import readable_list
from failsoft.client.faults import fault_data
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded

_LEAVE_S = 2.0
"""How long a process may take to end by itself once its input is closed, and again after SIGTERM."""
_ERROR_LINES = 20
_MESSAGE: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,200}")')
_EDGE_BYTES = 2_000


@asynccontextmanager
async def stdio_streams(
    command: Sequence[str],
    *,
    name: str,
    environment: Mapping[str, str],
    folder: str | None,
    limit_bytes: int,
    closed: anyio.Event,
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server and yield its streams, as the SDK's transports do; `closed` is set when it stops answering.

    Args:
        command: The program and its arguments.
        name: What log records call the server.
        environment: Variables added to the ones that are safe to inherit.
        folder: The working directory of the command.
        limit_bytes: The longest line that is read.
        closed: Set when the output ends or the input breaks.

    Raises:
        OSError: The command cannot be started.
    """
    process = await anyio.open_process(
        list(command),
        env=get_default_environment() | dict(environment),
        cwd=folder,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, to_us, limit_bytes, closed)
            group.start_soon(_write, process, from_us, closed)
            group.start_soon(_log_errors, process, name)
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


class LineReader:
    """Cuts bytes into lines and lines into messages.

    A line that is too long is dropped as it comes in, so an endless one costs no memory. Where a broken line shows the
    id of a request, an error takes the place of its answer, so that the caller does not wait for nothing.

    Args:
        limit_bytes: The longest line that is read.
    """

    def __init__(self, *, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()
        self._dropped = 0
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[SessionMessage]:
        """Yield the messages that are complete with these bytes."""
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            yield from self._line(part)
        self._add(rest)

    def _line(self, part: bytes) -> Iterator[SessionMessage]:
        self._add(part)
        if self._dropped:
            size = self._dropped + len(self._buffer)
            edges = self._head + b" " + bytes(self._buffer[-_EDGE_BYTES:])
            self._dropped, self._head = 0, b""
            self._buffer.clear()
            yield from _in_place_of(edges, fault_data("too_large", size_bytes=size, limit_bytes=self._limit))
            return
        line = bytes(self._buffer)
        self._buffer.clear()
        if line.strip():
            yield from message_of(line)

    def _add(self, part: bytes) -> None:
        self._buffer += part
        if len(self._buffer) <= self._limit:
            return
        if not self._head:
            self._head = bytes(self._buffer[:_EDGE_BYTES])
        keep = self._buffer[-_EDGE_BYTES:]
        self._dropped += len(self._buffer) - len(keep)
        self._buffer = keep


def message_of(line: bytes) -> Iterator[SessionMessage]:
    """Yield the message of a line; for one that is no JSON-RPC, an error under the id that it shows, or nothing."""
    message = _validated(line) or _validated(readable_list(line))
    if message is not None:
        yield SessionMessage(message)
        return
    yield from _in_place_of(line[:_EDGE_BYTES] + b" " + line[-_EDGE_BYTES:], fault_data("malformed"))


def _validated(line: bytes | None) -> Any:
    try:
        return None if line is None else _MESSAGE.validate_json(line, by_name=False)
    except (ValidationError, ValueError, RecursionError):
        return None


def _in_place_of(edges: bytes, data: dict[str, Any]) -> Iterator[SessionMessage]:
    found = _ID.search(edges)
    if found is None:
        return
    error = types.ErrorData(code=types.PARSE_ERROR, message="The server sent an unusable answer", data=data)
    yield SessionMessage(JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=error))

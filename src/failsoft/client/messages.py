"""JSON-RPC messages from bytes of another process: bounded, with a typed error in place of an answer that is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import anyio.to_thread
import mcp_types as types
import pydantic_core
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage
from pydantic import TypeAdapter, ValidationError

from failsoft.client.broken_lists import readable_list, shortened_list
from failsoft.client.faults import fault_data

T = TypeVar("T")
_MESSAGE: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,200}")')
_EDGE_BYTES = 2_000
_STRING = re.compile(rb'(?s)"[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\\?\Z)')
_MARKS = (b",", b"[", b"{")
_BESIDE_BYTES = 200_000
_BYTES_A_MARK = 25
"""An object takes up to 500 bytes of memory while the SDK reads it, where `{},` takes three in the message."""


class LineReader:
    """Cuts bytes into lines.

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

    def feed(self, chunk: bytes) -> Iterator[bytes | SessionMessage | None]:
        """Yield each line that is complete with these bytes; for one that is too long its error, or None."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield self._line(chunk[start:end])
            start = end + 1
        self._add(chunk[start:])

    def _line(self, part: bytes) -> bytes | SessionMessage | None:
        self._add(part)
        if self._dropped:
            size = self._dropped + len(self._buffer)
            edges = self._head + b" " + bytes(self._buffer[-_EDGE_BYTES:])
            self._dropped, self._head = 0, b""
            self._buffer.clear()
            return _in_place_of(edges, fault_data("too_large", size_bytes=size, limit_bytes=self._limit))
        line = bytes(self._buffer)
        self._buffer.clear()
        return line

    def _add(self, part: bytes) -> None:
        self._buffer += part
        if len(self._buffer) <= (2 * _EDGE_BYTES if self._head else self._limit):
            return
        if not self._head:
            self._head = bytes(self._buffer[:_EDGE_BYTES])
        keep = self._buffer[-_EDGE_BYTES:]
        self._dropped += len(self._buffer) - len(keep)
        self._buffer = keep


async def beside_the_loop(read: Callable[[bytes], T], data: bytes) -> T:
    """Return what is read of bytes; much is read beside the event loop, since it may have to be read several times."""
    return read(data) if len(data) < _BESIDE_BYTES else await anyio.to_thread.run_sync(read, data)


def message_of(line: bytes, *, limit_bytes: int) -> SessionMessage | None:
    """Return the message of a line; for one that is unusable, an error under the id that it shows, or None."""
    if not line.lstrip().startswith(b"{"):
        return None
    fault = too_many_values(line, limit_bytes=limit_bytes)
    whole = line if fault is None else shortened_list(line)
    message = _validated(whole) or _validated(None if whole is None else readable_list(whole))
    if message is not None:
        return SessionMessage(message)
    return _in_place_of(line[:_EDGE_BYTES] + b" " + line[-_EDGE_BYTES:], fault or fault_data("malformed"))


def _validated(line: bytes | None) -> Any:
    """Return the message of a line, or None. Twice as fast as `validate_json`, which reads it for each kind anew."""
    try:
        return None if line is None else _MESSAGE.validate_python(pydantic_core.from_json(line), by_name=False)
    except (ValidationError, ValueError, RecursionError):
        return None


def too_many_values(body: bytes, *, limit_bytes: int) -> dict[str, Any] | None:
    """Return the fault of JSON with so many values that they would take many times its size in memory, or None.

    Args:
        body: JSON of `limit_bytes` at most.
        limit_bytes: The largest body; one comma or opening bracket for 25 of these bytes is accepted.
    """
    most = limit_bytes // _BYTES_A_MARK
    if sum(map(body.count, _MARKS)) <= most:
        return None
    bare = _STRING.sub(b"", body)
    marks = sum(map(bare.count, _MARKS))
    if marks <= most:
        return None
    return fault_data("too_large", size_bytes=len(body), limit_bytes=len(body) * most // marks)


def error_message(request_id: Any, data: dict[str, Any]) -> JSONRPCError:
    """Return the JSON-RPC error in place of an unusable answer, with its `fault_data`."""
    error = types.ErrorData(code=types.PARSE_ERROR, message="The server sent an unusable answer", data=data)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _in_place_of(edges: bytes, data: dict[str, Any]) -> SessionMessage | None:
    found = _ID.search(edges)
    return None if found is None else SessionMessage(error_message(json.loads(found[1]), data))

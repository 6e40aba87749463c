"""Parse an upstream's standard output into JSON-RPC messages: bounded lines, and a typed error for each invalid one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage
from pydantic import TypeAdapter, ValidationError

from failsoft.client.faults import fault_data

_MESSAGE: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,200}")')
_EDGE_BYTES = 2_000


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
    try:
        yield SessionMessage(_MESSAGE.validate_json(line, by_name=False))
    except (ValidationError, ValueError, RecursionError):
        yield from _in_place_of(line[:_EDGE_BYTES] + b" " + line[-_EDGE_BYTES:], fault_data("malformed"))


def _in_place_of(edges: bytes, data: dict[str, Any]) -> Iterator[SessionMessage]:
    found = _ID.search(edges)
    if found is None:
        return
    error = types.ErrorData(code=types.PARSE_ERROR, message="The server sent an unusable answer", data=data)
    yield SessionMessage(JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=error))

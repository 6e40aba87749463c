"""Reader and writer of the standard streams that block neither cancellation nor process exit; refusals of lines."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from io import RawIOBase
from typing import BinaryIO

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from failsoft.framework.safe.author_reports import logger

_AHEAD = 16
"""Read-ahead in lines; a larger one would only move the client's queue into this process."""
EDGE_BYTES = 400
"""Bytes kept of either end of the line, to find the id in."""
_ID = rb'"id"\s*:\s*(?P<id>-?(?:0|[1-9]\d{0,17})|"[ !#-\[\]-~]{1,200}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_METHOD = rb'"method"\s*:\s*"[^"\\]{1,200}"'
_FIRST = re.compile(rb"\s*\{\s*(?:(?:" + _VERSION + rb"|" + _METHOD + rb")\s*,\s*){0,2}" + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*(?:" + _VERSION + rb"|" + _METHOD + rb")\s*){0,2}\}\s*\Z")


class StdinReader:
    """Iterates over the lines as text. The SDK's own reader cannot be stopped while it waits for a line.

    Args:
        source: The stream; it is read until it ends, or until `end` is called.
        max_line_bytes: Longer lines are dropped, the line break included.
        on_dropped: Called in the reader thread with both ends of such a line.
    """

    def __init__(
        self, source: BinaryIO, *, max_line_bytes: int, on_dropped: Callable[[bytes, bytes], None] | None = None
    ) -> None:
        self._source = source
        self._on_dropped = on_dropped
        self._max_line_bytes = max_line_bytes
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._ended = False
        threading.Thread(target=self._read, name="failsoft-stdin", daemon=True).start()

    def __aiter__(self) -> StdinReader:
        return self

    async def __anext__(self) -> str:
        line = None if self._ended else await self._lines.get()
        if line is None:
            self._ended = True
            raise StopAsyncIteration
        self._room.release()
        return line.decode("utf-8", errors="replace")

    def end(self) -> None:
        """End the iteration now, even if the stream has more data."""
        self._ended = True
        self._lines.put_nowait(None)
        self._room.release()

    def _read(self) -> None:
        try:
            while not self._ended and (line := self._source.readline(self._max_line_bytes + 1)):
                if len(line) > self._max_line_bytes:
                    self._skip_rest_of(line)
                    continue
                self._room.acquire()
                self._pass_on(line)
        except (OSError, ValueError) as error:
            logger.debug("Reading the input ended with {}", type(error).__name__)
        self._pass_on(None)

    def _skip_rest_of(self, line: bytes) -> None:
        logger.warning("A line of more than {} bytes was dropped", self._max_line_bytes)
        head, tail = line[:EDGE_BYTES], line[-EDGE_BYTES:]
        while line and not line.endswith(b"\n"):
            line = self._source.readline(65_536)
            tail = (tail + line)[-EDGE_BYTES:]
        if self._on_dropped is not None:
            self._on_dropped(head, tail)

    def _pass_on(self, line: bytes | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class StdoutWriter:
    """Text output for the SDK. The SDK's own writer cannot be stopped while the pipe is full.

    Args:
        target: The stream, unbuffered: a buffer that is locked by a waiting thread would block process exit.
    """

    def __init__(self, target: BinaryIO | RawIOBase) -> None:
        self._target = target
        self._loop = asyncio.get_running_loop()
        self._pieces: queue.SimpleQueue[tuple[bytes, asyncio.Future[None] | None]] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="failsoft-stdout", daemon=True).start()

    async def write(self, text: str) -> None:
        """Write the text; return when the system has accepted it.

        Raises:
            OSError: The stream is closed, or the reader of the pipe is.
        """
        written: asyncio.Future[None] = self._loop.create_future()
        self._pieces.put((text.encode(), written))
        await written

    def put(self, text: str) -> None:
        """Queue the text without waiting; callable from any thread."""
        self._pieces.put((text.encode(), None))

    async def flush(self) -> None:
        """Do nothing: the stream is unbuffered."""

    def _write(self) -> None:
        while True:
            piece, written = self._pieces.get()
            error: Exception | None = None
            try:
                self._write_all(memoryview(piece))
            except (OSError, ValueError) as raised:
                logger.debug("Writing the output ended with {}", type(raised).__name__)
                error = raised
            if written is None:
                continue
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(_settle, written, error)

    def _write_all(self, piece: memoryview) -> None:
        while piece:
            taken = self._target.write(piece)
            if taken is None:  # the parent has set O_NONBLOCK on the stream
                select.select([], [self._target], [])
            else:
                piece = piece[taken:]
        self._target.flush()


def _settle(written: asyncio.Future[None], error: Exception | None) -> None:
    if written.done():  # cancelled
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)


def refusal(head: bytes, tail: bytes, limit: int) -> str | None:
    """Return the error response, or None without an id: a notification, or not JSON-RPC.

    Clients write the id before the parameters or after them, so both ends of the line are searched.

    Args:
        head: The beginning of the line.
        tail: Its end.
        limit: The size limit of a line, in bytes.
    """
    message = f"The request is longer than the {limit} bytes that this server reads; send less in one call"
    return _answer(head, tail, INVALID_REQUEST, message)


def answer_to_broken(error: Exception) -> str | None:
    """Return the error response to a line that is no JSON, such as one with a lone surrogate; None without an id.

    Args:
        error: What the SDK made of the line.
    """
    if not isinstance(error, ValidationError):
        return None
    fault = error.errors(include_url=False, include_context=False)[0]
    if fault["type"] != "json_invalid" or not isinstance(fault["input"], str):
        return None
    line = fault["input"].encode(errors="replace")
    return _answer(line[:EDGE_BYTES], line[-EDGE_BYTES:], PARSE_ERROR, "The request is no JSON that can be read")


def _answer(head: bytes, tail: bytes, code: int, message: str) -> str | None:
    found = _FIRST.match(head) or _LAST.search(tail.rstrip())
    if found is None:
        return None
    answer = {"jsonrpc": "2.0", "id": json.loads(found["id"]), "error": {"code": code, "message": message}}
    return json.dumps(answer, separators=(",", ":")) + "\n"

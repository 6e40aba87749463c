"""Line reader on a daemon thread; blocks neither cancellation nor process exit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from failsoft.framework.safe.author_reports import logger
from failsoft.server.stdio.oversized import EDGE_BYTES

_AHEAD = 16
"""Read-ahead in lines; a larger one would only move the client's queue into this process."""


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

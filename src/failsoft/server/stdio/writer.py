"""Writer on a daemon thread, so that a client that does not read cannot block the event loop."""

from __future__ import annotations

import asyncio
import queue
import select
import threading
from contextlib import suppress
from io import RawIOBase
from typing import BinaryIO

from failsoft.framework.safe.author_reports import logger


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

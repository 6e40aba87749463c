"""Workers whose supervisor is gone: without it nobody would end them, and they would hold the port for ever."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from loguru import logger

__all__ = ["end_without_supervisor"]


@contextmanager
def end_without_supervisor() -> Iterator[None]:
    """End this process as SIGTERM does, calls in flight included, once the one that started it has ended.

    The sentinel of the parent is a pipe that closes with it, however it ends. In a process that was not started by
    `multiprocessing` there is none, and this does nothing.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        yield
        return
    loop = asyncio.get_running_loop()
    sentinel = parent.sentinel

    def end() -> None:
        loop.remove_reader(sentinel)
        logger.warning("The supervisor of this worker is gone, so the worker ends")
        signal.raise_signal(signal.SIGTERM)

    try:
        loop.add_reader(sentinel, end)
    except NotImplementedError:  # Windows' loop watches sockets alone
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(sentinel)

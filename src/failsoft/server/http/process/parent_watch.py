"""Parent watch: shuts a worker process down when its supervisor has died."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from failsoft.framework.safe.author_reports import logger


@contextmanager
def end_without_supervisor() -> Iterator[None]:
    """Shut down gracefully, as on SIGTERM, when the parent process has ended.

    The parent's sentinel is a pipe that the system closes with the parent. In a process that was not started by
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
    except NotImplementedError:  # on Windows the loop can only watch sockets
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(sentinel)

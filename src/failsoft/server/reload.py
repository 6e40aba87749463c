"""Hot reload of the recovery file of a running server, and the last good options, with which new workers start."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from failsoft.framework.call.chain import RecoveryConfigurationPort
from failsoft.framework.call.runtime import Runtime, inherited
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.threads import ThreadPool
from failsoft.metrics.board import in_use
from failsoft.server.signals import signals_handled

_POLL_INTERVAL_S = 1.0
_KEPT = "recovery.pickle"
HANG_UP = [getattr(signal, "SIGHUP")] if hasattr(signal, "SIGHUP") else []  # noqa: B009 - Windows has none


@contextmanager
def reload_on_change(tools: Iterable[BaseTool]) -> Iterator[None]:
    """Reload the recovery of these toolsets when their file changes or at SIGHUP, while the block lasts.

    Each worker process watches the file itself. Without a file nothing is watched.
    """
    tools = list(tools)
    runtimes = _runtimes(tools)
    if not runtimes:
        yield
        return
    loop = asyncio.get_running_loop()
    board = in_use()
    folder = None if board is None or board.file is None else board.file.parent
    watch = _RecoveryFileWatch(tools, runtimes, folder)
    task = loop.create_task(watch.run())

    def handle(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(watch.hang_up)

    try:
        with signals_handled(handle, HANG_UP):
            yield
    finally:
        task.cancel()


def _runtimes(tools: Iterable[BaseTool]) -> list[Runtime]:
    """Return the runtimes whose options are in a file."""
    found = {id(tool.runtime): tool.runtime for tool in tools if tool.runtime.settings.recovery_file is not None}
    return list(found.values())


def keep_recovery(tools: Iterable[BaseTool], folder: Path) -> None:
    """Keep the options in force in the folder of a server's workers: a new one starts with them, whatever the file has.

    Args:
        tools: The toolsets.
        folder: A folder that only this user may write.
    """
    runtimes = _runtimes(tools)
    options = {runtime.recovery_source: runtime.configuration for runtime in runtimes if runtime.configuration}
    fresh = folder / f"{_KEPT}.{os.getpid()}"
    with suppress(OSError, pickle.PicklingError, TypeError, AttributeError):  # then a new worker reads the file
        fresh.write_bytes(pickle.dumps(options))
        fresh.replace(folder / _KEPT)


@contextmanager
def kept_recovery(folder: Path) -> Iterator[None]:
    """Let runtimes that are made in the block begin with what `keep_recovery` has kept."""
    with suppress(FileNotFoundError):
        inherited.update(pickle.loads((folder / _KEPT).read_bytes()))  # noqa: S301 - written by our own processes
    try:
        yield
    finally:
        inherited.clear()


class _RecoveryFileWatch:
    """Polls the files once a second, which works on every file system, in containers too.

    The files are looked at and read in a thread: a mount that hangs must not block the event loop.

    Args:
        tools: All toolsets that are served.
        runtimes: Theirs.
        folder: Where workers keep the last good options; None in a server without workers.
    """

    def __init__(self, tools: list[BaseTool], runtimes: list[Runtime], folder: Path | None) -> None:
        self._tools = tools
        self._runtimes = runtimes
        self._folder = folder
        self._threads = ThreadPool(limit=1)
        self._seen = self._states()
        self._woken = asyncio.Event()
        self._all = False

    async def run(self) -> None:
        """Watch until cancelled, whatever goes wrong."""
        if self._folder is not None:
            for runtime in self._runtimes:
                await self._reload(runtime, is_start=True)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), _POLL_INTERVAL_S)
            self._woken.clear()
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - a watch that dies would leave old options in force unseen
                _report(error)

    async def _look(self) -> None:
        """Reload the files that have changed; all of them after a hang-up."""
        before, self._seen = self._seen, await self._threads.run(self._states)
        reload_all, self._all = self._all, False
        for runtime, old, new in zip(self._runtimes, before, self._seen, strict=True):
            if reload_all or (old != new and new is not None):
                await self._reload(runtime)

    def hang_up(self) -> None:
        """Reload all at once, changed or not."""
        self._all = True
        self._woken.set()

    async def _reload(self, runtime: Runtime, *, is_start: bool = False) -> None:
        """Reload the options of a runtime; at the start of a worker only if the file has others than it began with."""
        read: RecoveryConfigurationPort | Exception | None
        try:
            read = await self._threads.run(runtime.read_configuration)
            if is_start and read == runtime.configuration:
                return
            if read is not None:
                read.check(self._tools, are_all=True)
        except Exception as error:  # noqa: BLE001 - the runtime reports it, and keeps the options in force
            read = error
        try:
            if runtime.reload_recovery(read) and self._folder is not None:
                await self._threads.run(partial(keep_recovery, self._tools, self._folder))
        except Exception as error:  # noqa: BLE001 - the files of the other runtimes are read all the same
            _report(error)

    def _states(self) -> list[tuple[int, int, int] | None]:
        return [_state(runtime.settings.recovery_file) for runtime in self._runtimes]


def _report(error: Exception) -> None:
    logger.opt(exception=error).bind(event="reload_failed").error(
        "The recovery file could not be read again; the options in force stay, and the watch goes on"
    )


def _state(file: Path | None) -> tuple[int, int, int] | None:
    """Return modification time, size and inode; None if there is no regular file, as during its replacement."""
    try:
        status = None if file is None else file.stat()
    except OSError:
        return None
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)

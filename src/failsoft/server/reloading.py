"""A recovery file that changes while a server runs: noticed, read anew, and used if it can be."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from failsoft.framework.runtime import Runtime
from failsoft.framework.tool import BaseTool

__all__ = ["reload_on_change"]

_LOOKED_AT_EVERY_S = 1.0
_HANG_UP = getattr(signal, "SIGHUP", None)


@contextmanager
def reload_on_change(tools: Iterable[BaseTool]) -> Iterator[None]:
    """Reload the recovery of these toolsets when their file changes, or at SIGHUP, for as long as the block lasts.

    Every process of a server looks for itself, so that all of them notice. Without a file nothing is watched.
    """
    runtimes = {id(tool.runtime): tool.runtime for tool in tools if tool.runtime.settings.recovery_file is not None}
    if not runtimes:
        yield
        return
    watch = _Watch(list(runtimes.values()))
    watch.begin()
    try:
        yield
    finally:
        watch.end()


class _Watch:
    """Looks at the files once a second: that works on every file system, in containers too."""

    def __init__(self, runtimes: list[Runtime]) -> None:
        self._runtimes = runtimes
        self._loop = asyncio.get_running_loop()
        self._seen = self._states()
        self._before: Any = None

    def begin(self) -> None:
        self._timer = self._loop.call_later(_LOOKED_AT_EVERY_S, self._look)
        if _HANG_UP is None:
            return
        try:
            self._before = signal.signal(_HANG_UP, self._hung_up)
        except ValueError:  # outside the main thread nobody may handle signals
            self._before = None

    def end(self) -> None:
        self._timer.cancel()
        if _HANG_UP is not None and signal.getsignal(_HANG_UP) == self._hung_up:
            signal.signal(_HANG_UP, self._before)

    def _hung_up(self, _number: int, _frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._reload, self._runtimes)

    def _look(self) -> None:
        self._timer = self._loop.call_later(_LOOKED_AT_EVERY_S, self._look)
        before, self._seen = self._seen, self._states()
        pairs = zip(self._runtimes, before, self._seen, strict=True)
        self._reload([runtime for runtime, old, new in pairs if old != new and new is not None])

    def _reload(self, runtimes: list[Runtime]) -> None:
        for runtime in runtimes:
            runtime.reload_recovery()

    def _states(self) -> list[tuple[int, int, int] | None]:
        return [_state(runtime.settings.recovery_file) for runtime in self._runtimes]


def _state(file: Path | None) -> tuple[int, int, int] | None:
    """Return what changes with a file; None while there is none, as in the middle of its replacement."""
    try:
        status = None if file is None else file.stat()
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)

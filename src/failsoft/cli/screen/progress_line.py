"""Progress line on the terminal for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from failsoft.cli.screen.terminal import is_terminal
from failsoft.framework.text import bounded

_SHOWN_AFTER_S = 2.0
_EVERY_S = 0.5
_WIDE = 100
_CLEAR = "\r\x1b[K"


class Waiting:
    """Shows the seconds that passed, and the progress that was reported, on standard error if that is a terminal.

    Args:
        what: What is waited for.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._progress = ""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    async def report(self, done: float, total: float | None, message: str | None) -> None:
        """Take a progress notification."""
        counted = f"{done:g} of {total:g}" if total is not None else f"{done:g}"
        self._progress = ", ".join(part for part in (counted, message or "") if part)

    def __enter__(self) -> Self:
        if is_terminal(sys.stderr):
            self._thread = threading.Thread(target=self._show, name="failsoft-waiting", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        began = time.monotonic()
        if self._over.wait(_SHOWN_AFTER_S):
            return
        while not self._over.wait(_EVERY_S):
            passed = f"{self._what}: {time.monotonic() - began:.0f} s"
            line = f"{passed}, {self._progress}" if self._progress else passed
            sys.stderr.write(_CLEAR + bounded(line, _WIDE))
            sys.stderr.flush()
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()

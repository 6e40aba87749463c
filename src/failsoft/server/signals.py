"""Installs signal handlers for the length of a block."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that end a server."""


@contextmanager
def signals_handled(
    handle: Callable[[int, FrameType | None], object], numbers: Iterable[int] = SIGNALS
) -> Iterator[dict[int, Any]]:
    """Install a signal handler while the block lasts, and yield the previous handlers by number.

    Outside the main thread, where signals cannot be handled, nothing is installed.
    """
    before: dict[int, Any] = {}
    with suppress(ValueError):
        for number in numbers:
            before[number] = signal.signal(number, handle)
    try:
        yield before
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

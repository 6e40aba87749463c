"""Ending gracefully: at the first signal no new calls, at the end of those in flight, or at the second signal, exit."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from failsoft.server.lifecycle import Lifecycle

__all__ = ["SIGNALS", "drain_on_signals"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def drain_on_signals(lifecycle: Lifecycle, *, grace_s: float) -> Iterator[None]:
    """Put the draining before whatever handles SIGINT and SIGTERM now, for as long as the block lasts.

    Meanwhile the listening socket stays open: a load balancer sees `/readyz` turn 503, and a client that calls is told
    what is going on in place of a refused connection. Outside the main thread, where signals cannot be handled, this
    does nothing.
    """
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[None]] = []
    before: dict[int, Any] = {}

    async def drain(number: int) -> None:
        lifecycle.drain()
        await lifecycle.finish(grace_s)
        signal.signal(number, before[number])
        signal.raise_signal(number)

    def received(number: int) -> None:
        if tasks:
            lifecycle.hurry()
        else:
            tasks.append(loop.create_task(drain(number)))

    def handle(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(received, number)

    try:
        for number in SIGNALS:
            before[number] = signal.signal(number, handle)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        for number in SIGNALS:
            if signal.getsignal(number) is handle:
                signal.signal(number, before[number])

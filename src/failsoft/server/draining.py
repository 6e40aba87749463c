"""Graceful shutdown on SIGINT and SIGTERM, with a deadline that a blocked event loop cannot delay."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from failsoft.server.lifecycle import Lifecycle
from failsoft.server.signals import signals_handled

CLEANUP_S = 15.0
"""How long cancelled calls and toolsets may take to stop after the grace period, in seconds."""
_RESPONSE_S = 1.0
"""How much later than the grace period the process of a blocked event loop ends, in seconds."""


@contextmanager
def drain_on_signals(lifecycle: Lifecycle, *, grace_s: float, then: Callable[[], None] | None = None) -> Iterator[None]:
    """Drain on SIGINT and SIGTERM while the block lasts: no new calls, calls in flight finish.

    A second signal skips the wait. If the event loop is blocked, the process ends after the grace period with the
    stacks of its threads on stderr and exit code 1; if calls or toolsets do not stop, 15 s later. Code in C that
    neither releases the GIL nor checks for signals delays both until it returns.

    Args:
        lifecycle: What is drained.
        grace_s: Time for calls in flight to finish, in seconds.
        then: Called once drained; by default the previous handler gets the signal. Until then a listening socket stays
            open: a load balancer sees `/readyz` turn 503, and clients get a 503 instead of a refused connection.
    """
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[None]] = []
    signals: list[int] = []

    async def drain(number: int) -> None:
        lifecycle.drain()
        await lifecycle.finish(grace_s)
        lifecycle.hurry()  # no second grace period at the end of the input
        if then is not None:
            then()
        else:
            signal.signal(number, before[number])
            signal.raise_signal(number)

    def received(number: int) -> None:
        if tasks:
            lifecycle.hurry()
            _end_process_in(CLEANUP_S)
        else:
            tasks.append(loop.create_task(drain(number)))
            loop.call_later(grace_s, _end_process_in, CLEANUP_S)

    def handle(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        if len(signals) <= 2:  # noqa: PLR2004 - the second one skips the wait, further ones change nothing
            _end_process_in(_RESPONSE_S if len(signals) > 1 else grace_s + _RESPONSE_S)
            with suppress(RuntimeError):  # the loop is closed: the process is about to end
                loop.call_soon_threadsafe(received, number)

    with signals_handled(handle) as before:
        yield


def stop_watching() -> None:
    """Let the process go on after a server that a signal ended."""
    faulthandler.cancel_dump_traceback_later()


def _end_process_in(seconds: float) -> None:
    """End the process by a thread in C, which needs no GIL; replaces an earlier deadline."""
    with suppress(OSError, ValueError, RuntimeError):
        faulthandler.dump_traceback_later(seconds, exit=True, file=_error_output())


def _error_output() -> int:
    """Return a descriptor of stderr that does not block, however slow its reader; or one of the null device."""
    try:
        return os.open("/proc/self/fd/2", os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

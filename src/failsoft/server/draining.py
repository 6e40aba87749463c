"""Graceful shutdown on SIGINT and SIGTERM, with a deadline that a blocked event loop cannot delay."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from failsoft.framework.files import OPEN_FLAGS
from failsoft.framework.logs.log_output import logs_json, record_of
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.signals import SIGNALS, signals_handled

CLEANUP_S = 15.0
"""How long cancelled calls and toolsets may take to stop after the grace period, in seconds."""
_RESPONSE_S = 1.0
"""How much later than the grace period the process of a blocked event loop ends, in seconds."""

_GIL_S = 1.0
"""How much later the process ends if no thread in Python can run, in seconds."""
_FRAMES_AT_MOST = 40
_ENDED = "The process was ended, since calls or toolsets did not stop in time; this thread was here"
_deadline: threading.Timer | None = None


@contextmanager
def drain_on_signals(
    lifecycle: Lifecycle, *, grace_s: float, then: Callable[[], None], hurry: int | None = None
) -> Iterator[None]:
    """Drain on SIGINT and SIGTERM while the block lasts: no new calls, calls in flight finish.

    A second signal skips the wait, or `hurry` does. If the event loop is blocked, the process ends after the grace
    period with the stacks of its threads on stderr (JSON lines where logs are) and exit code 1; if calls or toolsets do
    not stop, 15 s later. Code in C that neither releases the GIL nor checks for signals delays both until it returns.

    Args:
        lifecycle: What is drained.
        grace_s: Time for calls in flight to finish, in seconds.
        then: Called once drained. Until then a listening socket stays open: a load balancer sees `/readyz` turn 503,
            and clients get a 503 instead of a refused connection.
        hurry: The signal that skips the wait, where further ones of the others may be copies of the first.
    """
    loop = asyncio.get_running_loop()
    draining: list[asyncio.Task[None]] = []
    is_begun = is_hurried = False

    async def drain() -> None:
        lifecycle.drain()
        await lifecycle.finish(grace_s)
        lifecycle.hurry()  # no second grace period at the end of the input
        then()

    def begin() -> None:
        draining.append(loop.create_task(drain()))
        loop.call_later(grace_s, _end_process_in, CLEANUP_S)

    def skip_wait() -> None:
        lifecycle.hurry()
        _end_process_in(CLEANUP_S)

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal is_begun, is_hurried
        is_second = is_begun if hurry is None else number == hurry
        with suppress(RuntimeError):  # the loop is closed: the process is about to end
            if not is_begun:
                is_begun = True
                _end_process_in(grace_s + _RESPONSE_S)
                loop.call_soon_threadsafe(begin)
            if is_second and not is_hurried:
                is_hurried = True
                _end_process_in(_RESPONSE_S)
                loop.call_soon_threadsafe(skip_wait)

    with signals_handled(handle, SIGNALS if hurry is None else (*SIGNALS, hurry)):
        yield


def stop_watching() -> None:
    """Cancel the deadline of `drain_on_signals`, so that the process may outlive its server."""
    faulthandler.cancel_dump_traceback_later()
    if _deadline is not None:
        _deadline.cancel()


def _end_process_in(seconds: float) -> None:
    """End the process by a thread in C, which needs no GIL; replaces an earlier deadline.

    Where logs are JSON, a thread in Python is earlier and writes records; that in C is for a GIL that is not released.
    """
    global _deadline  # noqa: PLW0603 - faulthandler has one deadline in a process, too
    if logs_json():
        if _deadline is not None:
            _deadline.cancel()
        _deadline = threading.Timer(seconds, _end_process)
        _deadline.daemon = True
        _deadline.start()
        seconds += _GIL_S
    with suppress(OSError, ValueError, RuntimeError):
        faulthandler.dump_traceback_later(seconds, exit=True, file=_error_output())


def _end_process() -> None:
    """Write a record for each thread and end the process, as the thread in C does with lines of text."""
    try:
        lines = []
        frames, main = sys._current_frames(), threading.main_thread()  # noqa: SLF001 - the documented way to the stacks
        for thread in sorted(threading.enumerate(), key=lambda thread: thread is not main):
            frame = frames.get(thread.ident or 0)
            if frame is not None and thread is not threading.current_thread():
                stack = "".join(traceback.format_stack(frame, _FRAMES_AT_MOST))
                lines.append(record_of("CRITICAL", _ENDED, event="forced_end", thread=thread.name, stack_trace=stack))
        os.write(_error_output(), "".join(f"{line}\n" for line in lines).encode())
    finally:
        os._exit(1)


def _error_output() -> int:
    """Return a descriptor of stderr that does not block, however slow its reader; or one of the null device."""
    try:
        return os.open("/proc/self/fd/2", os.O_WRONLY | os.O_APPEND | OPEN_FLAGS)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | OPEN_FLAGS)

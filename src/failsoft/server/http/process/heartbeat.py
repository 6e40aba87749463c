"""The heartbeat of an event loop, and a thread that finds and logs the operation that keeps it from beating."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from failsoft.framework.call.call import Call
from failsoft.framework.call.run import invoke, observe
from failsoft.framework.call.time_limits import current_call
from failsoft.framework.clock import OnceAMinute
from failsoft.framework.events import WorkerEvent
from failsoft.framework.safe.author_reports import logger
from failsoft.metrics.board import Board
from failsoft.server.http.process.restarts import Silence

TICK_S = 0.1
"""How often `beat` is called, in seconds."""
_TICKS_OF_LAG = 20
_TICKS_PER_BEAT = 3
_LATE_S = 1.0
"""A delay from which others are told what runs, in seconds; of a short limit for stalls, half of that."""
_OF_CALLS = {observe.__code__, invoke.__code__}
"""Functions that have a call as their local variable `call`: one of them is below whatever a call does on the loop."""


class Heartbeat:
    """Beats on the board of a process.

    Args:
        board: The board.
        stall_s: How long the loop may be silent, in seconds.
        on_stall: Called once for each stall, from a thread; None where a supervisor watches.
    """

    def __init__(self, board: Board, *, stall_s: float, on_stall: Callable[[WorkerEvent], None] | None) -> None:
        self._board = board
        self._stall_s = stall_s
        self._on_stall = on_stall
        self._ticks = 0
        self._beat_at_s = time.monotonic()
        self._lags: deque[float] = deque(maxlen=_TICKS_OF_LAG)

    @property
    def lag_s(self) -> float:
        """The longest delay of the event loop within the last 2 seconds, in seconds."""
        return max((*self._lags, time.monotonic() - self._beat_at_s - TICK_S, 0.0))

    def beat(self, phase: str) -> None:
        """Note that the event loop runs."""
        now_s = time.monotonic()
        if self._ticks:
            self._lags.append(now_s - self._beat_at_s - TICK_S)
        self._beat_at_s = now_s
        if self._ticks % _TICKS_PER_BEAT == 0:
            self._board.beat(phase=phase)
        self._ticks += 1

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the loop of this thread while the block lasts."""
        over = threading.Event()
        arguments = (threading.get_ident(), asyncio.get_running_loop(), over)
        threading.Thread(target=self._watch, args=arguments, name="failsoft-watchdog", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _watch(self, thread_id: int, loop: asyncio.AbstractEventLoop, over: threading.Event) -> None:
        silence = Silence(self._stall_s, time.monotonic())
        told_of, blocked, seldom = 0.0, ("", self._beat_at_s), OnceAMinute()
        while not over.wait(min(1.0, self._stall_s / 4)):
            now_s, beat_at_s = time.monotonic(), self._beat_at_s
            silence.look(now_s)
            if blocked[0] and blocked[1] != beat_at_s:
                _tell_of_block(blocked[0], self.lag_s, seldom)
                blocked = ("", beat_at_s)
            if now_s - beat_at_s < min(_LATE_S, self._stall_s / 2):
                continue
            operation = _operation_on(thread_id, loop)
            if beat_at_s == self._beat_at_s:
                self._board.note_running(operation)
                blocked = (operation, beat_at_s)
            if self._on_stall is not None and told_of != beat_at_s and silence.is_stall(now_s - beat_at_s):
                told_of = beat_at_s
                self._on_stall(WorkerEvent(kind="stalled", pid=os.getpid(), operation=operation))


def _tell_of_block(operation: str, blocked_s: float, seldom: OnceAMinute) -> None:
    """Log that an operation has blocked the event loop, at most once a minute an operation."""
    if count := seldom.due(operation):
        facts = {"operation": operation, "blocked_s": round(blocked_s, 1), "count": count}
        logger.bind(event="loop_blocked", **facts).warning("An operation has blocked the event loop")


def _operation_on(thread_id: int, loop: asyncio.AbstractEventLoop) -> str:
    """Return the operation that the thread of an event loop is in; empty if it is in none."""
    frame: FrameType | None = sys._current_frames().get(thread_id)  # noqa: SLF001 - documented; there is no other way
    while frame is not None:
        if frame.f_code in _OF_CALLS:
            call: Call = frame.f_locals["call"]
            return call.operation
        frame = frame.f_back
    # Not in a call, but perhaps in a task that a handler has started; its context can be read since Python 3.12.
    context_of = getattr(asyncio.current_task(loop), "get_context", None)
    running = None if context_of is None else context_of().get(current_call)
    return "" if running is None else str(running.operation)

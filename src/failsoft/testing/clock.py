"""`InstantClock`: an event loop's clock that jumps to the next timer instead of waiting for it."""

from __future__ import annotations

import asyncio
import selectors
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import copy_context
from types import TracebackType
from typing import Any, Self, TypeVar, TypeVarTuple, Unpack

from failsoft.framework.threads import pools

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class InstantClock:
    """A clock for tests: pauses, time-outs and times to live pass at once, in order.

    Nothing is patched. The loop's `time()` jumps to its next timer when nothing else is left to do, so `asyncio.sleep`,
    `asyncio.timeout`, anyio and all code that uses the loop's time agree. While a thread works for the loop, or a
    connection is open, real time passes, since it is unknown when those will finish. Threads of failsoft, asyncio and
    anyio are counted, listening sockets are not; for anything else there is `hold`. A timer fires after its real time
    at the latest, so the clock never makes a test hang. Waiting for a thread does not advance it, and computing takes
    no time on it.

    Args:
        start_s: The loop's time at the start, in seconds; not 0, which code may treat as false.

    Examples:
        >>> clock = InstantClock()
        >>> clock.run(asyncio.sleep(3600, "an hour later"))
        'an hour later'
        >>> clock.elapsed_s
        3600.0
    """

    def __init__(self, start_s: float = 1_000.0) -> None:
        self.start_s = start_s
        self.now_s = start_s
        """The loop's time, in seconds."""
        self.jumps: list[float] = []
        """The length of each jump, in seconds: the pauses of the code under test."""
        self._held = 0
        self._runner: asyncio.Runner | None = None

    @property
    def elapsed_s(self) -> float:
        """How much time has passed on this clock, in seconds."""
        return self.now_s - self.start_s

    @property
    def anyio_backend(self) -> tuple[str, dict[str, Any]]:
        """The value of an `anyio_backend` fixture for tests that anyio's plugin runs."""
        return "asyncio", {"loop_factory": self.loop_factory}

    @property
    def is_held(self) -> bool:
        """Whether the clock is held, so that it does not jump."""
        return self._held > 0

    def loop_factory(self) -> InstantLoop:
        """Return a new event loop with this clock: `asyncio.Runner(loop_factory=clock.loop_factory)`."""
        return InstantLoop(self)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on a loop with this clock and return its value.

        Inside `with clock:` all runs share one loop, so that tasks and resources outlive a single run.
        """
        if self._runner is not None:
            return self._runner.run(main, context=copy_context())  # of this call, and not of the first one
        with asyncio.Runner(loop_factory=self.loop_factory) as runner:
            return runner.run(main)

    def advance(self, seconds: float) -> None:
        """Let time pass between two runs. Within one, `await asyncio.sleep(seconds)` does it."""
        if seconds < 0:
            msg = f"time does not go back: {seconds}"
            raise ValueError(msg)
        self.now_s += seconds

    def jump(self, seconds: float) -> None:
        """Advance to the next timer; called by the loop."""
        self.advance(seconds)
        self.jumps.append(seconds)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let real time pass during work that the loop does not know of, such as a thread of your own."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner(loop_factory=self.loop_factory).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.__exit__(kind, error, traceback)


class InstantLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of `clock`, an `InstantClock`, which makes it: `clock.run(...)`."""

    def __init__(self, clock: InstantClock) -> None:
        self.clock = clock
        self._jobs, self._asking = 0, False
        self._limiter: Any = None
        super().__init__(selector := _JumpingSelector(clock, self._is_busy))
        self._always_open = frozenset(key.fd for key in selector.get_map().values())  # the self-pipe, for threads

    def time(self) -> float:
        """Return the clock's time."""
        return self.clock.now_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run a function in a thread; the clock does not jump meanwhile."""
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._job_done)
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        """Join the threads; the time limit is in real time."""
        with self.clock.hold():
            await super().shutdown_default_executor(*args)

    def _job_done(self, _future: asyncio.Future[Any]) -> None:
        self._jobs -= 1

    def _is_busy(self, selector: selectors.BaseSelector) -> bool:
        """Return whether something outside the loop may wake it."""
        if self.clock.is_held or self._jobs or any(pool.waiting for pool in pools) or self._anyio_works():
            return True
        opened = {key.fd for key in selector.get_map().values()} - self._always_open
        return any(not _only_listens(descriptor) for descriptor in opened)

    def _anyio_works(self) -> bool:
        """Return whether a thread of anyio is working. Its limiter is only accessible in a task, so one is started."""
        if "anyio" not in sys.modules:
            return False
        if self._limiter is not None:
            return bool(self._limiter.borrowed_tokens)
        if not self._asking:
            self._asking = True
            self.call_soon_threadsafe(self._send)  # also wakes the selector
        return True

    def _send(self) -> None:
        self._messenger = self.create_task(self._ask_anyio())

    async def _ask_anyio(self) -> None:
        from anyio.to_thread import current_default_thread_limiter  # noqa: PLC0415 - only where anyio is in use

        self._limiter = current_default_thread_limiter()


class _JumpingSelector(selectors.DefaultSelector):
    """Makes the clock jump instead of waiting for a timer, if no I/O is ready and no thread is busy.

    Real waits for the same timer are added up, so that it fires on time at the latest, even if other events keep waking
    the loop.
    """

    def __init__(self, clock: InstantClock, is_busy: Callable[[selectors.BaseSelector], bool]) -> None:
        super().__init__()
        self._clock = clock
        self._is_busy = is_busy
        self._waited_s = 0.0
        self._waited_for = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the ready descriptors; `timeout` is the time until the loop's next timer, in seconds."""
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if ready or timeout <= 0:
            return ready
        if self._is_busy(self):
            ready = self._wait(timeout)
            if ready or self._waited_s < timeout:
                return ready
        self._waited_s = 0.0
        self._clock.jump(timeout)
        return []

    def _wait(self, timeout: float) -> list[tuple[selectors.SelectorKey, int]]:
        timer = self._clock.now_s + timeout
        if timer != self._waited_for:
            self._waited_for, self._waited_s = timer, 0.0
        left_s = timeout - self._waited_s
        began = time.monotonic()
        ready = super().select(left_s) if left_s > 0 else []
        self._waited_s += time.monotonic() - began
        return ready


def _only_listens(descriptor: int) -> bool:
    """Return whether a descriptor is a listening socket, which has no I/O in progress."""
    try:
        listener = socket.socket(fileno=descriptor)
    except OSError:
        return False
    try:
        return bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    finally:
        listener.detach()

"""Worker threads for sync handlers: daemons, capped, and never waited for once their call has given up.

An executor of the standard library joins its threads at exit, so one hung handler would keep the process alive; and it
queues behind hung threads without a word. Here a call that finds no thread is told so.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from failsoft.framework.errors import Overloaded

__all__ = ["ThreadPool", "is_given_up", "pools"]

pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()
"""Every pool of the process: a clock of tests must not run ahead of their threads."""

T = TypeVar("T")
_IDLE_S = 30.0
_NO_THREAD: dict[str, Any] = {"retry_after_seconds": 2.0, "effect": "none"}


class _Job:
    """One function on its way through a thread. `done` and `abandoned` change under the pool's lock only."""

    __slots__ = ("abandoned", "done", "function", "future", "loop")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[tuple[bool, Any]] = self.loop.create_future()
        self.done = False
        self.abandoned = False


class ThreadPool:
    """Runs sync functions in daemon threads.

    Args:
        limit: Threads at most; a call beyond that is refused at once with OVERLOADED.
        abandoned_limit: Of those, how many may still run for calls that gave up.
    """

    def __init__(self, *, limit: int = 32, abandoned_limit: int = 16) -> None:
        self._limit = limit
        self._abandoned_limit = abandoned_limit
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[_Job]] = []
        self._threads = 0
        self._sending: set[asyncio.Task[None]] = set()
        self.abandoned = 0
        """Threads that still run for a call that has given up."""
        self.waiting = 0
        """Calls that wait for a thread to finish."""
        pools.add(self)

    async def run(self, function: Callable[[], T]) -> T:
        """Return what the function returns, run in a worker thread with the caller's context variables.

        When the waiting call is cancelled the thread runs on, since Python cannot stop it; it counts as abandoned.

        Raises:
            OVERLOADED: Every thread is taken, or too many abandoned ones still run.
        """
        return await self.start(function)

    def start(self, function: Callable[[], T]) -> Awaitable[T]:
        """Start the function as `run` does, and return what waits for it; await it at once.

        Raises:
            OVERLOADED: As with `run`, and nothing was started.
        """
        context = contextvars.copy_context()
        job = _Job(lambda: context.run(function))
        self._submit(job)
        return self._wait(job)

    async def _wait(self, job: _Job) -> Any:
        self.waiting += 1
        try:
            succeeded, value = await job.future
        except asyncio.CancelledError:
            with self._lock:
                if not job.done:
                    job.abandoned = True
                    self.abandoned += 1
            raise
        finally:
            self.waiting -= 1
        if succeeded:
            return value
        try:
            raise value
        finally:
            del value  # its traceback holds this frame: only the garbage collector could part the two

    def call_in_loop(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> Awaitable[None] | None:
        """Start a coroutine function on the loop of the running call, from the loop or from one of our threads."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            home: asyncio.AbstractEventLoop | None = getattr(_current, "loop", None)
            if home is not None and not home.is_closed():
                home.call_soon_threadsafe(self._spawn, home, function, arguments)
            return None
        return self._spawn(loop, function, arguments)

    def _spawn(
        self, loop: asyncio.AbstractEventLoop, function: Callable[..., Awaitable[None]], arguments: tuple[Any, ...]
    ) -> asyncio.Task[None]:
        task = loop.create_task(_run(function, arguments))
        self._sending.add(task)  # the loop itself would forget a task that nobody awaits
        task.add_done_callback(self._sending.discard)
        return task

    def _submit(self, job: _Job) -> None:
        with self._lock:
            if self._idle:
                self._idle.pop().put(job)
                return
            if self._threads >= self._limit or self.abandoned >= self._abandoned_limit:
                gave_up = f"{self.abandoned} with calls that gave up"
                raise Overloaded(message=f"All {self._threads} worker threads are busy ({gave_up}).", **_NO_THREAD)
            self._threads += 1
        inbox: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        inbox.put(job)
        try:
            threading.Thread(target=self._work, args=(inbox,), name="failsoft-worker", daemon=True).start()
        except RuntimeError as error:
            with self._lock:
                self._threads -= 1
            raise Overloaded(message="The system gives no more worker threads.", **_NO_THREAD) from error

    def _work(self, inbox: queue.SimpleQueue[_Job]) -> None:
        while True:
            try:
                job = inbox.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if inbox not in self._idle:
                        continue
                    self._idle.remove(inbox)
                    self._threads -= 1
                return
            self._finish(job, _outcome(job), inbox)
            del job  # an idle thread must not keep the last call's arguments and result

    def _finish(self, job: _Job, outcome: tuple[bool, Any], inbox: queue.SimpleQueue[_Job]) -> None:
        with self._lock:
            job.done = True
            if job.abandoned:
                self.abandoned -= 1
            self._idle.append(inbox)
        try:
            job.loop.call_soon_threadsafe(_settle, job.future, outcome)
        except RuntimeError:
            return


_current = threading.local()


def is_given_up() -> bool:
    """Return whether the call that this worker thread runs for has given up, so that nobody learns what it does now.

    A handler asks before it does what cannot be undone. Outside of our threads it is False.
    """
    job: _Job | None = getattr(_current, "job", None)
    return job is not None and job.abandoned


def _outcome(job: _Job) -> tuple[bool, Any]:
    _current.loop, _current.job = job.loop, job
    try:
        return True, job.function()
    except BaseException as error:  # noqa: BLE001 - handed back as a value: GeneratorExit cannot cross a coroutine
        return False, error
    finally:
        _current.job = None


async def _run(function: Callable[..., Awaitable[None]], arguments: tuple[Any, ...]) -> None:
    """Send one report. It is a courtesy: one that cannot be sent is no reason for a call to fail."""
    with contextlib.suppress(Exception):
        await function(*arguments)


def _settle(future: asyncio.Future[tuple[bool, Any]], outcome: tuple[bool, Any]) -> None:
    if not future.done():
        future.set_result(outcome)

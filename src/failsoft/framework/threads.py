"""Worker threads for the functions of authors that are not async: daemons, capped, given up when their call times out.

An executor of the standard library joins its threads at exit, so one hung handler would keep the process alive; and it
queues silently behind hung threads. Here a call that finds no free thread fails with OVERLOADED, and so does one whose
caller has three quarters of the threads already.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import queue
import threading
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from failsoft.framework.errors import ConfigurationError, Overloaded
from failsoft.framework.safe.author_reports import logger, tell_later

pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()
"""All pools of the process: the clock of tests must not advance while their threads work."""
T = TypeVar("T")
_IDLE_S = 30.0
_NO_THREAD: dict[str, Any] = {"retry_after_seconds": 2.0, "effect": "none"}
_current = threading.local()
on_behalf_of: contextvars.ContextVar[str | None] = contextvars.ContextVar("on_behalf_of", default=None)
"""The caller whose share of the threads is used; None: one that cannot be told from others, so that none is counted."""


class ThreadPool:
    """Runs sync functions in daemon threads.

    Args:
        limit: Maximum number of threads; further calls fail immediately with OVERLOADED.
        abandoned_limit: Maximum number of threads that still run for calls of one caller that have ended.
    """

    def __init__(self, *, limit: int = 32, abandoned_limit: int = 16) -> None:
        self._limit = limit
        self._each = max(1, 3 * limit // 4)
        self._abandoned_limit = abandoned_limit
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[_ThreadJob]] = []
        self._threads = 0
        self._sending: set[asyncio.Task[None]] = set()
        self._taken: Counter[str] = Counter()
        self._abandoned: Counter[str | None] = Counter()
        self.waiting = 0
        """Calls that wait for a thread to finish."""
        pools.add(self)

    @property
    def busy(self) -> int:
        """Threads that run a function, also for a call that has ended."""
        return self._threads - len(self._idle)

    @property
    def abandoned(self) -> int:
        """Threads that still run for a call that has ended."""
        return self._abandoned.total()

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function in a worker thread with the caller's context variables, and return its result.

        If the waiting call is cancelled, the thread continues, because Python cannot stop it, and counts as abandoned.

        Raises:
            OVERLOADED: All threads are busy, or all of one caller, or too many abandoned ones of it still run.
        """
        return await self.start(function)

    async def run_author(self, function: Callable[[], Any], *, is_async: bool | None = None) -> Any:
        """Run a function of an author and return its value: on the loop if it is async, else in a worker thread.

        Args:
            function: If it returns an awaitable, this is awaited on the loop.
            is_async: Whether it is async, where the caller knows; by default `runs_on_loop` of it.

        Raises:
            OVERLOADED: As with `run`, and it was not called.
        """
        on_loop = runs_on_loop(function) if is_async is None else is_async
        value = function() if on_loop else await self.run(function)
        return await value if inspect.isawaitable(value) else value

    def start(self, function: Callable[[], T]) -> Awaitable[T]:
        """Start the function as `run` does, and return an awaitable for its result, to be awaited immediately.

        Raises:
            OVERLOADED: As with `run`, and nothing was started.
        """
        context = contextvars.copy_context()
        job = _ThreadJob(lambda: context.run(function))
        self._submit(job)
        return self._wait(job)

    async def _wait(self, job: _ThreadJob) -> Any:
        self.waiting += 1
        try:
            succeeded, value = await job.future
        except asyncio.CancelledError:
            with self._lock:
                if not job.done:
                    job.abandoned = True
                    self._abandoned[job.caller] += 1
            raise
        finally:
            self.waiting -= 1
        if succeeded:
            return value
        try:
            raise value
        finally:
            del value, job  # avoids reference cycles: its traceback refers to this frame

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
        self._sending.add(task)  # the loop keeps only weak references to tasks
        task.add_done_callback(self._sending.discard)
        return task

    def _submit(self, job: _ThreadJob) -> None:
        caller = job.caller
        with self._lock:
            if caller is not None:
                if self._taken[caller] >= self._each:
                    message = f"{self._each} worker threads are busy for this caller, which is all that one may have."
                    raise Overloaded(message=message, **_NO_THREAD)
                self._taken[caller] += 1
            if self._idle:
                self._idle.pop().put(job)
                return
            if self._threads >= self._limit or self._abandoned[caller] >= self._abandoned_limit:
                self._give_back(caller)
                gave_up = f"{self._abandoned[caller]} with calls that gave up"
                raise Overloaded(message=f"All {self._threads} worker threads are busy ({gave_up}).", **_NO_THREAD)
            self._threads += 1
        inbox: queue.SimpleQueue[_ThreadJob] = queue.SimpleQueue()
        inbox.put(job)
        try:
            threading.Thread(target=self._work, args=(inbox,), name="failsoft-worker", daemon=True).start()
        except RuntimeError as error:
            with self._lock:
                self._threads -= 1
                self._give_back(caller)
            raise Overloaded(message="The system gives no more worker threads.", **_NO_THREAD) from error

    def _give_back(self, caller: str | None) -> None:
        if caller is not None:
            _lower(self._taken, caller)

    def _work(self, inbox: queue.SimpleQueue[_ThreadJob]) -> None:
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

    def _finish(self, job: _ThreadJob, outcome: tuple[bool, Any], inbox: queue.SimpleQueue[_ThreadJob]) -> None:
        with self._lock:
            job.done = True
            self._give_back(job.caller)
            if job.abandoned:
                _lower(self._abandoned, job.caller)
            self._idle.append(inbox)
        try:
            job.loop.call_soon_threadsafe(_settle, job.future, outcome)
        except RuntimeError:
            return


def runs_on_loop(function: Callable[..., Any]) -> bool:
    """Return whether a call only creates a coroutine; the function may be an object's `__call__`."""
    called = getattr(type(function), "__call__", None)  # noqa: B004 - asked for itself, not to see whether there is one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def is_given_up() -> bool:
    """Return whether the call of this worker thread has ended, so that its result will be discarded.

    A handler checks it before an irreversible step. Outside of our threads it is False.
    """
    job: _ThreadJob | None = getattr(_current, "job", None)
    return job is not None and job.abandoned


class _ThreadJob:
    """One function to run in a thread. `done` and `abandoned` change with the pool's lock held only."""

    __slots__ = ("abandoned", "caller", "done", "function", "future", "loop")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.caller = on_behalf_of.get()
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[tuple[bool, Any]] = self.loop.create_future()
        self.done = False
        self.abandoned = False


def _lower(counts: Counter[Any], caller: str | None) -> None:
    counts[caller] -= 1
    if not counts[caller]:
        del counts[caller]  # callers come and go


def _outcome(job: _ThreadJob) -> tuple[bool, Any]:
    _current.loop, _current.job = job.loop, job
    try:
        return True, job.function()
    except BaseException as error:  # noqa: BLE001 - handed back as a value: GeneratorExit cannot cross a coroutine
        return False, error
    finally:
        _current.job = None
        del job  # it has the future of the error, whose traceback refers to this frame


def _settle(future: asyncio.Future[tuple[bool, Any]], outcome: tuple[bool, Any]) -> None:
    if not future.done():
        future.set_result(outcome)


async def _run(function: Callable[..., Awaitable[None]], arguments: tuple[Any, ...]) -> None:
    """Send a progress report; errors are only logged, since progress is optional."""

    async def send() -> None:
        await function(*arguments)

    error = await tell_later(send())
    if error is not None:
        logger.opt(exception=error).debug("A progress report could not be sent")


_moving = threading.Lock()
"""Held while a toolset moves to another event loop, which may run in another thread."""


@dataclass(slots=True)
class LoopUse:
    """The event loop of a toolset's calls, and how many of them it runs; at first one."""

    loop: asyncio.AbstractEventLoop
    calls: int = 1


def use_on(loop: asyncio.AbstractEventLoop, tool: Any) -> LoopUse:
    """Move a toolset to this event loop, and count a call.

    Its locks, queues and caches belong to the loop of its calls, unless that was stopped or closed in their middle.

    Raises:
        CONFIG_ERROR: The toolset has calls on another event loop.
    """
    with _moving:
        use: LoopUse | None = tool.loop_use
        if use is not None and use.calls and use.loop.is_running():
            raise ConfigurationError(
                issue=f"the toolset '{tool.name}' is in use on another event loop",
                resolution="make a toolset for each event loop, or make its calls on one of them",
                effect="none",
            )
        tool.loop_use = use = LoopUse(loop)
    return use

"""The life of a server: toolsets started together or not at all, requests in flight counted and let finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Literal, TypeAlias

import anyio
from loguru import logger

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.canonical import SystemErrorFactory
from failsoft.framework.errors import BootstrapFailure, InitializationError, ToolError
from failsoft.framework.tool import BaseTool
from failsoft.server.audit_start import open_audit_logs
from failsoft.server.reloading import reload_on_change
from failsoft.server.self_audit import require_sound

__all__ = ["Lifecycle", "Phase"]

Phase: TypeAlias = Literal["starting", "ready", "draining", "stopped"]


_LAST_WORDS_S = 1.0
"""How long a call that was cut off may take to say so, in seconds."""


class Lifecycle:
    """Starts and stops the toolsets of one server, and knows whether it may take calls.

    An in-memory server is entered once for each client, so entries are counted: the first one starts the toolsets,
    the last one to leave stops them.

    Args:
        tools: In the order in which they are started; they are stopped in the reverse order.
        shutdown_limit_s: How long one toolset may take to shut down, in seconds.
    """

    def __init__(self, tools: Sequence[BaseTool], *, shutdown_limit_s: float) -> None:
        self._tools = tuple(tools)
        self._shutdown_limit_s = shutdown_limit_s
        self._entries = 0
        self._lock = asyncio.Lock()
        self._watching = ExitStack()
        self._emptied: anyio.Event | None = None
        self._hurried = False
        self._calls: set[asyncio.Task[Any] | None] = set()
        self._cut_off: set[asyncio.Task[Any] | None] = set()
        self.phase: Phase = "starting"
        self.in_flight = 0
        self.failure: ToolError | None = None
        """Why the toolsets could not start, for whoever drives a server that swallows the exception."""

    @asynccontextmanager
    async def running(self, _server: Any = None) -> AsyncIterator[Lifecycle]:
        """Hold the toolsets started for as long as the block lasts: the lifespan of an SDK server.

        Raises:
            INIT_ERROR: A toolset failed to start. Those that had started are stopped again.
            BOOTSTRAP_FAILURE: The same of a governed one.
            SELF_AUDIT_FAILURE: Governed toolsets do not pass their audit; nothing was started.
        """
        async with self._lock:
            if self._entries == 0:
                await self._start()
                self._watching.enter_context(reload_on_change(self._tools))
            self._entries += 1
        try:
            yield self
        finally:
            # Leaving may be a cancellation, under which every await would raise at once: toolsets still get to stop.
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    self._entries -= 1
                    if self._entries == 0:
                        self._watching.close()
                        self.phase = "stopped"
                        await self._stop(self._tools)
                        await self._let_go()

    async def _start(self) -> None:
        self.phase, self.failure = "starting", None
        try:
            if any(tool.governed for tool in self._tools):
                await asyncio.to_thread(require_sound, self._tools)
        except ToolError as failure:
            self.phase, self.failure = "stopped", failure
            raise
        await open_audit_logs(self._tools)
        started: list[BaseTool] = []
        for tool in self._tools:
            try:
                await tool.startup()
            except BaseException as error:
                with anyio.CancelScope(shield=True):
                    await self._stop(started)
                self.phase = "stopped"
                if is_real_cancellation(error):
                    raise
                self.failure = _not_started(tool, error)
                raise self.failure from error
            started.append(tool)
        self.phase = "ready"

    async def _stop(self, tools: Sequence[BaseTool]) -> None:
        for tool in reversed(tools):
            try:
                with anyio.fail_after(self._shutdown_limit_s):
                    await tool.shutdown()
            except BaseException as error:
                if is_real_cancellation(error):
                    raise
                logger.opt(exception=error).error("The toolset '{}' did not shut down cleanly", tool.name)

    async def _let_go(self) -> None:
        """Close the state stores of the toolsets, each once."""
        for state in {id(tool.runtime.state): tool.runtime.state for tool in self._tools}.values():
            try:
                with anyio.fail_after(self._shutdown_limit_s):
                    await state.close()
            except BaseException as error:
                if is_real_cancellation(error):
                    raise
                logger.opt(exception=error).error("The state store did not close cleanly")

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken: the toolsets are up, and nobody has asked the server to end."""
        return self.phase == "ready"

    def drain(self) -> None:
        """Take no more calls; those in flight go on."""
        if self.phase == "ready":
            self.phase = "draining"

    def enter(self) -> None:
        """Count a request as in flight; the transports do this, from reading it to having written its answer."""
        self.in_flight += 1

    def leave(self) -> None:
        """Count a request as over."""
        self.in_flight -= 1
        if self.in_flight == 0 and self._emptied is not None:
            self._emptied.set()

    def begin(self) -> asyncio.Task[Any] | None:
        """Note the running task as one that runs a tool; return it, for `was_cut_off` and `end`."""
        task = asyncio.current_task()
        self._calls.add(task)
        return task

    def end(self, task: asyncio.Task[Any] | None) -> None:
        """Forget the task."""
        self._calls.discard(task)

    def was_cut_off(self, task: asyncio.Task[Any] | None) -> bool:
        """Return whether it was us who cancelled the task; the cancellation then counts as dealt with."""
        if task is None or task not in self._cut_off:
            return False
        self._cut_off.discard(task)
        task.uncancel()
        return True

    async def finish(self, grace_s: float) -> None:
        """Let requests in flight finish; what outlasts `grace_s` seconds, or somebody's patience, is cut off."""
        await self._idle(grace_s, or_hurried=True)
        if self.in_flight:
            self._cut_off |= self._calls
            for task in self._calls:
                if task is not None:
                    task.cancel()
            await self._idle(_LAST_WORDS_S)

    async def _idle(self, limit_s: float, *, or_hurried: bool = False) -> None:
        if self.in_flight == 0 or (or_hurried and self._hurried):
            return
        self._emptied = anyio.Event()
        with anyio.move_on_after(limit_s):
            await self._emptied.wait()

    def hurry(self) -> None:
        """End the wait for requests in flight, now or whenever it begins."""
        self._hurried = True
        if self._emptied is not None:
            self._emptied.set()


def _not_started(tool: BaseTool, error: BaseException) -> ToolError:
    if not tool.governed:
        return InitializationError(component=f"toolset '{tool.name}'")
    sentence = f"The server could not be set up: the toolset '{tool.name}' failed to start."
    return SystemErrorFactory.startup_failure(BootstrapFailure.code, human_message=sentence, cause=error)

"""The life of a server: toolsets started together or not at all, requests in flight counted, an end that lets them finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

import anyio
from loguru import logger

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.errors import InitializationError
from failsoft.framework.tool import BaseTool

__all__ = ["Lifecycle", "Phase"]

Phase: TypeAlias = Literal["starting", "ready", "draining", "stopped"]


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
        self._emptied: anyio.Event | None = None
        self._hurried = False
        self.phase: Phase = "starting"
        self.in_flight = 0
        self.failure: InitializationError | None = None
        """Why the toolsets could not start, for whoever drives a server that swallows the exception."""

    @asynccontextmanager
    async def running(self, _server: Any = None) -> AsyncIterator[Lifecycle]:
        """Hold the toolsets started for as long as the block lasts: the lifespan of an SDK server.

        Raises:
            INIT_ERROR: A toolset failed to start. Those that had started are stopped again.
        """
        async with self._lock:
            if self._entries == 0:
                await self._start()
            self._entries += 1
        try:
            yield self
        finally:
            # Leaving may be a cancellation, under which every await would raise at once: the toolsets still get to stop.
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    self._entries -= 1
                    if self._entries == 0:
                        self.phase = "stopped"
                        await self._stop(self._tools)

    async def _start(self) -> None:
        self.phase, self.failure = "starting", None
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
                self.failure = InitializationError(component=f"toolset '{tool.name}'")
                raise self.failure from error
            started.append(tool)
        self.phase = "ready"

    async def _stop(self, tools: Sequence[BaseTool]) -> None:
        for tool in reversed(tools):
            try:
                with anyio.fail_after(self._shutdown_limit_s):
                    await tool.shutdown()
            except BaseException as error:  # noqa: BLE001 - the other toolsets still have to stop
                if is_real_cancellation(error):
                    raise
                logger.opt(exception=error).error("The toolset '{}' did not shut down cleanly", tool.name)

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

    async def idle(self, limit_s: float) -> None:
        """Wait until no request is in flight, for at most `limit_s` seconds, or until somebody is in a hurry."""
        if self.in_flight == 0 or self._hurried:
            return
        if self._emptied is None or self._emptied.is_set():
            self._emptied = anyio.Event()
        with anyio.move_on_after(limit_s):
            await self._emptied.wait()

    def hurry(self) -> None:
        """End every wait for requests in flight, now and from now on."""
        self._hurried = True
        if self._emptied is not None:
            self._emptied.set()

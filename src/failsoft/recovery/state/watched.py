"""`WatchedBackend`: a store whose loss and return are announced once each."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Sequence
from typing import TypeVar, get_args

from failsoft.framework.clock import loop_time
from failsoft.framework.events import Events, StoreEvent, StoreLatencyEvent
from failsoft.framework.logs.logs import log_store
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state.backend import (
    Backend,
    Held,
    Record,
    StoreFault,
    StoreLost,
    UnreadableValue,
    Write,
    new_version,
)
from failsoft.framework.state.store import StoreGauges

T = TypeVar("T")
_FIRST_S, _FIRST_AT_MOST_S = 0.25, 30.0
_PAUSE_AT_MOST_S = 5.0
_CALM_S = 60.0
"""A store that is lost again so soon after its return is asked again later than the time before."""
_PROBED_S = 5.0


class WatchedBackend:
    """See `Backend`. The first operation that fails for the store's sake loses it; a write that succeeds returns it.

    While it is lost, a background task writes to it, since a store may answer and take no writes. Operations are passed
    on meanwhile: a store without writes may know the outcome of a call. A store that is lost again within a minute is
    asked again later each time, up to half a minute, so that one that comes and goes does not fill the log.

    Args:
        backend: The store.
        events: Receives an event when the store is lost and when it is back.
        probe: The key that the background task writes.
        is_counting: Whether breakers, budgets and limits are in it, too, and not records alone.
    """

    def __init__(self, backend: Backend, events: Events, *, probe: str, is_counting: bool = True) -> None:
        self.backend = backend
        self.is_local = backend.is_local
        self.is_of_machine = backend.is_of_machine
        self.default_root = backend.default_root
        self.clock = backend.clock
        self.fault: StoreFault | None = None
        """What is wrong with it now, as far as is known."""
        self.returns = 0
        """How often it came back: what began before its last return says nothing about it."""
        self.gauges: StoreGauges = {"mcp_state_store_unavailable": (self._faults, None)}
        self._events = events
        self._probe = probe
        self._is_counting = is_counting
        self._probing: asyncio.Task[None] | None = None
        self._first_s = _FIRST_S
        self._back_at = float("-inf")
        self._announced: StoreFault = "lost"

    def _faults(self) -> dict[tuple[str, ...], float]:
        return {(fault,): float(fault == self.fault) for fault in get_args(StoreFault)}

    async def read(self, key: str) -> Held:
        """See `Backend`."""
        return await self._observed(self.backend.read(key))

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        """See `Backend`."""
        return await self._observed(self.backend.swap(key, version, write))

    async def find(self, prefix: str) -> Sequence[Record]:
        """See `Backend`."""
        return await self._observed(self.backend.find(prefix))

    async def fullest(self) -> int:
        """See `Backend`. No scrape waits for a lost store, which is not asked, and none that fails loses it."""
        if self.fault is not None:
            raise StoreLost(self.fault, fault=self.fault)
        return await self.backend.fullest()

    async def ping(self) -> None:
        """See `Backend`."""
        await self._observed(self.backend.ping())

    async def close(self) -> None:
        """See `Backend`."""
        probing, self._probing = self._probing, None
        if probing is not None and probing.get_loop() is asyncio.get_running_loop():
            probing.cancel()
            await asyncio.wait([probing])
        await self.backend.close()

    def lose(self, lost: StoreLost, returns: int) -> None:
        """Note a failure of the store.

        Args:
            lost: The failure.
            returns: How often the store had come back when the failed operation began.
        """
        if returns == self.returns:
            if self.fault is None:
                is_calm = loop_time() - self._back_at >= _CALM_S
                self._first_s = _FIRST_S if is_calm else min(2 * self._first_s, _FIRST_AT_MOST_S)
                self._announced = lost.fault
                self._announce(available=False, reason=str(lost))
            self.fault = lost.fault
        self.keep_probing()

    def keep_probing(self) -> None:
        """Ask a lost store again on the running loop; a task whose loop is closed is replaced."""
        if self.fault is None:
            return
        probing = self._probing
        if probing is None or probing.done() or probing.get_loop().is_closed():
            self._probing = asyncio.get_running_loop().create_task(self._find_again())

    async def _observed(self, asked: Awaitable[T]) -> T:
        returns = self.returns
        began = loop_time()
        try:
            answer = await asked
        except UnreadableValue:
            raise
        except StoreLost as lost:
            self.lose(lost, returns)
            raise
        if self._events.wants(StoreLatencyEvent):
            self._events.publish(StoreLatencyEvent(loop_time() - began))
        return answer

    async def _find_again(self) -> None:
        pause_s = self._first_s
        while self.fault is not None:
            await asyncio.sleep(random.uniform(0.5, 1.0) * pause_s)  # noqa: S311 - jitter, so that replicas do not probe all at once
            pause_s = max(pause_s, min(_PAUSE_AT_MOST_S, 2 * pause_s))
            try:
                held = await self.backend.read(self._probe)
                written = Write(new_version(self.clock()), {"at": self.clock()}, _PROBED_S)
                overtaken = await self.backend.swap(self._probe, held.version, written)
            except StoreLost as lost:
                self.fault = lost.fault
            except Exception as error:  # noqa: BLE001 - whatever it is, the store is asked again
                logger.opt(exception=error).error("The probe of the state store failed")
            else:
                if overtaken is not None:  # another process has written, not this one
                    continue
                self.fault, self._back_at = None, loop_time()
                self.returns += 1
                self._announce(available=True, reason="")

    def _announce(self, *, available: bool, reason: str) -> None:
        event = StoreEvent(available=available, fault=self._announced, reason=reason)
        log_store(event, is_counting=self._is_counting)
        self._events.publish(event)

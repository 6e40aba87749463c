"""`Bulkhead`: a concurrency limit per dependency, so that a slow one cannot exhaust shared resources."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import Overloaded
from failsoft.recovery.strategy import state_of, strategy


@strategy
class Bulkhead:
    """Limits concurrent runs; further ones wait in a queue or end with OVERLOADED.

    It counts runs, not calls: a call that pauses before its next attempt holds no slot, and a sync handler that keeps
    running in its thread after a time-out holds its slot until it ends. The queue is served round-robin by principal,
    first in, first out for each; when it is full, a run replaces the newest one of the principal with the most waiting
    runs. The limit applies to this process even with shared state, as do the resources it protects (memory,
    connections, a pool).

    Args:
        limit: The number of concurrent runs, at least 1, in this process.
        wait_s: How long a run may wait in the queue, in seconds; 0: it is rejected at once.
        queue: How many runs may wait, at least 0; by default the same as `limit`.
        dependency: The dependency to protect; bulkheads with the same name share their slots, and have the
            same `limit` and `queue`. By default every operation of a toolset has its own.

    Raises:
        ValueError: The options are invalid.

    Source: M. Nygard, "Release It!", 2007.

    Examples:
        >>> @operation(read_only=True, recovery=[Bulkhead(limit=4, wait_s=2.0, queue=8, dependency="files")])
        ... async def convert(self, path: str) -> str: "Convert a file."
    """

    name: ClassVar[str] = "bulkhead"
    one_for: ClassVar[Literal["operation", "dependency"]] = "dependency"
    limit: int
    wait_s: float = 0.0
    queue: int | None = None
    _: KW_ONLY
    dependency: str | None = None

    def __post_init__(self) -> None:
        if not (self.limit >= 1 and self.wait_s >= 0 and (self.queue is None or self.queue >= 0)):
            msg = f"Bulkhead needs limit >= 1, wait_s >= 0 and queue >= 0, not {self}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that acquires a slot for each run and releases it."""
        return [Link(self.name, _held(self.compartment(bound), self), "bulkhead")]

    def compartment(self, bound: BoundOperation) -> Compartment:
        """Return the slots that this operation shares with others of its dependency."""
        store, dependency = state_of(bound, self.dependency)

        def make() -> Compartment:
            made = Compartment(dependency)
            bound.gauges.add("mcp_bulkhead_running", made.read_taken)
            bound.gauges.add("mcp_bulkhead_waiting", made.read_waiting)
            return made

        compartment = store.companion(f"bulkhead:{dependency}", make)
        compartment.resize(self.limit, self.limit if self.queue is None else self.queue)
        return compartment


def _held(compartment: Compartment, options: Bulkhead) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        place = compartment.enter_now() or await _waited(compartment, options.wait_s, call)
        if place is None:
            raise Overloaded(
                effect=call.effect_of(call.error), details={"limit": options.limit, "dependency": options.dependency}
            )
        try:
            return await proceed(call)
        finally:
            if call.thread_over is None or call.thread_over.done():
                compartment.leave(place)
            else:
                compartment.leave_after(call.thread_over, place)

    return step


async def _waited(compartment: Compartment, wait_s: float, call: Call) -> Slot | None:
    remaining_s = call.remaining_s()
    # A little before the deadline: OVERLOADED says more than DEADLINE_EXCEEDED.
    limit_s = wait_s if remaining_s is None else min(wait_s, 0.9 * remaining_s)
    return await compartment.enter(limit_s, call.principal) if limit_s > 0 else None


@dataclass(eq=False, slots=True)
class Slot:
    """A run that holds a slot, or waits for one, and what it needs: its event loop, and its thread if it has one."""

    loop: asyncio.AbstractEventLoop
    principal: str | None = None
    woken: asyncio.Future[None] | None = None
    thread: Future[None] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether nothing of the run is left: its event loop was closed in the middle, and its thread has ended."""
        return self.loop.is_closed() and (self.thread is None or self.thread.done())

    def wake(self) -> None:
        """End the wait; on its event loop."""
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)


class Compartment:
    """The slots of a dependency, with a bounded queue that is fair to principals.

    Toolsets on several event loops can share it. What a closed loop left behind is dropped.

    Args:
        dependency: Its name in metrics.
    """

    def __init__(self, dependency: str) -> None:
        self._dependency = dependency
        self._limit = self._queue = 0
        self._held: set[Slot] = set()
        self._waiting: dict[str | None, deque[Slot]] = {}
        """Waiters by principal, the next principal to be served first."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.RLock()  # any allocation may collect an abandoned call, which then leaves

    @property
    def taken(self) -> int:
        """The number of slots in use."""
        return len(self._held)

    @property
    def waiting(self) -> int:
        """The number of waiters."""
        return sum(map(len, self._waiting.values()))

    def read_taken(self) -> dict[tuple[str, ...], float]:
        """Return the number of slots in use under the dependency."""
        return {(self._dependency,): self.taken}

    def read_waiting(self) -> dict[tuple[str, ...], float]:
        """Return the number of waiters under the dependency."""
        with self._lock:
            return {(self._dependency,): self.waiting}

    def enter_now(self) -> Slot | None:
        """Acquire a slot without waiting; return None if none is free or others are waiting."""
        loop = asyncio.get_running_loop()
        place = Slot(loop)
        with self._lock:
            if loop is not self._loop:
                self._loop = loop
                self._drop_lost()
            if len(self._held) >= self._limit or self._waiting:
                return None
            self._held.add(place)
        return place

    async def enter(self, wait_s: float, principal: str | None = None) -> Slot | None:
        """Wait for a slot; return None if none was acquired in time."""
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        place = Slot(loop, principal, woken)
        with self._lock:
            if not self._make_room(principal):
                return None
            self._waiting.setdefault(principal, deque()).append(place)
        timer = loop.call_later(wait_s, place.wake)
        try:
            await woken
        except BaseException:
            self.leave(place)  # the slot may have been granted at the moment of the cancellation
            raise
        finally:
            timer.cancel()
        if place in self._held:
            return place
        self.leave(place)
        return None

    def leave(self, place: Slot) -> None:
        """Release a slot, or stop waiting for one."""
        with self._lock:
            self._held.discard(place)
            if self._waiting:
                self._forget(place)
                self._serve()

    def leave_after(self, thread: Future[None], place: Slot) -> None:
        """Release a slot once the work has really ended: a thread cannot be stopped and may still be running."""
        place.thread = thread

        def leave(_: object) -> None:
            try:
                place.loop.call_soon_threadsafe(self.leave, place)
            except RuntimeError:  # the loop is closed
                self.leave(place)

        thread.add_done_callback(leave)

    def resize(self, limit: int, queue: int) -> None:
        """Set the number of slots and the length of the queue; running calls are unaffected."""
        with self._lock:
            self._limit, self._queue = limit, queue
            self._serve()

    def _make_room(self, principal: str | None) -> bool:
        """Return whether a principal may queue, evicting a waiter of the principal with the most if necessary."""
        if self.waiting < self._queue:
            return True
        most = max(self._waiting, key=lambda name: len(self._waiting[name]), default=None)
        if most not in self._waiting or len(self._waiting[most]) <= len(self._waiting.get(principal, ())) + 1:
            return False
        newest = self._waiting[most][-1]
        self._forget(newest)
        _wake(newest)
        return True

    def _forget(self, place: Slot) -> None:
        places = self._waiting.get(place.principal)
        if places is not None and place in places:
            places.remove(place)
            if not places:
                del self._waiting[place.principal]

    def _drop_lost(self) -> None:
        self._held.difference_update([place for place in list(self._held) if place.is_lost])
        for places in list(self._waiting.values()):
            for place in [place for place in list(places) if place.is_lost]:
                self._forget(place)
        self._serve()

    def _serve(self) -> None:
        while self._waiting and len(self._held) < self._limit:
            principal = next(iter(self._waiting))
            places = self._waiting.pop(principal)
            place = places.popleft()
            if places:
                self._waiting[principal] = places  # to the end of the round-robin
            self._held.add(place)
            _wake(place)


def _wake(place: Slot) -> None:
    with suppress(RuntimeError):  # the loop was closed meanwhile
        place.loop.call_soon_threadsafe(place.wake)

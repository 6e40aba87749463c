"""`Bulkhead`: a concurrency limit per dependency, so that a slow one cannot exhaust shared resources."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import Overloaded
from failsoft.recovery.facts import StrategyFacts
from failsoft.recovery.reporting import Gauge


@dataclass(frozen=True, slots=True)
class BulkheadOptions:
    """The limit and the queue.

    Args:
        limit: The number of concurrent runs, at least 1, in this process.
        wait_s: How long a run may wait in the queue, in seconds; 0: it is rejected at once.
        queue: How many runs may wait, at least 0; by default the same as `limit`.
        dependency: The dependency to protect; bulkheads with the same name share their limit. By default every
            operation of a toolset has its own.
    """

    limit: int
    wait_s: float = 0.0
    queue: int | None = None
    dependency: str | None = None

    def __post_init__(self) -> None:
        if self.limit < 1 or not self.wait_s >= 0 or (self.queue is not None and self.queue < 0):
            msg = f"Bulkhead needs limit >= 1, wait_s >= 0 and queue >= 0, not {self}"
            raise ValueError(msg)

    @property
    def places_to_wait(self) -> int:
        """The length of the queue."""
        return self.limit if self.queue is None else self.queue


class Bulkhead:
    """Limits concurrent runs; further ones wait in a queue or end with OVERLOADED.

    It counts runs, not calls: a call that pauses before its next attempt holds no slot, and a sync handler that keeps
    running in its thread after a time-out holds its slot until it ends. The queue is served round-robin by principal,
    first in, first out for each; when it is full, a run replaces the newest one of the principal with the most waiting
    runs. The limit applies to this process even with shared state, as do the resources it protects (memory,
    connections, a pool).

    Args:
        limit: See `BulkheadOptions`.
        wait_s: See `BulkheadOptions`.
        queue: See `BulkheadOptions`.
        dependency: See `BulkheadOptions`.

    Raises:
        ValueError: The options are invalid.

    Source: M. Nygard, "Release It!", 2007.
    """

    name = "bulkhead"
    facts = StrategyFacts(
        options=BulkheadOptions,
        place="bulkhead",
        use=(
            "a dependency takes only so many calls at once, like a connection pool, or a slow one must not use "
            "all threads."
        ),
        not_for=(
            "limits over all replicas: it counts in its own process. For a rate (so many a minute) use `RateLimit`."
        ),
        example={"limit": 10},
        single_for="dependency",
    )

    def __init__(
        self, limit: int, wait_s: float = 0, queue: int | None = None, *, dependency: str | None = None
    ) -> None:
        self.options = BulkheadOptions(limit, wait_s, queue, dependency)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that acquires a slot for each run and releases it."""
        return [Link(self.name, _held(self.compartment(bound), self.options), "bulkhead")]

    def compartment(self, bound: BoundOperation) -> Compartment:
        """Return the slots that this operation shares with others of its dependency."""
        named = self.options.dependency
        store = bound.state if named else bound.state.private_to(bound.tool)
        dependency = named or f"{bound.tool_name}.{bound.name}"
        gauges = (
            Gauge("bulkhead_running", dependency, bound.events),
            Gauge("bulkhead_waiting", dependency, bound.events),
        )
        limits = (self.options.limit, self.options.places_to_wait)
        compartment = store.companion(f"bulkhead:{dependency}", lambda: Compartment(*limits, gauges))
        # A reload may have changed the options.
        compartment.resize(self.options.limit, self.options.places_to_wait)
        return compartment


def _held(compartment: Compartment, options: BulkheadOptions) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        if not compartment.enter_now() and not await _waited(compartment, options.wait_s, call):
            raise Overloaded(
                effect=call.effect_of(call.error), details={"limit": options.limit, "dependency": options.dependency}
            )
        try:
            return await proceed(call)
        finally:
            _leave_when_over(compartment, call)

    return step


def _leave_when_over(compartment: Compartment, call: Call) -> None:
    """Release the slot once the work has really ended: a thread cannot be stopped and may still be running."""
    over = call.thread_over
    if over is None or over.done():
        compartment.leave()
        return
    loop = asyncio.get_running_loop()

    def leave(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed, and its slots are gone
            loop.call_soon_threadsafe(compartment.leave)

    over.add_done_callback(leave)


async def _waited(compartment: Compartment, wait_s: float, call: Call) -> bool:
    remaining_s = call.remaining_s()
    # A little before the deadline: OVERLOADED says more than DEADLINE_EXCEEDED.
    limit_s = wait_s if remaining_s is None else min(wait_s, 0.9 * remaining_s)
    return limit_s > 0 and await compartment.enter(limit_s, call.principal)


class Compartment:
    """A semaphore with a bounded queue that is fair to principals.

    Args:
        limit: The number of slots.
        queue: How many may wait for one.
        gauges: Of the slots in use, and of the waiters.
    """

    __slots__ = ("_gauges", "_limit", "_queue", "_taken", "_waiting")

    def __init__(self, limit: int, queue: int | None = None, gauges: tuple[Gauge, Gauge] | None = None) -> None:
        self._gauges = gauges
        self._limit = limit
        self._queue = limit if queue is None else queue
        self._taken = 0
        self._waiting: dict[str | None, deque[asyncio.Future[bool]]] = {}
        """Waiters by principal, the next principal to be served first."""

    @property
    def taken(self) -> int:
        """The number of slots in use."""
        return self._taken

    @property
    def waiting(self) -> int:
        """The number of waiters."""
        return sum(map(len, self._waiting.values()))

    def enter_now(self) -> bool:
        """Acquire a slot without waiting; return False if none is free or others are waiting."""
        if self._taken >= self._limit or self._waiting:
            return False
        self._taken += 1
        self._note()
        return True

    async def enter(self, wait_s: float, principal: str | None = None) -> bool:
        """Wait for a slot; return whether one was acquired in time."""
        if not self._make_room(principal):
            return False
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.setdefault(principal, deque()).append(turn)
        self._note()
        timer = loop.call_later(wait_s, _settle, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()  # the slot was granted at the moment of the cancellation
            raise
        finally:
            timer.cancel()
            self._forget(principal, turn)

    def leave(self) -> None:
        """Release a slot."""
        self._taken -= 1
        self._serve()
        self._note()

    def resize(self, limit: int, queue: int | None = None) -> None:
        """Change the number of slots and the length of the queue; running calls are unaffected."""
        self._limit = limit
        self._queue = limit if queue is None else queue
        self._serve()

    def _make_room(self, principal: str | None) -> bool:
        """Return whether a principal may queue, evicting a waiter of the principal with the most if necessary."""
        if self.waiting < self._queue:
            return True
        most = max(self._waiting, key=lambda name: len(self._waiting[name]), default=None)
        if most not in self._waiting or len(self._waiting[most]) <= len(self._waiting.get(principal, ())) + 1:
            return False
        newest = self._waiting[most][-1]
        _settle(newest)
        self._forget(most, newest)
        return True

    def _forget(self, principal: str | None, turn: asyncio.Future[bool]) -> None:
        turns = self._waiting.get(principal)
        if turns is None:
            return
        if turn in turns:
            turns.remove(turn)
        if not turns:
            del self._waiting[principal]
        self._note()

    def _note(self) -> None:
        if self._gauges is not None:
            running, waiting = self._gauges
            running.set(self._taken)
            waiting.set(self.waiting if self._waiting else 0)

    def _serve(self) -> None:
        while self._waiting and self._taken < self._limit:
            principal = next(iter(self._waiting))
            turns = self._waiting.pop(principal)
            turn = turns.popleft()
            if turns:
                self._waiting[principal] = turns  # to the end of the round-robin
            if not turn.done():
                self._taken += 1
                turn.set_result(True)


def _settle(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)

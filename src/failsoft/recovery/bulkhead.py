"""`Bulkhead`: a limit on how many calls work on one thing at once, so that a slow one cannot take all the room."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.chain import Link, Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import Overloaded
from failsoft.framework.ports import CalledOperation
from failsoft.recovery.rejection import effect_so_far

__all__ = ["Bulkhead", "BulkheadOptions", "Compartment"]


@dataclass(frozen=True, slots=True)
class BulkheadOptions:
    """How much room there is.

    Args:
        limit: Runs at once, at least 1, in this process.
        wait_s: How long a run may wait for its turn, in seconds; 0: it is turned away at once.
        dependency: What is worked on; bulkheads of one name share their room. By default every operation of a toolset
            has its own.
    """

    limit: int
    wait_s: float = 0.0
    dependency: str | None = None

    def __post_init__(self) -> None:
        if self.limit < 1 or not self.wait_s >= 0:
            msg = f"Bulkhead needs limit >= 1 and wait_s >= 0, not {self}"
            raise ValueError(msg)


class Bulkhead:
    """Lets so many runs in at once; further ones wait in the order in which they came, or end with OVERLOADED.

    It counts runs, not calls: a call that pauses before its next attempt holds no room. It is this process's own, also
    where state is shared: what it protects (memory, connections, a pool) is too.

    Args:
        limit: See `BulkheadOptions`.
        wait_s: See `BulkheadOptions`.
        dependency: See `BulkheadOptions`.

    Raises:
        ValueError: The options make no bulkhead.

    Source: M. Nygard, "Release It!", 2007.
    """

    name = "bulkhead"

    def __init__(self, limit: int, wait_s: float = 0, *, dependency: str | None = None) -> None:
        self.options = BulkheadOptions(limit, wait_s, dependency)

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link that takes a place for each run and gives it back."""
        return [Link(self.name, _held(self.compartment(bound), self.options), "bulkhead")]

    def compartment(self, bound: CalledOperation) -> Compartment:
        """Return the places that this operation shares with others of its dependency."""
        named = self.options.dependency
        store = bound.state if named else bound.state.private_to(bound.tool)
        key = f"bulkhead:{named or f'{bound.tool_name}.{bound.name}'}"
        compartment = store.companion(key, lambda: Compartment(self.options.limit))
        compartment.resize(self.options.limit)  # the limit that was given last holds: a reload changes it
        return compartment


def _held(compartment: Compartment, options: BulkheadOptions) -> Step:
    async def step(call: CallContext, proceed: Proceed) -> Any:
        if not compartment.enter_now() and not await _waited(compartment, options.wait_s, call):
            raise Overloaded(
                effect=effect_so_far(call), details={"limit": options.limit, "dependency": options.dependency}
            )
        try:
            return await proceed(call)
        finally:
            compartment.leave()

    return step


async def _waited(compartment: Compartment, wait_s: float, call: CallContext) -> bool:
    remaining_s = call.remaining_s()
    # A little before the deadline: that there was no room says more than that the time was up.
    limit_s = wait_s if remaining_s is None else min(wait_s, 0.9 * remaining_s)
    return limit_s > 0 and await compartment.enter(limit_s)


class Compartment:
    """Places that are taken and given back; whoever waits is served in order, and a cancelled one takes none along.

    Args:
        limit: How many places there are.
    """

    __slots__ = ("_limit", "_taken", "_waiting")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._waiting: deque[asyncio.Future[bool]] = deque()

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._taken

    def enter_now(self) -> bool:
        """Take a place, if there is one and nobody waits for it."""
        if self._taken >= self._limit or self._waiting:
            return False
        self._taken += 1
        return True

    async def enter(self, wait_s: float) -> bool:
        """Wait for a place; return whether there was one in time."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(turn)
        timer = loop.call_later(wait_s, _settle, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()  # the place came at the very moment of the cancellation
            raise
        finally:
            timer.cancel()
            if turn in self._waiting:
                self._waiting.remove(turn)

    def leave(self) -> None:
        """Give a place back."""
        self._taken -= 1
        self._serve()

    def resize(self, limit: int) -> None:
        """Have so many places from now on; who is inside stays."""
        self._limit = limit
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._taken < self._limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(True)


def _settle(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)

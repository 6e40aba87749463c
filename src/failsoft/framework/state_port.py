"""What is shared between calls, and between replicas: small states behind atomic steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

__all__ = ["Changed", "LocalState", "State", "StateStore", "Step", "Transition"]

State: TypeAlias = dict[str, Any]
"""What is kept under one key: names to numbers and texts."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a step makes of a state: the state to keep (None forgets it), its answer, and how long it is kept."""

    state: State | None
    answer: Any
    ttl_s: float


Step: TypeAlias = Callable[..., Changed]
"""`step(state or None, now_s, *arguments) -> Changed`: pure, so that a store may run it wherever it is atomic."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One atomic step over the state of one key: the same maths in Python and, for shared stores, in Lua.

    Args:
        name: For logs and for the cache of scripts.
        step: In Python; see `Step`.
        lua: The body of a Lua function of `state` (a table or nil), `now` (seconds) and `arguments` (a list), which
            returns the state (or nil), the answer, and the time to live in seconds.
    """

    name: str
    step: Step
    lua: str


class StateStore(Protocol):
    """Small states by key, changed in atomic steps. In memory by default; Redis for replicas.

    Keys are `kind:name`. The clock is the store's own: the event loop's in memory, the server's where it is shared.
    """

    is_local: bool
    """Whether the states are this process's, so that `change_now` works."""

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Run one step atomically and return its answer."""

    def change_now(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Do the same without waiting; only where `is_local`."""

    async def get(self, key: str) -> Any:
        """Return the JSON value that was put under a key, or None."""

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """Keep a JSON value for so many seconds; return whether it was kept."""

    async def delete(self, key: str) -> None:
        """Forget a key."""

    async def close(self) -> None:
        """Let go of connections."""


class LocalState:
    """The smallest real store: a dict. States past their time are dropped as keys are added.

    Args:
        clock: Seconds, on whatever scale; never backwards.
        capacity: Keys at most; above it the ones that were changed longest ago are dropped.
    """

    is_local = True

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, capacity: int = 100_000) -> None:
        self._clock = clock
        self._capacity = capacity
        self._kept: dict[str, tuple[float, Any]] = {}

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        return self.change_now(transition, key, *arguments)

    def change_now(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        now = self._clock()
        changed = transition.step(self._alive(key, now), now, *arguments)
        self._keep(key, changed.state, now + changed.ttl_s)
        return changed.answer

    async def get(self, key: str) -> Any:
        """See `StateStore`."""
        return self._alive(key, self._clock())

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""
        now = self._clock()
        if only_if_absent and self._alive(key, now) is not None:
            return False
        self._keep(key, value, now + ttl_s)
        return True

    async def delete(self, key: str) -> None:
        """See `StateStore`."""
        self._kept.pop(key, None)

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def _alive(self, key: str, now: float) -> Any:
        kept = self._kept.get(key)
        return None if kept is None or kept[0] <= now else kept[1]

    def _keep(self, key: str, value: Any, until: float) -> None:
        self._kept.pop(key, None)
        if value is None:
            return
        self._kept[key] = (until, value)
        while len(self._kept) > self._capacity:
            del self._kept[next(iter(self._kept))]

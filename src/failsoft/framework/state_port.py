"""What is shared between calls, and between replicas: small states behind atomic steps."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from failsoft.framework.clock import loop_time

__all__ = ["Changed", "Companions", "LocalState", "State", "StateStore", "Step", "Transition"]

T = TypeVar("T")
State: TypeAlias = dict[str, Any]
"""What is kept under one key: names to finite numbers, texts, and flat lists of those. No None, no booleans."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a step makes of a state: the state to keep (None forgets it), its answer, and how long it is kept."""

    state: State | None
    answer: Any
    ttl_s: float


Step: TypeAlias = Callable[..., Changed]
"""`step(state or None, now_s, *arguments) -> Changed`: pure, so that a store may run it wherever it is atomic. It must
not change the state that it is given."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One atomic step over the state of one key: the same maths in Python and, for shared stores, in Lua.

    Numbers are doubles on both sides, so whole numbers stay exact up to 2**53. `tests/recovery/state/test_steps.py`
    holds both renderings of every transition to each other.

    Args:
        name: For logs and for the cache of scripts; unique.
        step: In Python; see `Step`.
        lua: The body of a Lua 5.1 function of `state` (a table or nil), `now` (seconds) and `arguments` (a list), which
            returns the state (or nil), the answer (a number, a text, a list of those, or nil), and the time to live in
            seconds.
    """

    name: str
    step: Step
    lua: str = field(repr=False)


class StateStore(Protocol):
    """Small states by key, changed in atomic steps. In memory by default; Redis for replicas.

    Keys are `kind:name`. `change` and `change_now` work on states, `get` and `put` on JSON values; one key is either.
    A store never raises because it is out of order: a shared one goes on with local state then, and says so in a
    `StateStoreEvent`. Nothing here waits for longer than a fraction of a second.
    """

    is_local: bool
    """Whether the states are this process's, so that `change_now` works."""

    def clock(self) -> float:
        """Return the store's time in seconds, as well as this process knows it: what steps are given as `now`."""

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Run one step atomically and return its answer. The arguments are numbers and texts."""

    def change_now(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Do the same without waiting; only where `is_local`."""

    async def get(self, key: str) -> Any:
        """Return the JSON value that was put under a key, or None."""

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """Keep a JSON value for so many seconds; return whether it was kept."""

    async def delete(self, key: str) -> None:
        """Forget a key."""

    async def close(self) -> None:
        """Let go of connections. The store may be used again: it connects anew."""

    def companion(self, key: str, make: Callable[[], T]) -> T:
        """Return this process's one object for a key, made when it is first asked for: what stands for a state here."""

    def private_to(self, owner: Any) -> StateStore:
        """Return the store for what belongs to one object, such as a toolset, and has no name that others know.

        Where states are local that is a store of its own, which ends with its owner, so that two instances of a class
        do not meet; where they are shared it is this store, so that replicas do.
        """


class Companions:
    """The objects that stand for keys in this process; a part of every store."""

    def __init__(self) -> None:
        self._companions: dict[str, Any] = {}
        self._making = threading.Lock()

    def companion(self, key: str, make: Callable[[], T]) -> T:
        """See `StateStore`."""
        with self._making:
            known = self._companions.get(key)
            if known is None:
                known = self._companions[key] = make()
            found: T = known
            return found


class LocalState(Companions):
    """The states of one process, in a dict. What is past its time is dropped as keys are added.

    Args:
        clock: Seconds, on whatever scale; never backwards.
        capacity: Keys at most; above it the ones that were changed longest ago are dropped.
    """

    is_local = True

    def __init__(self, clock: Callable[[], float] = loop_time, *, capacity: int = 100_000) -> None:
        super().__init__()
        self.clock = clock
        self._capacity = capacity
        self._kept: dict[str, tuple[float, Any]] = {}
        self._private: dict[int, tuple[weakref.ref[Any], LocalState]] = {}
        self._lock = threading.Lock()

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        return self.change_now(transition, key, *arguments)

    def change_now(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        with self._lock:
            now = self.clock()
            changed = transition.step(self._alive(key, now), now, *arguments)
            self._keep(key, changed.state, now + changed.ttl_s)
        return changed.answer

    async def get(self, key: str) -> Any:
        """See `StateStore`."""
        return self._alive(key, self.clock())

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""
        with self._lock:
            now = self.clock()
            if only_if_absent and self._alive(key, now) is not None:
                return False
            self._keep(key, value, now + ttl_s)
            return True

    async def delete(self, key: str) -> None:
        """See `StateStore`."""
        with self._lock:
            self._kept.pop(key, None)

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def private_to(self, owner: Any) -> LocalState:
        """See `StateStore`."""
        known = self._private.get(id(owner))  # by identity: an owner may have no hash
        if known is None:
            number, private = id(owner), self._private
            gone = weakref.ref(owner, lambda _: private.pop(number, None))
            known = private[number] = (gone, LocalState(self.clock, capacity=self._capacity))
        return known[1]

    def entries(self) -> list[tuple[str, float, Any]]:
        """Return what is kept: the key, for how many seconds yet, and the state or value."""
        with self._lock:
            now = self.clock()
            return [(key, until - now, value) for key, (until, value) in self._kept.items() if until > now]

    def clear(self) -> None:
        """Forget every key; companions stay."""
        with self._lock:
            self._kept.clear()

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

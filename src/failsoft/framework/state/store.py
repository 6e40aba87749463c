"""The state of one runtime: counted state of calls (breakers, budgets, limits), and access to durable records."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

from failsoft.framework.clock import loop_time
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state.backend import Backend, Changed, State, Step, StoreLost
from failsoft.framework.state.memory import MemoryBackend
from failsoft.framework.state.records import QUOTA_BYTES, Records, scope_of
from failsoft.framework.state.steps import Steps

T = TypeVar("T")
StoreGauges: TypeAlias = dict[
    str, tuple[Callable[[], Mapping[tuple[str, ...], float]], Callable[[], Awaitable[object]] | None]
]
"""The gauges of a store by the name of their metric: `read` and `refresh`, see `Gauges.add`."""
_CAPACITY = 100_000
_LOOKS_EVERY_S = 60.0
_WARNED, _WARNED_S = "quota:warned", 3_600.0
"""The key under which processes note that the operator was warned, for so long."""
_NEARLY = 0.8
"""The share of a quota from which on an operator is warned."""


class StateStore(Protocol):
    """Small states by key, changed in atomic steps. In memory by default; in SQLite or Redis to share them.

    Keys are `kind:name`. Except for `records`, a store never raises because of an outage: a shared one then uses local
    state and publishes a `StoreEvent`. No method waits longer than a fraction of a second.
    """

    is_local: bool
    """Whether the states are local to this process, so that `change_now` works."""

    def clock(self) -> float:
        """Return the store's time in seconds, as far as this process knows it; it is passed to steps as `now`."""

    async def change(self, step: Step, key: str, *arguments: Any) -> Any:
        """Run one step atomically and return its answer."""

    def change_now(self, step: Step, key: str, *arguments: Any) -> Any:
        """Do the same without waiting; only where `is_local`."""

    async def close(self) -> None:
        """Release connections. The store may be used again and then reconnects."""

    def companion(self, key: str, make: Callable[[], T]) -> T:
        """Return the object that represents a state in this process, created on first use."""

    def private_to(self, owner: Any) -> StateStore:
        """Return the store for unnamed state of one object, such as a toolset.

        Local state is in a separate store that ends with its owner, so that two instances of a class do not share it;
        shared state is in this store, so that replicas share it. That of a foreign server is scoped by its identity.
        """

    def records(self, tool: Any) -> Records:
        """Return the durable records of a toolset, scoped by server name, toolset, folders and foreign server."""

    async def check(self) -> None:
        """Open the configured store, so that an unusable one is reported at start-up.

        Raises:
            CONFIG_ERROR: It cannot be used; the message says why and what to do.
        """


class Companions:
    """The objects that represent states in this process; a base of every store."""

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


class RecordsOf:
    """Provides the records of each toolset; a base of every store.

    Args:
        backend: The backend; None for memory, where every toolset has a backend of its own.
        quota_bytes: The quota of each principal.
        clock: The clock of records in memory.
    """

    def __init__(self, backend: Backend | None, quota_bytes: int, clock: Callable[[], float]) -> None:
        self.backend = backend
        self._steps = None if backend is None else Steps(backend)
        self._quota_bytes = quota_bytes
        self._clock = clock
        self._made: dict[int, tuple[weakref.ref[Any], Records]] = {}
        self._fullest = 0
        self._looks_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._is_warned = False
        refresh = None if backend is None else self._refresh
        self.gauges: StoreGauges = {"mcp_state_quota_used_ratio": (self._used, refresh)}

    def _used(self) -> dict[tuple[str, ...], float]:
        in_memory = [made.backend for _, made in list(self._made.values()) if isinstance(made.backend, MemoryBackend)]
        return {(): max([self._fullest, *(backend.most_used() for backend in in_memory)]) / self._quota_bytes}

    async def _refresh(self) -> None:
        if self.backend is not None:
            with suppress(StoreLost):  # then it stays as it was
                self._fullest = await self.backend.fullest()

    def _look(self) -> None:
        """Look at the quota of the fullest principal, after a write and once a minute at most, off its path."""
        now = loop_time()
        if now >= self._looks_at:
            self._looks_at = now + _LOOKS_EVERY_S
            self._looking = asyncio.get_running_loop().create_task(self._warn())

    async def _warn(self) -> None:
        """Log that a quota is nearly used up: once for all processes, and again only after it was not."""
        await self._refresh()
        ratio = self._used()[()]
        is_over = ratio >= _NEARLY
        if is_over != self._is_warned and await self._is_first_to_know(is_over=is_over) and is_over:
            facts = {"used_ratio": round(ratio, 3), "quota_bytes": self._quota_bytes}
            message = "One caller has used {:.0%} of the quota of the state store; beyond it keyed calls are refused"
            logger.bind(event="state_quota", **facts).warning(message, ratio)
        self._is_warned = is_over

    async def _is_first_to_know(self, *, is_over: bool) -> bool:
        """Note in the store that a quota is nearly used up, or no longer; return whether no process has yet."""
        if self._steps is None:
            return True
        with suppress(StoreLost):
            return bool(await self._steps.run(_noted, _WARNED, is_over))
        return False

    def __call__(self, tool: Any) -> Records:
        """Return the records of a toolset, the same object every time."""
        number, made = id(tool), self._made  # by identity: an owner may have no hash
        known = made.get(number)
        if known is None:
            reference = weakref.ref(tool, lambda _: made.pop(number, None))
            backend = MemoryBackend(self._clock) if self.backend is None else self.backend
            records = Records(backend, _scope(reference, backend), self._quota_bytes, self._steps, self._look)
            known = made[number] = (reference, records)
        return known[1]


def _noted(state: State | None, now: float, is_over: bool) -> Changed:  # noqa: FBT001 - the arguments of a step have positions
    """Note whether a quota is nearly used up; the answer is whether that is news. A step."""
    if (state is not None) == is_over:
        return Changed(state, answer=False)
    return Changed({"at": now} if is_over else None, answer=True, ttl_s=_WARNED_S)


def _scope(reference: weakref.ref[Any], backend: Backend) -> Callable[[], str]:
    last: tuple[Any, str] = (None, "")

    def scope() -> str:
        nonlocal last
        tool = reference()
        own = getattr(tool, "server_identity", "")
        names = (getattr(tool, "server_name", ""), getattr(tool, "name", ""), tuple(getattr(tool, "roots", ())), own)
        if names != last[0]:
            server, name, roots, _ = names
            last = (names, scope_of(server or name, name, roots, backend.default_root, own))
        return last[1]

    return scope


class LocalState(Companions):
    """The states of one process.

    Args:
        clock: A monotonic clock, in seconds.
        capacity: See `MemoryBackend`.
        records: The backend of durable records; by default in memory.
        quota_bytes: The quota of durable records per principal.
    """

    is_local = True

    def __init__(
        self,
        clock: Callable[[], float] = loop_time,
        *,
        capacity: int = _CAPACITY,
        records: Backend | None = None,
        quota_bytes: int = QUOTA_BYTES,
    ) -> None:
        super().__init__()
        self.clock = clock
        self._capacity = capacity
        self.states = MemoryBackend(clock, capacity=capacity)
        self.change_now = self.states.change
        self._private: dict[int, tuple[weakref.ref[Any], LocalState]] = {}
        self._records = RecordsOf(records, quota_bytes, clock)
        self.gauges: StoreGauges = {**getattr(records, "gauges", {}), **self._records.gauges}

    def records(self, tool: Any) -> Records:
        """See `StateStore`."""
        return self._records(tool)

    async def check(self) -> None:
        """Do nothing: memory is always available."""

    async def change(self, step: Step, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        return self.states.change(step, key, *arguments)

    async def close(self) -> None:
        """Close the records; there is nothing else to close."""
        if self._records.backend is not None:
            await self._records.backend.close()

    def private_to(self, owner: Any) -> LocalState:
        """See `StateStore`."""
        known = self._private.get(id(owner))  # by identity: an owner may have no hash
        if known is None:
            number, private = id(owner), self._private
            gone = weakref.ref(owner, lambda _: private.pop(number, None))
            known = private[number] = (gone, LocalState(self.clock, capacity=self._capacity))
        return known[1]


def changed_names(state: State | None, _now: float, added: str, removed: str, at_most: int, ttl_s: float) -> Changed:
    """Append a name and remove another; the answer is the list, the name added last at its end.

    Args:
        state: The state of the list.
        added: A name, or empty. One that is in the list already moves to its end.
        removed: A name, or empty.
        at_most: The length of the list; beyond it names are dropped from its beginning.
        ttl_s: The time to live of the list, in seconds.
    """
    before: list[Any] = [] if state is None else state["names"]
    names = [kept for kept in before if kept not in {added, removed}]
    names = [*names, added][-at_most:] if added else names[-at_most:]
    return Changed({"names": names} if names else None, names, ttl_s)

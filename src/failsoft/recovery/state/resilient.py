"""`ResilientState`: a shared store that falls back to local state during an outage and recovers by itself."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.events import Events, StateStoreEvent
from failsoft.framework.records import Quota, RecordBackend, Records, State, StoreLost, Transition, UnreadableValue
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state import Companions, LocalState, RecordsOf, StateStore

T = TypeVar("T")
_PROBE_S = 0.25
_PROBE_AT_MOST_S = 5.0


class SharedState(RecordBackend, Protocol):
    """A store shared with other processes. An operation that fails or takes too long raises `StoreLost`."""

    async def ping(self) -> None:
        """Check that the store answers."""

    async def seed(self, key: str, state: State, ttl_s: float) -> bool:
        """Store a state unless the key exists; return whether it was stored."""


class _OfOneServer(Companions):
    """The states of one foreign server in a store that others share.

    Args:
        whole: The store.
        identity: What identifies the server; put before each key.
    """

    is_local = False

    def __init__(self, whole: ResilientState, identity: str) -> None:
        super().__init__()
        self._whole = whole
        self._prefix = f"@{identity}:"
        self.clock, self.records, self.check, self.close = whole.clock, whole.records, whole.check, whole.close
        self.private_to, self.change_now = whole.private_to, whole.change_now

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        return await self._whole.change(transition, self._prefix + key, *arguments)

    async def get(self, key: str) -> Any:
        """See `StateStore`."""
        return await self._whole.get(self._prefix + key)

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""
        return await self._whole.put(self._prefix + key, value, ttl_s, only_if_absent=only_if_absent)

    async def delete(self, key: str) -> None:
        """See `StateStore`."""
        await self._whole.delete(self._prefix + key)


class ResilientState(Companions):
    """A state store behind a circuit breaker: the first failure opens it, and a background probe closes it.

    During an outage states are local to this process and the lost store is not called, so no call waits for it. Once it
    answers again, local states and values are copied to it where it has none: the state shared by all replicas takes
    precedence over that of one.

    Args:
        shared: The shared store.
        events: Receives an event when the store is lost or found again.
        prefix: The prefix of state keys in the store; records have scopes instead.
        quota: The quota of records per principal.
        is_checked: Whether an unusable store is an error at start-up.
        limit_s: The time limit of an operation on a state before the store counts as lost, in seconds.
        probe_s: The pause before the first probe, in seconds; it doubles up to five seconds.
    """

    is_local = False

    def __init__(
        self,
        shared: SharedState,
        events: Events,
        *,
        prefix: str = "",
        quota: Quota | None = None,
        is_checked: bool = False,
        limit_s: float | None = None,
        probe_s: float = _PROBE_S,
    ) -> None:
        super().__init__()
        self._shared = shared
        self._prefix = prefix
        self._is_checked = is_checked
        self._limit_s = limit_s
        self._records = RecordsOf(shared, quota or Quota(), shared.clock)
        self._events = events
        self._probe_s = probe_s
        self._states = LocalState(shared.clock)
        self._values = LocalState(shared.clock)
        self._probe: asyncio.Task[None] | None = None
        self._is_known = False
        self._of_servers: dict[str, _OfOneServer] = {}
        self.is_available = True
        """Whether the shared store is used, as far as is known."""

    def clock(self) -> float:
        """See `StateStore`."""
        return self._shared.clock()

    def records(self, tool: Any) -> Records:
        """See `StateStore`."""
        return self._records(tool)

    async def check(self) -> None:
        """See `StateStore`."""
        if not self._is_checked:
            return
        try:
            await self._shared.ping()
        except StoreLost as lost:
            raise ConfigurationError(
                issue=f"the state store of FAILSOFT_STATE_URL cannot be used: {lost}",
                resolution="repair it, move it away (its records are then not known), or name another one",
            ) from lost

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        key = self._prefix + key
        return await self._either(
            key,
            lambda: self._shared.change(transition, key, *arguments),
            lambda: self._states.change(transition, key, *arguments),
        )

    def change_now(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Raise NotImplementedError: a shared store needs I/O."""
        msg = "a shared store cannot be queried synchronously"
        raise NotImplementedError(msg)

    async def get(self, key: str) -> Any:
        """See `StateStore`."""
        key = self._prefix + key
        return await self._either(key, lambda: self._shared.get(key), lambda: self._values.get(key))

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""
        key = self._prefix + key
        return await self._either(
            key,
            lambda: self._shared.put(key, value, ttl_s, only_if_absent=only_if_absent),
            lambda: self._values.put(key, value, ttl_s, only_if_absent=only_if_absent),
        )

    async def delete(self, key: str) -> None:
        """See `StateStore`."""
        key = self._prefix + key
        await self._either(key, lambda: self._shared.delete(key), lambda: self._forget(key))

    def private_to(self, owner: Any) -> StateStore:
        """See `StateStore`: replicas share by name, those of a foreign server by its identity, too."""
        identity = getattr(owner, "server_identity", "")
        if not identity:
            return self
        found = self._of_servers.get(identity)
        if found is None:
            found = self._of_servers[identity] = _OfOneServer(self, identity)
        return found

    async def close(self) -> None:
        """See `StateStore`."""
        probe, self._probe = self._probe, None
        if probe is not None and probe.get_loop() is asyncio.get_running_loop():
            probe.cancel()
            await asyncio.wait([probe])
        await self._shared.close()

    async def _either(self, key: str, shared: Callable[[], Awaitable[T]], local: Callable[[], Awaitable[T]]) -> T:
        if self.is_available:
            try:
                value = await self._readable(key, shared)
            except StoreLost as lost:
                self._lose(str(lost))
            else:
                if not self._is_known:
                    self._announce(reason="connected")
                return value
        self._keep_probing()
        return await local()

    async def _readable(self, key: str, asked: Callable[[], Awaitable[T]]) -> T:
        """Return the answer of the store; a value that cannot be read is deleted, since shared state can be rebuilt."""
        try:
            return await self._in_time(asked())
        except UnreadableValue:
            digest = hashlib.sha256(key.encode(errors="replace")).hexdigest()[:12]
            logger.bind(key=digest).warning("A value in the state store cannot be read: it counts as missing")
            await self._in_time(self._shared.delete(key))
            return await self._in_time(asked())

    async def _in_time(self, asked: Awaitable[T]) -> T:
        if self._limit_s is None:  # the store enforces its own limit
            return await asked
        try:
            async with asyncio.timeout(self._limit_s):
                return await asked
        except TimeoutError as error:
            msg = "it takes too long"
            raise StoreLost(msg) from error

    async def _forget(self, key: str) -> None:
        await self._values.delete(key)
        await self._states.delete(key)

    def _lose(self, reason: str) -> None:
        if self.is_available:
            self.is_available = False
            self._announce(reason=reason)
            logger.warning("The shared state store is unreachable ({}): calls continue with local state", reason)

    def _announce(self, *, reason: str) -> None:
        self._is_known = True
        if self._events.wants(StateStoreEvent):
            self._events.publish(StateStoreEvent(available=self.is_available, reason=reason))

    def _keep_probing(self) -> None:
        """Run one probe on the running loop; a probe whose loop is closed is replaced."""
        loop = asyncio.get_running_loop()
        if self._probe is None or self._probe.done() or self._probe.get_loop().is_closed():
            self._probe = loop.create_task(self._find_again())

    async def _find_again(self) -> None:
        pause_s = self._probe_s
        while not self.is_available:
            await asyncio.sleep(random.uniform(0.5, 1.0) * pause_s)  # noqa: S311 - jitter, so that replicas do not probe all at once
            pause_s = min(_PROBE_AT_MOST_S, 2 * pause_s)
            try:
                await self._shared.ping()
                carried = await self._carry_over({})
                self.is_available = True
                await self._carry_over(carried)  # changes made during the first copy
            except StoreLost:
                self.is_available = False
            if not self.is_available:  # lost again meanwhile
                continue
            self._states.clear()
            self._values.clear()
            self._announce(reason="found again")
            logger.info("The shared state store is reachable again")

    async def _carry_over(self, carried: dict[str, Any]) -> dict[str, Any]:
        """Copy local states and values to the shared store where it has none, and return them."""
        states = [entry for entry in self._states.entries() if carried.get(entry[0]) is not entry[2]]
        values = [entry for entry in self._values.entries() if carried.get(entry[0]) is not entry[2]]
        for key, ttl_s, state in states:
            await self._shared.seed(key, state, ttl_s)
        for key, ttl_s, value in values:
            await self._shared.put(key, value, ttl_s, only_if_absent=True)
        return {key: value for key, _, value in states + values}

"""`ResilientState`: shared states while their server is there, local ones while it is not, and back again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from loguru import logger

from failsoft.framework.events import Events, StateStoreEvent
from failsoft.framework.state_port import Companions, LocalState, State, Transition

__all__ = ["ResilientState", "SharedState", "StoreLost"]

T = TypeVar("T")
_PROBE_S = 0.25
_PROBE_AT_MOST_S = 5.0


class StoreLost(Exception):
    """The shared store did not answer; the text is the kind of fault, never an address."""


class SharedState(Protocol):
    """A store that others use too. What it cannot do in a fraction of a second is a `StoreLost`."""

    def clock(self) -> float:
        """See `StateStore`."""

    async def ping(self) -> None:
        """Ask whether it is there."""

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""

    async def seed(self, key: str, state: State, ttl_s: float) -> bool:
        """Keep a state under a key that has none; return whether it was kept."""

    async def get(self, key: str) -> Any:
        """See `StateStore`."""

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""

    async def delete(self, key: str) -> None:
        """See `StateStore`."""

    async def close(self) -> None:
        """See `StateStore`."""


class ResilientState(Companions):
    """A store that no outage stops: its own breaker opens with the first fault, and a probe of its own closes it.

    Until then states are this process's alone, and nobody asks the lost store, so that nothing waits for it. When it is
    found again, what was decided or put meanwhile is carried over where the store knows nothing of its own: what all
    replicas agreed on goes before what one of them made of it.

    Args:
        shared: The store proper.
        events: Where its loss and its return are announced.
        probe_s: The first pause before the store is asked again, in seconds; it doubles up to five seconds.
    """

    is_local = False

    def __init__(self, shared: SharedState, events: Events, *, probe_s: float = _PROBE_S) -> None:
        super().__init__()
        self._shared = shared
        self._events = events
        self._probe_s = probe_s
        self._states = LocalState(shared.clock)
        self._values = LocalState(shared.clock)
        self._probe: asyncio.Task[None] | None = None
        self._is_known = False
        self.is_available = True
        """Whether the shared store is used, as far as is known."""

    def clock(self) -> float:
        """See `StateStore`."""
        return self._shared.clock()

    async def change(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """See `StateStore`."""
        return await self._either(
            lambda: self._shared.change(transition, key, *arguments),
            lambda: self._states.change(transition, key, *arguments),
        )

    def change_now(self, transition: Transition, key: str, *arguments: Any) -> Any:
        """Raise: the states are not this process's."""
        msg = "a shared store cannot be asked without waiting"
        raise NotImplementedError(msg)

    async def get(self, key: str) -> Any:
        """See `StateStore`."""
        return await self._either(lambda: self._shared.get(key), lambda: self._values.get(key))

    async def put(self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False) -> bool:
        """See `StateStore`."""
        return await self._either(
            lambda: self._shared.put(key, value, ttl_s, only_if_absent=only_if_absent),
            lambda: self._values.put(key, value, ttl_s, only_if_absent=only_if_absent),
        )

    async def delete(self, key: str) -> None:
        """See `StateStore`."""
        await self._either(lambda: self._shared.delete(key), lambda: self._forget(key))

    def private_to(self, owner: Any) -> ResilientState:  # noqa: ARG002 - replicas share by name
        """See `StateStore`."""
        return self

    async def close(self) -> None:
        """See `StateStore`."""
        probe, self._probe = self._probe, None
        if probe is not None and probe.get_loop() is asyncio.get_running_loop():
            probe.cancel()
            await asyncio.wait([probe])
        await self._shared.close()

    async def _either(self, shared: Callable[[], Awaitable[T]], local: Callable[[], Awaitable[T]]) -> T:
        if self.is_available:
            try:
                value = await shared()
            except StoreLost as lost:
                self._lose(str(lost))
            else:
                if not self._is_known:
                    self._announce(reason="connected")
                return value
        self._keep_probing()
        return await local()

    async def _forget(self, key: str) -> None:
        await self._values.delete(key)
        await self._states.delete(key)

    def _lose(self, reason: str) -> None:
        if self.is_available:
            self.is_available = False
            self._announce(reason=reason)
            logger.warning("The shared state store is lost ({}): calls go on with local state", reason)

    def _announce(self, *, reason: str) -> None:
        self._is_known = True
        if self._events.wants(StateStoreEvent):
            self._events.publish(StateStoreEvent(available=self.is_available, reason=reason))

    def _keep_probing(self) -> None:
        """Have one probe on the running loop; one whose loop has ended will never find anything."""
        loop = asyncio.get_running_loop()
        if self._probe is None or self._probe.done() or self._probe.get_loop().is_closed():
            self._probe = loop.create_task(self._find_again())

    async def _find_again(self) -> None:
        pause_s = self._probe_s
        while not self.is_available:
            await asyncio.sleep(random.uniform(0.5, 1.0) * pause_s)  # noqa: S311 - so that replicas do not come at once
            pause_s = min(_PROBE_AT_MOST_S, 2 * pause_s)
            try:
                await self._shared.ping()
                carried = await self._carry_over({})
                self.is_available = True
                await self._carry_over(carried)  # what came while the rest was on its way
            except StoreLost:
                self.is_available = False
            if not self.is_available:  # lost again meanwhile
                continue
            self._states.clear()
            self._values.clear()
            self._announce(reason="found again")
            logger.info("The shared state store is there again")

    async def _carry_over(self, carried: dict[str, Any]) -> dict[str, Any]:
        """Bring what was decided and put meanwhile to the store, where it knows nothing of its own; return it all."""
        states = [entry for entry in self._states.entries() if carried.get(entry[0]) is not entry[2]]
        values = [entry for entry in self._values.entries() if carried.get(entry[0]) is not entry[2]]
        for key, ttl_s, state in states:
            await self._shared.seed(key, state, ttl_s)
        for key, ttl_s, value in values:
            await self._shared.put(key, value, ttl_s, only_if_absent=True)
        return {key: value for key, _, value in states + values}

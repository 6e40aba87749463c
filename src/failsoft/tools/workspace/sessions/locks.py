"""Locks of sessions after a violated invariant, shared by all replicas."""

from __future__ import annotations

from dataclasses import dataclass

from failsoft.framework.state.backend import Changed, State
from failsoft.framework.state.records import Records

_GONE_S = 0.001
_KEPT_S = 10.0
"""A store may keep a lock slightly beyond its expiry, so the steps check the expiry themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCause:
    """Why a session is locked.

    Args:
        error_id: Of the failure that locked it.
        invariant_id: What did not hold.
        count: The number of violations so far, including that one.
    """

    error_id: str
    invariant_id: str
    count: int


class SessionLocks:
    """The locks on the sessions of a server.

    Args:
        store: The records.
        lifetime_s: Seconds that a session can last at most; a lock outlives it.
    """

    def __init__(self, store: Records, *, lifetime_s: float) -> None:
        self._store = store
        self._lifetime_s = lifetime_s

    async def lock(self, key: str, *, error_id: str, invariant_id: str) -> None:
        """Lock a session; if it is locked already, keep its cause and count one more violation."""
        await self._store.change(lock, key, error_id, invariant_id, self._lifetime_s, is_free=True)

    async def cause(self, key: str) -> LockCause | None:
        """Return why a session is locked; None if it is not."""
        found = await self._store.change(look, key, is_free=True)
        if not found:
            return None
        count, error_id, invariant_id = found
        return LockCause(error_id=error_id, invariant_id=invariant_id, count=int(count))

    async def unlock(self, key: str, known: LockCause) -> bool:
        """Unlock a session and return True, unless more violations came than were known: those need a report, too."""
        return bool(await self._store.change(unlock, key, known.count, is_free=True))


def lock(state: State | None, now: float, error_id: str, invariant_id: str, ttl_s: float) -> Changed:
    """Lock; the answer is how many violations there are.

    Args:
        state: Of the key.
        now: Seconds.
        error_id: Of this failure.
        invariant_id: What did not hold.
        ttl_s: How long the lock lasts, from now.
    """
    if state is None or now >= state["until"]:
        state = {"count": 0, "error_id": error_id, "invariant_id": invariant_id}
    count = state["count"] + 1
    return Changed({**state, "count": count, "until": now + ttl_s}, count, max(_KEPT_S, ttl_s))


def look(state: State | None, now: float) -> Changed:
    """Answer the count, the error id and the invariant of a lock; an empty list without one."""
    if state is None or now >= state["until"]:
        return Changed(None, [], _GONE_S)
    answer = [str(int(state["count"])), state["error_id"], state["invariant_id"]]
    return Changed(state, answer, max(_KEPT_S, state["until"] - now))


def unlock(state: State | None, now: float, count: int) -> Changed:
    """Remove a lock with this number of violations and answer 1; answer 0 if there have been more."""
    if state is not None and now < state["until"] and state["count"] != count:
        return Changed(state, 0, max(_KEPT_S, state["until"] - now))
    return Changed(None, 1, _GONE_S)

"""Durable records of a toolset: atomic steps over them, their backends, quotas, and typed failures."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from failsoft.framework.errors import QuotaExhausted, StateUnavailable, StateUnusable
from failsoft.framework.errors.vocabulary import PicklableError

State: TypeAlias = dict[str, Any]
"""The state of one key: names to finite numbers, texts, and flat lists of those. No None, no booleans."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a step: the new state (None deletes it), the answer, and the time to live in seconds."""

    state: State | None
    answer: Any
    ttl_s: float


Step: TypeAlias = Callable[..., Changed]
"""`step(state or None, now_s, *arguments) -> Changed`: pure, so that a store may run it wherever it is atomic. It must
not change the state that it is given."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One atomic step over the state of one key: the same function in Python and, for shared stores, in Lua.

    Numbers are doubles on both sides, so whole numbers stay exact up to 2**53. A test compares
    both renderings of every transition: `tests/recovery/state/test_stores_agree.py`.

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


_WRONG_SHAPE = (LookupError, TypeError, ValueError, AttributeError)


class Quota(NamedTuple):
    """The quota of one principal.

    Args:
        records: How many records.
        bytes: Their keys and values together, as JSON, in bytes.
    """

    records: int = 100_000
    bytes: int = 256 * 1024 * 1024


class Account(NamedTuple):
    """The quota that a record counts against; principal and scope are hashed."""

    owner: str
    quota: Quota


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its key in its scope, its JSON value, and its remaining time to live in seconds."""

    key: str
    value: Any
    expires_in_s: float


class StoreLost(PicklableError):
    """A store did not answer; the text is the kind of fault, never an address.

    Args:
        reason: What is wrong.
        is_lasting: Whether asking again cannot help: the file is damaged, of a newer version, or not writable.
    """

    def __init__(self, reason: str, *, is_lasting: bool = False) -> None:
        super().__init__(reason)
        self.is_lasting = is_lasting


class UnreadableValue(StoreLost):
    """A value in a store that otherwise works is damaged, or not from failsoft."""


class QuotaReached(Exception):
    """A record was not stored because its quota is used up; the text names the limit."""


class RecordBackend(Protocol):
    """A backend of records. Raises `StoreLost` and `QuotaReached`; `Records` turns both into typed errors."""

    is_local: bool
    """Whether only this process sees the records, so that they end with it."""
    default_root: str
    """Separates the records of toolsets without folders; empty if an operator separates stores by prefix."""

    def clock(self) -> float:
        """Return the time in seconds that is passed to steps as `now`."""

    async def change(self, transition: Transition, key: str, *arguments: Any, account: Account | None = None) -> Any:
        """Run one step atomically and return its answer. A new record needs space in its quota.

        Raises:
            UnreadableValue: What is there is no state of this step; it was left as it is.
        """

    async def get(self, key: str) -> Any:
        """Return the JSON value or state of a key, or None; raise `UnreadableValue` for anything else."""

    async def put(
        self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False, account: Account | None = None
    ) -> bool:
        """Store a JSON value with a time to live; return whether it was stored."""

    async def delete(self, key: str) -> bool:
        """Forget a key; return whether there was one."""

    async def find(self, prefix: str) -> Sequence[Record]:
        """Return the records whose keys have this prefix, sorted by key."""

    async def close(self) -> None:
        """Release files and connections; the next operation reopens them."""


class Records:
    """The durable records of one toolset: they last as long as the store, and fail closed if it is lost.

    Keys are `kind:name`. `change` works on states, `get` and `put` on JSON values; one key is either.

    Args:
        backend: The store.
        scope: Returns the prefix of their keys; called for each operation, since a toolset is made before its server.
        quota: The quota of each principal.

    Raises:
        STATE_UNAVAILABLE: By every method: the store does not answer; nothing was changed.
        STATE_UNUSABLE: By every method: the store cannot be used until an operator has repaired it.
        QUOTA_EXHAUSTED: By `change` and `put`: the quota of the principal is used up.
    """

    def __init__(self, backend: RecordBackend, scope: Callable[[], str], quota: Quota) -> None:
        self.backend = backend
        self._scope = scope
        self._quota = quota

    @property
    def is_local(self) -> bool:
        """Whether only this process sees them, so that they end with it."""
        return self.backend.is_local

    def clock(self) -> float:
        """Return the store's time in seconds, which steps get as `now`."""
        return self.backend.clock()

    async def change(
        self, transition: Transition, key: str, *arguments: Any, principal: str | None = None, is_free: bool = False
    ) -> Any:
        """Run one atomic step over the state of a key and return its answer.

        Args:
            transition: The step.
            key: The key of the record.
            arguments: Numbers and strings.
            principal: The principal whose quota a new record counts against.
            is_free: Whether it counts against no quota: state of the toolset itself.
        """
        scope = self._scope()
        account = None if is_free else _account(scope, principal, self._quota)
        try:
            return await self.backend.change(transition, scope + key, *arguments, account=account)
        except (StoreLost, QuotaReached) as fault:
            raise self._typed(fault) from fault

    async def get(self, key: str, read: Callable[[Any], Any] | None = None) -> Any:
        """Return the JSON value that was put under a key, or None.

        Args:
            key: Under which key.
            read: Makes an object of the value; what it raises for another shape counts as an unreadable value.
        """
        try:
            value = await self.backend.get(self._scope() + key)
            return value if value is None or read is None else read(value)
        except StoreLost as fault:
            raise self._typed(fault) from fault
        except _WRONG_SHAPE as fault:
            raise self._typed(UnreadableValue(key)) from fault

    async def put(
        self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False, principal: str | None = None
    ) -> bool:
        """Store a JSON value; return whether it was stored.

        Args:
            key: Its key.
            value: A JSON value, not None.
            ttl_s: Its time to live, in seconds.
            only_if_absent: Do not replace an existing value.
            principal: The principal whose quota it counts against.
        """
        scope = self._scope()
        account = _account(scope, principal, self._quota)
        try:
            return await self.backend.put(scope + key, value, ttl_s, only_if_absent=only_if_absent, account=account)
        except (StoreLost, QuotaReached) as fault:
            raise self._typed(fault) from fault

    async def delete(self, key: str) -> bool:
        """Forget a key; return whether there was one."""
        try:
            return await self.backend.delete(self._scope() + key)
        except StoreLost as fault:
            raise self._typed(fault) from fault

    async def find(self, prefix: str) -> list[Record]:
        """Return the records of this scope whose keys have this prefix, sorted by key."""
        scope = self._scope()
        try:
            found = await self.backend.find(scope + prefix)
        except StoreLost as fault:
            raise self._typed(fault) from fault
        return [Record(item.key.removeprefix(scope), item.value, item.expires_in_s) for item in found]

    @staticmethod
    def _typed(fault: StoreLost | QuotaReached) -> QuotaExhausted | StateUnavailable | StateUnusable:
        if isinstance(fault, QuotaReached):
            message = f"You have as many {fault} as one caller may have on this server; nothing was done."
            return QuotaExhausted(message=message, effect="none")
        if isinstance(fault, UnreadableValue):
            hint = f"the record {fault} is damaged: repair it, or remove it with `failsoft state forget`"
            return StateUnusable(effect="none", operator_hint=hint)
        if fault.is_lasting:
            return StateUnusable(effect="none", operator_hint=str(fault))
        return StateUnavailable(effect="none", retry_after_seconds=1.0, operator_hint=str(fault))


@functools.lru_cache(maxsize=256)
def _account(scope: str, principal: str | None, quota: Quota) -> Account:
    owner = f"{scope}\0{'' if principal is None else 'p' + principal}"
    return Account(hashlib.sha256(owner.encode(errors="replace")).hexdigest()[:32], quota)


def scope_of(server: str, toolset: str, roots: Sequence[Path], default_root: str, identity: str = "") -> str:
    """Return the key prefix of the records of one server, toolset and set of folders.

    Args:
        server: The name of the server.
        toolset: The name of the toolset.
        roots: The folders that it serves.
        default_root: Used instead if there are none.
        identity: What identifies a foreign server beside its name; empty for toolsets of failsoft.
    """
    parts = sorted(os.path.realpath(root) for root in roots) or [default_root]
    if identity:
        parts.append(identity)
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]
    return f"{server}/{toolset}/{digest}/"

"""Durable records of a toolset: they last as long as the store, and fail closed if it is lost."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from failsoft.framework.errors import QuotaExhausted, StateUnavailable, StateUnusable
from failsoft.framework.state.backend import (
    KEPT,
    UNREADABLE,
    WRONG_SHAPE,
    Account,
    Backend,
    Changed,
    QuotaReached,
    Record,
    Step,
    StoreLost,
    UnreadableValue,
)
from failsoft.framework.state.memory import MemoryBackend
from failsoft.framework.state.steps import Steps, forgotten

QUOTA_BYTES = 256 * 1024 * 1024


class Records:
    """The durable records of one toolset.

    Keys are `kind:name`, values are JSON: those of `change` are states, those of `put` anything but None.

    Args:
        backend: The store.
        steps: Runs steps over it; records of one backend share it. None for a backend in memory.
        scope: Returns the prefix of their keys; called for each operation, since a toolset is made before its server.
        quota_bytes: The quota of each principal, see `Account`.
        on_write: Called after what counts against a quota was written.

    Raises:
        STATE_UNAVAILABLE: By every method: the store does not answer, or takes no writes for now.
        STATE_UNUSABLE: By every method: the store cannot be used until an operator has repaired it.
        QUOTA_EXHAUSTED: By `change` and `put`: the quota of the principal is used up.
    """

    def __init__(
        self,
        backend: Backend,
        scope: Callable[[], str],
        quota_bytes: int = QUOTA_BYTES,
        steps: Steps | None = None,
        on_write: Callable[[], None] | None = None,
    ) -> None:
        self.backend = backend
        self._memory = backend if isinstance(backend, MemoryBackend) and backend.is_local else None
        self._steps = steps or Steps(backend)
        self._scope = scope
        self._quota_bytes = quota_bytes
        self._on_write = on_write

    @property
    def is_local(self) -> bool:
        """Whether only this process sees them, so that they end with it."""
        return self.backend.is_local

    @property
    def scope(self) -> str:
        """The prefix of their keys, which names the server, the toolset and the folders."""
        return self._scope()

    def clock(self) -> float:
        """Return the store's time in seconds, which steps get as `now`."""
        return self.backend.clock()

    async def change(
        self, step: Step, key: str, *arguments: Any, principal: str | None = None, is_free: bool = False
    ) -> Any:
        """Run one atomic step over the state of a key and return its answer.

        Args:
            step: The step.
            key: The key of the record.
            arguments: Those of the step after state and time.
            principal: The principal whose quota a new record counts against.
            is_free: Whether it counts against no quota: state of the toolset itself.
        """
        scope = self._scope()
        account = None if is_free else _account(scope, principal, self._quota_bytes)
        return await self._changed(step, scope + key, arguments, account, may_grow=True)

    async def get(self, key: str, read: Callable[[Any], Any] | None = None) -> Any:
        """Return the JSON value that was put under a key, or None.

        Args:
            key: Under which key.
            read: Makes an object of the value; what it raises for another shape counts as an unreadable value.
        """
        try:
            value = (await self.backend.read(self._scope() + key)).value
            if value is UNREADABLE:
                raise UnreadableValue(key)
            if self._memory is not None:
                value = _copied(value)
            return value if value is None or read is None else read(value)
        except StoreLost as fault:
            raise self._typed(fault) from fault
        except WRONG_SHAPE as fault:
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
        scope, kept = self._scope(), _copied(value)
        account = _account(scope, principal, self._quota_bytes)
        step = _put_new if only_if_absent else _put
        stored: bool = await self._changed(step, scope + key, (kept, ttl_s), account, may_grow=False)
        return stored

    def key_of(self, key: str) -> str:
        """Return the key of a record as it is in the store, where no other server or toolset has it."""
        return self._scope() + key

    async def delete(self, key: str) -> bool:
        """Forget a key; return whether there was one."""
        was_there: bool = await self._changed(forgotten, self._scope() + key, (), None, may_grow=True)
        return was_there

    async def find(self, prefix: str) -> list[Record]:
        """Return the records of this scope whose keys have this prefix, sorted by key."""
        scope = self._scope()
        try:
            found = await self.backend.find(scope + prefix)
        except StoreLost as fault:
            raise self._typed(fault) from fault
        own = _copied if self._memory is not None else _as_it_is
        return [Record(item.key.removeprefix(scope), own(item.value), item.expires_in_s) for item in found]

    async def _changed(
        self, step: Step, key: str, arguments: tuple[Any, ...], account: Account | None, *, may_grow: bool
    ) -> Any:
        try:
            if self._memory is not None:
                answer = self._memory.change(step, key, *arguments, account=account, may_grow=may_grow)
            else:
                answer = await self._steps.run(step, key, *arguments, account=account, may_grow=may_grow)
        except (StoreLost, QuotaReached) as fault:
            raise self._typed(fault) from fault
        if account is not None and self._on_write is not None:
            self._on_write()
        return answer

    @staticmethod
    def _typed(fault: StoreLost | QuotaReached) -> QuotaExhausted | StateUnavailable | StateUnusable:
        if isinstance(fault, QuotaReached):
            message = "You have stored as much as one caller may on this server; nothing was done."
            return QuotaExhausted(message=message, effect="none")
        if isinstance(fault, UnreadableValue):
            hint = f"the record {fault} is damaged: repair it, or remove it with `failsoft state forget`"
            return StateUnusable(effect="none", operator_hint=hint)
        if fault.fault == "damaged":
            return StateUnusable(effect="none", operator_hint=str(fault))
        return StateUnavailable(effect="none", retry_after_seconds=1.0, operator_hint=str(fault))


def _put(_value: Any, _now: float, kept: Any, ttl_s: float) -> Changed:
    return Changed(kept, True, ttl_s)  # noqa: FBT003 - the answer of a step


def _put_new(value: Any, _now: float, kept: Any, ttl_s: float) -> Changed:
    return Changed(kept, True, ttl_s) if value is None else Changed(KEPT, False)  # noqa: FBT003 - the same


def _as_it_is(value: Any) -> Any:
    return value


def _copied(value: Any) -> Any:
    """Return a JSON value that shares nothing with another."""
    return json.loads(json.dumps(value))


@functools.lru_cache(maxsize=256)
def _account(scope: str, principal: str | None, quota_bytes: int) -> Account:
    owner = f"{scope}\0{'' if principal is None else 'p' + principal}"
    return Account(hashlib.sha256(owner.encode(errors="replace")).hexdigest()[:32], quota_bytes)


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

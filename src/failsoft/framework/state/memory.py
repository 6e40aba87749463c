"""Keys in memory: the library's default, and what stands in for a store that is lost. They end with the process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from failsoft.framework.clock import loop_time
from failsoft.framework.state.backend import (
    LEAST_BYTES,
    NOTHING,
    WRONG_SHAPE,
    Account,
    Held,
    QuotaReached,
    Record,
    Step,
    UnreadableValue,
    Write,
    size_of,
)

_SWEEP_EVERY_S = 60.0
_SWEEP_AFTER_WRITES = 256


class _Kept(NamedTuple):
    until: float
    version: str
    value: Any
    owner: str
    size: int


class MemoryBackend:
    """See `Backend`; `change` runs a step at once, since nobody else writes.

    Args:
        clock: A monotonic clock, in seconds.
        capacity: The largest number of keys of a kind (`kind:name`); beyond it those that were not changed for longest
            are dropped, so that a flood of one kind does not affect another. None for records, which have quotas.
    """

    is_local = True
    is_of_machine = True
    default_root = ""

    def __init__(self, clock: Callable[[], float] = loop_time, *, capacity: int | None = None) -> None:
        self.clock = clock
        self._capacity = capacity
        self._kinds: dict[str, dict[str, _Kept]] = {}
        self._usage: dict[str, int] = {}
        self._lock = threading.RLock()  # the collector may end an abandoned call in the middle of a step
        self._writes = 0
        self._swept_at = 0.0

    def change(
        self, step: Step, key: str, *arguments: Any, account: Account | None = None, may_grow: bool = True
    ) -> Any:
        """Run one step and return its answer; see `Steps.run`.

        Raises:
            QuotaReached: The quota has no space for a new record.
            UnreadableValue: What is there is no value of this step.
        """
        with self._lock:
            now = self.clock()
            kept = self._alive(key, now)
            value = None if kept is None else kept.value
            try:
                changed = step(value, now, *arguments)
            except WRONG_SHAPE as error:
                raise error if value is None else UnreadableValue(key) from error
            if changed.is_new(value):
                self._write(key, kept, Write("", changed.state, changed.ttl_s, account, may_grow), now)
        return changed.answer

    async def read(self, key: str) -> Held:
        """See `Backend`."""
        kept = self._alive(key, self.clock())
        return Held(NOTHING, None) if kept is None else Held(kept.version, kept.value)

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        """See `Backend`."""
        with self._lock:
            now = self.clock()
            kept = self._alive(key, now)
            if version != (NOTHING if kept is None else kept.version):
                return Held(NOTHING, None) if kept is None else Held(kept.version, kept.value)
            self._write(key, kept, write, now)
            return None

    async def find(self, prefix: str) -> list[Record]:
        """See `Backend`."""
        with self._lock:
            now = self.clock()
            kinds = list(self._kinds.values())
            found = [(key, kept) for kind in kinds for key, kept in kind.items() if key.startswith(prefix)]
        return [Record(key, kept.value, kept.until - now) for key, kept in sorted(found) if kept.until > now]

    async def fullest(self) -> int:
        """See `Backend`."""
        return self.most_used()

    def most_used(self) -> int:
        """Return the most bytes that one owner's quota counts, from any thread."""
        with self._lock:
            return max(self._usage.values(), default=0)

    async def ping(self) -> None:
        """Do nothing: memory is always there."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def clear(self) -> None:
        """Forget all keys."""
        with self._lock:
            self._kinds.clear()
            self._usage.clear()

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    def _kind(self, key: str) -> dict[str, _Kept]:
        name = key.partition(":")[0]
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = {}
        return kind

    def _alive(self, key: str, now: float) -> _Kept | None:
        kept = self._kind(key).get(key)
        return None if kept is None or kept.until <= now else kept

    def _write(self, key: str, kept: _Kept | None, write: Write, now: float) -> None:
        owner = kept.owner if kept is not None else "" if write.account is None else write.account.owner
        size = 0
        if owner and write.value is not None:
            size = _size(key, write.value)
            if write.account is not None and (kept is None or (size > kept.size and not write.may_grow)):
                self._require_room(write.account, size - (0 if kept is None else kept.size), now)
        self._forget(key)
        if write.value is None:
            return
        kind = self._kind(key)
        kind[key] = _Kept(now + write.ttl_s, write.version, write.value, owner, size)
        if owner:
            self._usage[owner] = self._usage.get(owner, 0) + size
        if self._capacity is not None and len(kind) > self._capacity:
            del kind[next(iter(kind))]
        self._sweep_if_due(now)

    def _require_room(self, account: Account, added: int, now: float) -> None:
        """Raise `QuotaReached` if there is no space; expired records do not count."""
        if self._usage.get(account.owner, 0) + added > account.quota_bytes:
            self._sweep(now)
            if self._usage.get(account.owner, 0) + added > account.quota_bytes:
                raise QuotaReached

    def _forget(self, key: str) -> None:
        kept = self._kind(key).pop(key, None)
        if kept is None or not kept.owner:
            return
        left = self._usage[kept.owner] - kept.size
        if left > 0:
            self._usage[kept.owner] = left
        else:
            del self._usage[kept.owner]

    def _sweep_if_due(self, now: float) -> None:
        """Count a write; sweep after as many as there are keys, and once a minute."""
        self._writes += 1
        is_due = self._writes >= _SWEEP_AFTER_WRITES and self._writes >= len(self)
        if is_due or not 0.0 <= now - self._swept_at < _SWEEP_EVERY_S:
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        self._writes, self._swept_at = 0, now
        for kind in list(self._kinds.values()):
            for key in [key for key, kept in kind.items() if kept.until <= now]:
                self._forget(key)


def _size(key: str, value: Any) -> int:
    """Return what a record counts; of small states without writing them as JSON."""
    if isinstance(value, dict):
        texts = [item for item in value.values() if isinstance(item, str)]
        if len(texts) + sum(isinstance(item, (int, float)) for item in value.values()) == len(value):
            return max(LEAST_BYTES, len(key) + 20 * len(value) + sum(map(len, texts)))
    return size_of(key, json.dumps(value))

"""In-memory records, the default of the library; lost when the process ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from failsoft.framework.clock import loop_time
from failsoft.framework.records import Account, QuotaReached, Record, State, Transition

_SWEEP_EVERY_S = 60.0
_SWEEP_AFTER_WRITES = 256


class ExpiringDict(dict[str, Any]):
    """A dict of entries with an expiry time first; expired ones are removed, at amortized constant cost."""

    def __init__(self, forget: Callable[[str], Any] | None = None) -> None:
        super().__init__()
        self._forget = self.pop if forget is None else forget
        self._writes = 0
        self._swept_at = 0.0

    def alive(self, key: str, now: float) -> Any:
        """Return the entry of a key, or None if there is none or it has expired."""
        entry = self.get(key)
        return None if entry is None or entry[0] <= now else entry

    def all_alive(self, now: float) -> list[tuple[str, Any]]:
        """Return the keys and entries that have not expired."""
        return [(key, entry) for key, entry in self.items() if entry[0] > now]

    def written(self, now: float) -> None:
        """Count a write; sweep after as many as there are entries, and once a minute."""
        self._writes += 1
        is_due = self._writes >= _SWEEP_AFTER_WRITES and self._writes >= len(self)
        if is_due or not 0.0 <= now - self._swept_at < _SWEEP_EVERY_S:
            self.sweep(now)

    def sweep(self, now: float) -> None:
        """Remove everything that has expired."""
        self._writes, self._swept_at = 0, now
        for key in [key for key, entry in self.items() if entry[0] <= now]:
            self._forget(key)


class _MemoryRecord(NamedTuple):
    until: float
    value: Any
    """A state, or a JSON value as text so that callers cannot modify it."""
    owner: str
    size: int


class MemoryRecords:
    """See `RecordBackend`.

    Args:
        clock: A monotonic clock, in seconds.
    """

    is_local = True
    default_root = ""

    def __init__(self, clock: Callable[[], float] = loop_time) -> None:
        self.clock = clock
        self._kept = ExpiringDict(self._forget)
        self._usage: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    async def change(self, transition: Transition, key: str, *arguments: Any, account: Account | None = None) -> Any:
        """See `RecordBackend`."""
        with self._lock:
            now = self.clock()
            entry: _MemoryRecord | None = self._kept.alive(key, now)
            changed = transition.step(None if entry is None else entry.value, now, *arguments)
            if changed.state is None:
                self._forget(key)
            else:
                size = len(key) + _size_of(changed.state)
                self._keep(key, changed.state, size, now + changed.ttl_s, now, account, may_grow=True)
        return changed.answer

    async def get(self, key: str) -> Any:
        """See `RecordBackend`."""
        entry = self._kept.alive(key, self.clock())
        return None if entry is None else _read(entry.value)

    async def put(
        self, key: str, value: Any, ttl_s: float, *, only_if_absent: bool = False, account: Account | None = None
    ) -> bool:
        """See `RecordBackend`."""
        text = json.dumps(value)
        with self._lock:
            now = self.clock()
            if only_if_absent and self._kept.alive(key, now) is not None:
                return False
            self._keep(key, text, len(key) + len(text), now + ttl_s, now, account, may_grow=False)
            return True

    async def delete(self, key: str) -> bool:
        """See `RecordBackend`."""
        with self._lock:
            is_there = self._kept.alive(key, self.clock()) is not None
            self._forget(key)
            return is_there

    async def find(self, prefix: str) -> list[Record]:
        """See `RecordBackend`."""
        with self._lock:
            now = self.clock()
            found = [(key, entry) for key, entry in self._kept.all_alive(now) if key.startswith(prefix)]
        return [Record(key, _read(entry.value), entry.until - now) for key, entry in sorted(found)]

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def __len__(self) -> int:
        return len(self._kept)

    def _keep(
        self, key: str, value: Any, size: int, until: float, now: float, account: Account | None, *, may_grow: bool
    ) -> None:
        before: _MemoryRecord | None = self._kept.get(key)
        owner = before.owner if before is not None else "" if account is None else account.owner
        if account is not None and owner and not (before is not None and (may_grow or size <= before.size)):
            self._require_room(account, size, before, now)
        self._forget(key)
        self._kept[key] = _MemoryRecord(until, value, owner, size)
        if owner:
            records, total = self._usage.get(owner, (0, 0))
            self._usage[owner] = (records + 1, total + size)
        self._kept.written(now)

    def _require_room(self, account: Account, size: int, before: _MemoryRecord | None, now: float) -> None:
        """Raise `QuotaReached` if there is no space; expired records are not counted."""
        fault = self._over(account, size, before)
        if fault:
            self._kept.sweep(now)
            fault = self._over(account, size, before)
        if fault:
            raise QuotaReached(fault)

    def _over(self, account: Account, size: int, before: _MemoryRecord | None) -> str:
        records, total = self._usage.get(account.owner, (0, 0))
        if before is None and records + 1 > account.quota.records:
            return "records"
        return "bytes" if total + size - (before.size if before else 0) > account.quota.bytes else ""

    def _forget(self, key: str) -> None:
        entry: _MemoryRecord | None = self._kept.pop(key, None)
        if entry is None or not entry.owner:
            return
        records, total = self._usage[entry.owner]
        if records == 1:
            del self._usage[entry.owner]
        else:
            self._usage[entry.owner] = (records - 1, total - entry.size)


def _size_of(state: State) -> int:
    """Return the length of a state as JSON, to a few bytes."""
    size = 2
    for name, value in state.items():
        if isinstance(value, str):
            size += len(name) + len(value) + 8
        elif isinstance(value, (int, float)):
            size += len(name) + 16
        else:
            return len(json.dumps(state))
    return size


def _read(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value

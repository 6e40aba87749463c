"""`StaleCache`: caches answers, and serves stale ones when the call fails."""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias
from weakref import WeakKeyDictionary

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.asking import has_no_outcome
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed
from failsoft.framework.call.time_limits import run_with_reserve
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.errors.vocabulary import StopReason
from failsoft.framework.safe.json_safe import dumps, encode
from failsoft.recovery.strategy import note_recovery, strategy

_RESERVE_RATIO = 0.02
_RESERVE_AT_MOST_S = 0.1
_KEY_AT_MOST = 4_000
"""Characters of arguments in a key; a call with more is not cached."""
_SHARED = (str, bytes, int, float, bool, type(None))
"""Immutable types, which need no copy."""


@strategy
class StaleCache:
    """Caches answers of a read-only operation; a stale one is served, as `degraded`, when the call fails.

    Concurrent equal calls share one run: the others wait for the first and get its answer or its error. If the first
    is cancelled, or takes half of the time that a waiting call has left, that call runs itself. Calls are equal if
    operation, caller, session and arguments are. Failures, degraded answers and answers to repaired arguments are not
    cached. A stale answer replaces only transient errors, so documents that were deleted or forbidden since are not
    served. A call with its own handler (`execute_with_error_handling(..., handler)`) bypasses the cache, and so does
    every call of an operation that needs consent (`confirm`).

    Args:
        ttl_s: How long an answer is fresh, in seconds.
        stale_s: How long after that it may replace an error, in seconds.
        max_entries: The largest number of answers per operation; the least recently used one is evicted.
        max_bytes: Their largest total size as JSON, in bytes; a larger answer is not cached.

    Raises:
        ValueError: The options are invalid.

    Examples:
        >>> @operation(read_only=True, recovery=[StaleCache(ttl_s=60.0, stale_s=3600.0)])
        ... async def rates(self, currency: str) -> float: "Return the rate of exchange."
    """

    name: ClassVar[str] = "stale_cache"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    ttl_s: float
    stale_s: float
    _: KW_ONLY
    max_entries: int = 1_000
    max_bytes: int = 16 * 1024 * 1024

    def __post_init__(self) -> None:
        if not (self.ttl_s >= 0 and self.stale_s >= 0 and self.max_entries >= 1 and self.max_bytes >= 1):
            msg = f"StaleCache needs ttl_s >= 0, stale_s >= 0, max_entries >= 1 and max_bytes >= 1, not {self}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link, with the cache of this operation, which survives a reload; none where calls need consent.

        Raises:
            CONFIG_ERROR: The operation is not read-only, so with a cached answer its work would not be done.
        """
        if not bound.read_only:
            raise ConfigurationError(
                issue=f"'{bound.name}' is not read-only: with an answer from StaleCache its work would not be done",
                resolution="declare read_only=True if that is true, or remove StaleCache",
            )
        if bound.needs_consent:
            return []
        cache = _caches.setdefault(bound, _Cache(self))
        cache.options = self
        return [Link(self.name, cache.step, "cache")]


Key: TypeAlias = tuple[str | None, str | None, str]


@dataclass(slots=True)
class _CachedAnswer:
    """One answer with its facts. `at` is its time on the event loop's clock, in seconds."""

    value: Any
    at: float
    documents_processed: int | None
    warnings: tuple[str, ...]
    size: int
    """Its size as JSON, in bytes."""
    receipt: RecoveryReceipt | None = None
    """Of a degraded answer, or one to repaired arguments: waiting calls get it, and it is not cached."""


_Failed: TypeAlias = tuple[ToolError, int, StopReason | None]
"""The error of a call that equal ones waited for, how often its handler ran, and why no more often."""
Flight: TypeAlias = "asyncio.Future[_CachedAnswer | _Failed | None]"
"""A running call that equal ones wait for: its answer or its error, or None if it was cancelled."""


class _Cache:
    """The answers of one operation."""

    def __init__(self, options: StaleCache) -> None:
        self.options = options
        self._entries: dict[Key, _CachedAnswer] = {}
        self._bytes = 0
        self._flights: dict[Key, Flight] = {}

    async def step(self, call: Call, proceed: Proceed) -> Any:
        """Answer from the cache, from an equal running call, or from the rest of the chain."""
        key = _key(call)
        if key is None:
            return await proceed(call)
        while True:
            entry = self._entry(key)
            if entry is not None and _age(entry) < self.options.ttl_s:
                return _served(entry, call)
            flight = self._flights.get(key)
            if flight is None or flight.get_loop() is not asyncio.get_running_loop():  # left behind by a closed loop
                return await self._lead(key, entry, call, proceed)
            remaining_s = call.remaining_s()
            await asyncio.wait([flight], timeout=None if remaining_s is None else remaining_s / 2)
            if not flight.done():
                if self._flights.get(key) is flight:  # the first one is slow
                    return await self._lead(key, entry, call, proceed)
                continue
            landed = flight.result()
            if isinstance(landed, _CachedAnswer):
                return _served(landed, call)
            if landed is not None:
                error, call.attempt, stop_reason = landed
                call.tell(stop_reason=stop_reason)
                return _instead(copy.copy(error), entry, call)

    async def _lead(self, key: Key, old: _CachedAnswer | None, call: Call, proceed: Proceed) -> Any:
        """Run the call and wake the waiting calls, however it ends."""
        flight: Flight = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        landed: _CachedAnswer | _Failed | None = None
        receipt, warnings_before = call.told.receipt, len(call.told.warnings)
        try:
            value = await run_with_reserve(call, proceed, 0 if old is None else _reserve(call))
            landed = _entry_of(value, call, receipt, warnings_before)
            if landed.receipt is None:
                self._keep(key, landed)
        except BaseException as raised:
            if call.expired or has_no_outcome(raised):
                raise
            call.error = call.typed(raised)
            landed = copy.copy(call.error), call.attempt, call.told.stop_reason
        else:
            call.tell(cache_hit=False)
            return value
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if not flight.get_loop().is_closed():
                flight.set_result(landed)
        # No local name for the error: its traceback holds this frame, so it would be a reference cycle.
        return _instead(call.error, old, call)

    def _keep(self, key: Key, entry: _CachedAnswer) -> None:
        self._forget(key)
        if entry.size > self.options.max_bytes:
            return
        self._entries[key] = entry
        self._bytes += entry.size
        while len(self._entries) > self.options.max_entries or self._bytes > self.options.max_bytes:
            self._forget(next(iter(self._entries)))

    def _forget(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size

    def _entry(self, key: Key) -> _CachedAnswer | None:
        """Return the entry of a key, unless it is too old, and mark it as recently used."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if _age(entry) >= self.options.ttl_s + self.options.stale_s:
            self._forget(key)
            return None
        self._entries[key] = self._entries.pop(key)
        return entry


_caches: WeakKeyDictionary[BoundOperation, _Cache] = WeakKeyDictionary()
"""By operation, so that a reload of the recovery configuration keeps the entries."""


def _entry_of(value: Any, call: Call, receipt: RecoveryReceipt | None, warnings_before: int) -> _CachedAnswer:
    """Return the entry of an answer; `receipt` and `warnings_before` are those from before the run."""
    told = call.told
    inner = told.receipt if told.receipt is not receipt else None
    is_other = inner is not None and (inner.degraded or bool(inner.changed))
    new, size = told.warnings[warnings_before:], len(dumps(value, max_items=sys.maxsize).encode())
    return _CachedAnswer(_own(value), _now(), told.documents_processed, new, size, inner if is_other else None)


def _instead(error: ToolError, old: _CachedAnswer | None, call: Call) -> Any:
    """Return the stale answer, or raise the error."""
    if old is None or error.retry != "after_delay":
        note_recovery(call, StaleCache.name, "skipped", error)
        try:
            raise error
        finally:
            del error  # as above
    said = f"An answer from {_age(old):.0f} seconds ago, because of {error.code}"
    note_recovery(call, StaleCache.name, "recovered", error)
    call.recovered(RecoveryReceipt(StaleCache.name, said, call.attempt, {}, degraded=True))
    return _served(old, call)


def _reserve(call: Call) -> float:
    """Return the time reserved for serving a stale answer, in seconds; a busy event loop needs some."""
    return min(_RESERVE_AT_MOST_S, (call.bound.timeout_s or 0.0) * _RESERVE_RATIO)


def _key(call: Call) -> Key | None:
    """Return the key of a call; None if it cannot be compared."""
    if call.handler is not None:
        return None
    encoded = encode(call.arguments)
    arguments = json.dumps(encoded.tree, sort_keys=True) if encoded.is_faithful else ""
    return (call.principal, call.session_id, arguments) if 0 < len(arguments) <= _KEY_AT_MOST else None


def _now() -> float:
    return asyncio.get_running_loop().time()


def _age(entry: _CachedAnswer) -> float:
    return _now() - entry.at


def _served(entry: _CachedAnswer, call: Call) -> Any:
    """Return an entry's value as the answer of a call, and set the facts of the entry on the call."""
    call.tell(cache_hit=True)
    call.tell(documents_processed=entry.documents_processed)
    if entry.receipt is not None:
        call.recovered(replace(entry.receipt, attempts=call.attempt))
    for warning in entry.warnings:
        call.warn(warning)
    return _own(entry.value)


def _own(value: Any) -> Any:
    """Return a copy, so that a caller cannot change the cached value."""
    if isinstance(value, _SHARED):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - a value that cannot be copied (a stream, a lock) is shared
        return value

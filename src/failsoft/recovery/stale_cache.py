"""`StaleCache`: answers kept for a while, and older ones where nothing newer is to be had."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.chain import Link, Proceed
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.json_safe import encode_and_tell
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import CalledOperation
from failsoft.framework.receipt import RecoveryReceipt
from failsoft.framework.time_limit import run_with_reserve
from failsoft.recovery.noting import note_recovery

__all__ = ["StaleCache", "StaleCacheOptions"]

_RESERVE_RATIO = 0.02
_RESERVE_AT_MOST_S = 0.1
_KEY_AT_MOST = 4_000
"""Characters of arguments in a key; a call with more is not cached."""
_SHARED = (str, bytes, int, float, bool, type(None))
"""Values that nobody can change, so that they need no copy."""


@dataclass(frozen=True, slots=True)
class StaleCacheOptions:
    """How long, how old, and how many.

    Args:
        ttl_s: How long an answer is as good as a new one, in seconds.
        stale_s: How long after that it may still stand in for an error, in seconds.
        max_entries: Answers that are kept for each operation; the ones used longest ago go first.
    """

    ttl_s: float
    stale_s: float
    max_entries: int = 1_000

    def __post_init__(self) -> None:
        if not (self.ttl_s >= 0 and self.stale_s >= 0) or self.max_entries < 1:
            msg = f"StaleCache needs ttl_s >= 0, stale_s >= 0 and max_entries >= 1, not {self}"
            raise ValueError(msg)


class StaleCache:
    """Keeps answers of a read-only operation; an old one is served, as `degraded`, when a new one cannot be had.

    Equal calls at one time are one: the others wait for the first and get its answer or its error; if the first is
    cancelled, or runs out of time with nothing to serve, the next one takes over. Calls are equal if their operation,
    their caller, their session and their arguments are. Failures and second-best answers are never kept, nor are
    answers to changed arguments. An old answer stands in only for errors that waiting may cure: what is gone or
    forbidden now is not served.
    A call with a handler of its own (`execute_with_error_handling(..., handler)`) goes past the cache.

    Args:
        ttl_s: See `StaleCacheOptions`.
        stale_s: See `StaleCacheOptions`.
        max_entries: See `StaleCacheOptions`.
    """

    name = "stale_cache"

    def __init__(self, ttl_s: float, stale_s: float, *, max_entries: int = 1_000) -> None:
        self.options = StaleCacheOptions(ttl_s, stale_s, max_entries)

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link, with an empty cache for this operation of this toolset.

        Raises:
            CONFIG_ERROR: The operation is not read-only, so an answer from a cache would leave its work undone.
        """
        if not bound.read_only:
            raise ConfigurationError(
                issue=f"'{bound.name}' is not read-only: an answer from StaleCache would leave its work undone",
                resolution="declare read_only=True if that is true, or take StaleCache away",
            )
        return [Link(self.name, _Cache(self.options).step, "cache")]


Key: TypeAlias = tuple[str | None, str | None, str]


@dataclass(slots=True)
class _Entry:
    """One answer with its facts. `at` is when it came, on the event loop's clock in seconds."""

    value: Any
    at: float
    documents_processed: int | None
    warnings: tuple[str, ...]
    receipt: RecoveryReceipt | None = None
    """Of an answer that is second best, or to other arguments: it goes to those who waited, and is not kept."""


@dataclass(slots=True)
class _Flight:
    """One call under way that equal ones wait for. If it lands with neither entry nor error, it was given up."""

    landed: asyncio.Event = field(default_factory=asyncio.Event)
    entry: _Entry | None = None
    error: ToolError | None = None


class _Cache:
    """The answers of one operation."""

    def __init__(self, options: StaleCacheOptions) -> None:
        self._options = options
        self._entries: dict[Key, _Entry] = {}
        self._flights: dict[Key, _Flight] = {}

    async def step(self, call: CallContext, proceed: Proceed) -> Any:
        """Answer from the cache, from an equal call under way, or from the rest of the chain."""
        key = _key(call)
        if key is None:
            return await proceed(call)
        while True:
            entry = self._entry(key)
            if entry is not None and _age(entry) < self._options.ttl_s:
                return _served(entry, call)
            flight = self._flights.get(key)
            if flight is None:
                return await self._lead(key, entry, call, proceed)
            await flight.landed.wait()
            if flight.entry is not None:
                return _served(flight.entry, call)
            if flight.error is not None:
                return _instead(copy.copy(flight.error), entry, call)

    async def _lead(self, key: Key, old: _Entry | None, call: CallContext, proceed: Proceed) -> Any:
        """Run the call for all that wait; whatever becomes of it, they are woken."""
        flight = self._flights[key] = _Flight()
        receipt, told = call.receipt, len(call.warnings or ())
        try:
            value = await run_with_reserve(call, proceed, 0 if old is None else _reserve(call))
            flight.entry = _entry_of(value, call, receipt, told)
            if flight.entry.receipt is None:
                self._keep(key, flight.entry)
        except BaseException as raised:
            if call.expired or is_real_cancellation(raised):
                raise
            call.error = normalize(raised)
            flight.error = copy.copy(call.error)
        else:
            call.cache_hit = False
            return value
        finally:
            del self._flights[key]
            flight.landed.set()
        # No local name for the error: its traceback holds this frame, and the two would wait for the garbage collector.
        return _instead(call.error, old, call)

    def _keep(self, key: Key, entry: _Entry) -> None:
        self._entries.pop(key, None)
        self._entries[key] = entry
        while len(self._entries) > self._options.max_entries:
            del self._entries[next(iter(self._entries))]

    def _entry(self, key: Key) -> _Entry | None:
        """Return what is kept under a key and not too old to be of any use, as the one used last."""
        entry = self._entries.pop(key, None)
        if entry is None or _age(entry) >= self._options.ttl_s + self._options.stale_s:
            return None
        self._entries[key] = entry
        return entry


def _entry_of(value: Any, call: CallContext, receipt: RecoveryReceipt | None, told: int) -> _Entry:
    """Return an answer with its facts; `receipt` and `told` are the receipt and the warnings that were there before."""
    inner = call.receipt if call.receipt is not receipt else None
    is_other = inner is not None and (inner.degraded or bool(inner.changed))
    warnings = tuple((call.warnings or [])[told:])
    return _Entry(_own(value), _now(), call.documents_processed, warnings, inner if is_other else None)


def _instead(error: ToolError, old: _Entry | None, call: CallContext) -> Any:
    """Return the old answer in the error's place, or raise the error."""
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


def _reserve(call: CallContext) -> float:
    """Return what it takes to serve an old answer, in seconds: hardly anything, though a busy loop is late."""
    return min(_RESERVE_AT_MOST_S, (call.bound.timeout_s or 0.0) * _RESERVE_RATIO)


def _key(call: CallContext) -> Key | None:
    """Return what equal calls have in common; None for a call that cannot be compared."""
    if call.handler is not None:
        return None
    tree, _, is_faithful = encode_and_tell(call.arguments)
    arguments = json.dumps(tree, sort_keys=True) if is_faithful else ""
    return (call.principal, call.session_id, arguments) if 0 < len(arguments) <= _KEY_AT_MOST else None


def _now() -> float:
    return asyncio.get_running_loop().time()


def _age(entry: _Entry) -> float:
    return _now() - entry.at


def _served(entry: _Entry, call: CallContext) -> Any:
    """Return an entry's value as the answer of a call, with the facts that go with it."""
    call.cache_hit = True
    call.documents_processed = entry.documents_processed
    if entry.receipt is not None:
        call.recovered(replace(entry.receipt, attempts=call.attempt))
    for warning in entry.warnings:
        call.warn(warning)
    return _own(entry.value)


def _own(value: Any) -> Any:
    """Return a value that may be changed without changing the one in the cache."""
    if isinstance(value, _SHARED):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - what cannot be copied (a stream, a lock) is shared rather than lost
        return value

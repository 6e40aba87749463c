"""`Idempotency`: a call that is sent twice does its work once, and gets the first outcome twice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.chain import Link, Proceed
from failsoft.framework.context import CallContext
from failsoft.framework.errors import (
    DeadlineExceeded,
    Effect,
    IdempotencyConflict,
    IdempotencyInProgress,
    IdempotencyOutcomeUnknown,
    ResultTooLarge,
    ToolError,
    ToolSystemError,
)
from failsoft.framework.events import IdempotencyEvent, IdempotencyVerdict
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import CalledOperation
from failsoft.framework.receipt import RecoveryReceipt
from failsoft.framework.state_port import StateStore
from failsoft.recovery.idempotency_keys import META_KEY, arguments_hash, checked_key, state_key
from failsoft.recovery.idempotency_steps import CLAIM, SETTLE
from failsoft.recovery.noting import note_recovery
from failsoft.recovery.outcomes import error_text, read_outcome, value_text
from failsoft.recovery.seeing_through import begin, see_through

__all__ = ["Idempotency", "IdempotencyOptions"]

Derive: TypeAlias = Callable[[CallContext], str | None]
_FIRST_PAUSE_S = 0.01
_PAUSE_AT_MOST_S = 0.25
_RESERVE_RATIO = 0.05
_RESERVE_AT_MOST_S = 0.25


@dataclass(frozen=True, slots=True)
class IdempotencyOptions:
    """How long outcomes are kept, and where keys come from.

    Args:
        ttl_s: How long an outcome is replayed, in seconds; a day.
        lease_s: How long the process that does the work may be silent before it counts as dead, in seconds. It speaks
            up three times in that time.
        derive: Returns the key of a call that brings none, or None; `lambda call: call.arguments["invoice"]`.
    """

    ttl_s: float = 86_400.0
    lease_s: float = 10.0
    derive: Derive | None = None

    def __post_init__(self) -> None:
        if not (self.ttl_s > 0 and self.lease_s > 0):
            msg = f"Idempotency needs ttl_s > 0 and lease_s > 0, not {self.ttl_s} and {self.lease_s}"
            raise ValueError(msg)


class Idempotency:
    """Keeps the first outcome of a call under its idempotency key, and gives it to every repetition.

    Every operation that is not read-only has it, for callers that send `_meta["dev.failsoft/idempotency-key"]`; listed
    among the strategies it has other options. Without a key it costs a look into `_meta`.

    A key belongs to one caller and one operation and, where there are sessions, to one session. A repetition waits for
    a first call that is still under way. Failures are outcomes as well, but for those that changed nothing: they free
    the key. Where the first call never told its outcome, the work is not done again, unless the operation is declared
    idempotent.

    Args:
        ttl_s: See `IdempotencyOptions`.
        lease_s: See `IdempotencyOptions`.
        derive: See `IdempotencyOptions`.

    Source: IETF draft "The Idempotency-Key HTTP Header Field".
    """

    name = "idempotency"

    def __init__(self, *, ttl_s: float = 86_400.0, lease_s: float = 10.0, derive: Derive | None = None) -> None:
        self.options = IdempotencyOptions(ttl_s, lease_s, derive)

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link for one operation; one that changes nothing needs none."""
        if bound.read_only:
            return []
        return [Link(self.name, _Keeper(self.options, bound.state.private_to(bound.tool)).step, "idempotency")]


@dataclass(frozen=True, slots=True)
class _Work:
    """A call with a key. `owner` tells this call from all others with the same key."""

    key: str
    arguments: str
    owner: str


class _Keeper:
    """The keys of one operation."""

    def __init__(self, options: IdempotencyOptions, state: StateStore) -> None:
        self._options = options
        self._state = state
        self._under_way: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}
        """By key, what wakes those in this process who wait for a call of this process."""

    def step(self, call: CallContext, proceed: Proceed) -> Awaitable[Any]:
        """Run the call under its key, if it has one. No coroutine: without a key it costs none."""
        if META_KEY in call.scope.meta or self._options.derive is not None:
            return self._keyed(call, proceed)
        return proceed(call)

    async def _keyed(self, call: CallContext, proceed: Proceed) -> Any:
        key = self._key(call)
        if key is None:
            return await proceed(call)
        work = _Work(state_key(call, key), arguments_hash(call), os.urandom(8).hex())
        pause_s = _FIRST_PAUSE_S
        while True:
            verdict, outcome, lease_s = await self._claim(work, call)
            if verdict == "run":
                return await self._run(work, call, proceed)
            if verdict == "done":
                return _replay(outcome, call)
            if verdict == "conflict":
                raise _refused(call, "conflict", IdempotencyConflict())
            if verdict == "lost":
                raise _refused(call, "lost", IdempotencyOutcomeUnknown(effect="unknown"))
            await self._wait(work, call, min(pause_s, lease_s))
            pause_s = min(2 * pause_s, _PAUSE_AT_MOST_S)

    def _key(self, call: CallContext) -> str | None:
        if META_KEY in call.scope.meta:
            return checked_key(call.scope.meta[META_KEY])
        try:
            derived = None if self._options.derive is None else self._options.derive(call)
            return None if derived is None else checked_key(derived)
        except Exception as error:
            raise ToolSystemError(component=f"what derives the idempotency key of '{call.operation}'") from error

    async def _claim(self, work: _Work, call: CallContext) -> tuple[str, str, float]:
        options = self._options
        told = (work.owner, work.arguments, options.lease_s, options.ttl_s, int(call.idempotent))
        if self._state.is_local:
            answer = self._state.change_now(CLAIM, work.key, *told)
        else:
            claiming = begin(self._state.change(CLAIM, work.key, *told))
            try:
                answer = await asyncio.shield(claiming)
            except asyncio.CancelledError:
                begin(self._withdraw(work, claiming))  # or it would look like a call that died at work
                raise
        verdict, outcome, lease_s = answer
        return str(verdict), str(outcome), float(lease_s)

    async def _withdraw(self, work: _Work, claiming: asyncio.Task[Any]) -> None:
        verdict, *_ = await claiming
        if verdict == "run":
            await self._settle(work, "free")

    async def _wait(self, work: _Work, call: CallContext, pause_s: float) -> None:
        """Wait for news of the first call: for its end, if it runs here, else for a while.

        Raises:
            IDEMPOTENCY_IN_PROGRESS: The time of this call is nearly up.
        """
        left_s = _left_s(call)
        if left_s is not None and left_s <= 0:
            raise _refused(call, "in_progress", IdempotencyInProgress(effect="unknown"))
        loop, ended = self._under_way.get(work.key, (None, None))
        if ended is None or loop is not asyncio.get_running_loop():
            await asyncio.sleep(pause_s if left_s is None else min(pause_s, left_s))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(left_s):
                await ended.wait()

    async def _run(self, work: _Work, call: CallContext, proceed: Proceed) -> Any:
        """Do the work and keep what comes of it, whatever that is."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        self._under_way[work.key] = (loop, ended)
        lease = _Lease(loop, self._options.lease_s / 3, lambda: self._settle(work, "running"))
        try:
            try:
                value = await proceed(call)
            except BaseException as raised:
                await self._failed(work, call, raised)
                raise
            await self._keep(work, "done", _kept_value(value, call))
            return value
        finally:
            lease.end()
            if self._under_way.get(work.key) == (loop, ended):  # else a call that took this one for dead has followed
                del self._under_way[work.key]
            ended.set()

    async def _failed(self, work: _Work, call: CallContext, raised: BaseException) -> None:
        """Keep a failure, or free the key if a repetition can do no harm."""
        is_over = call.expired > 0
        is_cancelled = not is_over and is_real_cancellation(raised)
        error = DeadlineExceeded(limit_s=call.bound.timeout_s or 0.0) if is_over else normalize(raised)
        effect: Effect = "none" if call.attempt == 0 else call.worst_effect(error)
        if effect == "none" or call.idempotent:
            phase, outcome = "free", ""
        else:
            phase, outcome = ("lost", "") if is_cancelled else ("done", error_text(error, effect, call))
        if is_over or is_cancelled:
            self._keep_later(work, phase, outcome)
        else:
            await self._keep(work, phase, outcome)

    async def _keep(self, work: _Work, phase: str, outcome: str) -> None:
        if self._state.is_local:
            self._state.change_now(SETTLE, work.key, *self._told(work, phase, outcome))
        else:
            await see_through(self._settle(work, phase, outcome))

    def _keep_later(self, work: _Work, phase: str, outcome: str) -> None:
        """Do the same for a call that must not wait any more."""
        if self._state.is_local:
            self._state.change_now(SETTLE, work.key, *self._told(work, phase, outcome))
        else:
            begin(self._settle(work, phase, outcome))

    async def _settle(self, work: _Work, phase: str, outcome: str = "") -> None:
        await self._state.change(SETTLE, work.key, *self._told(work, phase, outcome))

    def _told(self, work: _Work, phase: str, outcome: str) -> tuple[str | float, ...]:
        return work.owner, work.arguments, phase, outcome, self._options.lease_s, self._options.ttl_s


class _Lease:
    """Tells the store again and again that the work goes on, until it ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, every_s: float, renew: Callable[[], Any]) -> None:
        self._loop = loop
        self._every_s = every_s
        self._renew = renew
        self._timer = loop.call_later(every_s, self._speak)

    def end(self) -> None:
        self._timer.cancel()

    def _speak(self) -> None:
        begin(self._renew())
        self._timer = self._loop.call_later(self._every_s, self._speak)


def _kept_value(value: Any, call: CallContext) -> str:
    """Return the outcome to keep: the value, or what its repetitions are told if it is too large to keep."""
    text, limit = value_text(value, call), call.bound.settings.max_response_bytes
    if len(text) <= limit:
        return text
    return error_text(ResultTooLarge(size_bytes=len(text), limit_bytes=limit), "applied", call)


def _replay(text: str, call: CallContext) -> Any:
    """Answer with the outcome of the first call.

    Raises:
        ToolError: What the first call ended with.
    """
    outcome = read_outcome(text, call.bound.result)
    for warning in outcome.warnings:
        call.warn(warning)
    call.attempt, call.left_behind = outcome.attempts, outcome.effect  # the first call's, of which this is an answer
    call.audit(replayed=True)
    _announce(call, "replayed")
    if outcome.error is not None:
        note_recovery(call, Idempotency.name, "failed")
        call.stop_reason = "effect_possible"
        call.warn("This is the outcome of an earlier call with the same idempotency key; nothing was done now")
        raise outcome.error
    note_recovery(call, Idempotency.name, "recovered")
    call.cache_hit = True
    call.documents_processed = outcome.documents_processed
    first = outcome.receipt
    if first is not None:
        call.recovered(first)
    message = "The outcome of an earlier call with the same idempotency key; nothing was done now"
    is_degraded = first is not None and first.degraded
    call.recovered(RecoveryReceipt(Idempotency.name, message, outcome.attempts, {}, degraded=is_degraded))
    return outcome.value


def _left_s(call: CallContext) -> float | None:
    """Return how long a call may wait, in seconds, and still give an answer that says more than a time-out."""
    remaining_s = call.remaining_s()
    if remaining_s is None:
        return None
    return remaining_s - min(_RESERVE_AT_MOST_S, (call.bound.timeout_s or 0.0) * _RESERVE_RATIO)


def _refused(call: CallContext, verdict: IdempotencyVerdict, error: ToolError) -> ToolError:
    """Return what a call is told that gets no outcome; what the first one may have done counts as its effect."""
    _announce(call, verdict)
    if error.effect == "unknown":
        call.left_behind, call.attempt = "unknown", max(1, call.attempt)
        call.stop_reason = "effect_possible"
    return error


def _announce(call: CallContext, verdict: IdempotencyVerdict) -> None:
    event = IdempotencyEvent(tool=call.tool, operation=call.operation, request_id=call.request_id, verdict=verdict)
    call.bound.events.publish(event)

"""`Idempotency`: runs a call once per idempotency key and replays its outcome to repetitions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Literal, NamedTuple

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.asking import has_no_outcome
from failsoft.framework.call import META_KEY
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed
from failsoft.framework.call.rerun import UNDECIDED, Facts, why_not_rerun, worst
from failsoft.framework.errors import (
    BadOutput,
    DeadlineExceeded,
    IdempotencyInProgress,
    QuotaExhausted,
    StateUnavailable,
    StateUnusable,
    ToolError,
)
from failsoft.framework.events import IdempotencyEvent, IdempotencyVerdict
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.state.backend import StoreLost, WriteRefused
from failsoft.framework.state.records import Records
from failsoft.recovery.idempotency.keys import (
    Derive,
    KeyedHashes,
    checked_key,
    conflict,
    derived_key,
    key_id,
    record_key,
    state_key,
    unknown_outcome,
)
from failsoft.recovery.idempotency.ledger import (
    Claimant,
    Claimed,
    KeyRecord,
    Lease,
    OwnerReport,
    Phase,
    Verdict,
    claim,
    is_dead,
    is_readable,
    new_owner,
)
from failsoft.recovery.idempotency.outcomes import error_text, outcome_text, read_outcome
from failsoft.recovery.strategy import IN_CODE, Gauge, note_recovery, run_in_background, strategy

_FIRST_PAUSE_S = 0.01
_PAUSE_AT_MOST_S = 0.25
_RESERVE_RATIO = 0.05
_RESERVE_AT_MOST_S = 0.25


@strategy
class Idempotency:
    """Stores the outcome of a call under its idempotency key and replays it to every repetition.

    Every operation that is not read-only supports it, for callers that send `_meta["dev.failsoft/idempotency-key"]`;
    list it among the strategies to set options. Without a key it costs one look-up in `_meta`.

    A key is scoped to one caller, one operation and, if there are sessions, one session. The call continues when its
    client disconnects, and a repetition in any process waits for it. Failures are stored, too, except those that
    changed nothing: they free the key. If the first call ended without an outcome, the work is repeated only if the
    operation is declared idempotent or its handler marks its effects (`Call.effect`).

    Args:
        ttl_s: How long an outcome is replayed, in seconds; by default a day.
        lease_s: The lease of the process that does the work, in seconds; it is renewed three times in that time. When
            it expires, the process counts as dead.
        derive: Returns a key for a call without one: any JSON value, or None for no key. An example is
            `lambda call: call.arguments["invoice"]`. Set in code.

    Source: IETF draft "The Idempotency-Key HTTP Header Field".

    Examples:
        >>> by_invoice = Idempotency(ttl_s=3600.0, derive=lambda call: call.arguments["invoice"])
        >>> @operation(recovery=[by_invoice])
        ... async def pay(self, invoice: str) -> str: "Pay an invoice."
    """

    name: ClassVar[str] = "idempotency"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    _: KW_ONLY
    ttl_s: float = 86_400.0
    lease_s: float = 10.0
    derive: Derive | None = field(default=None, metadata=IN_CODE)

    def __post_init__(self) -> None:
        if not (self.ttl_s > 0 and self.lease_s > 0):
            msg = f"Idempotency needs ttl_s > 0 and lease_s > 0, not {self.ttl_s} and {self.lease_s}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link for one operation; one that changes nothing needs none."""
        if bound.read_only:
            return []
        leases = Gauge.of("idempotency_leases", bound)
        calls = _KeyedCalls(self, bound.state.records(bound.tool), leases)
        return [Link(self.name, calls.step, "idempotency")]


class _KeyedWork(NamedTuple):
    """A call with a key.

    Args:
        key: The key of its record.
        ours: As the ledger knows it.
        made_of: The names of the arguments from which the key was derived.
    """

    key: str
    ours: Claimant
    made_of: tuple[str, ...]


class _KeyedCalls:
    """The keyed calls of one operation."""

    def __init__(self, options: Idempotency, records: Records, leases: Gauge) -> None:
        self._options = options
        self._leases = leases
        self._records = records
        self._key: bytes | None = None
        self._under_way: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}
        """Events that wake calls of this process when the call with their key has ended, by key."""

    def step(self, call: Call, proceed: Proceed) -> Awaitable[Any]:
        """Run the call under its key, if it has one; not a coroutine, so that a call without a key costs nothing."""
        if META_KEY in call.scope.meta or self._options.derive is not None:
            return self._keyed(call, proceed)
        return proceed(call)

    async def _keyed(self, call: Call, proceed: Proceed) -> Any:
        work = self._work(call)
        if work is None:
            return await proceed(call)
        call.loop, call.idempotency_key = asyncio.get_running_loop(), work.key
        pause_s, dead = _FIRST_PAUSE_S, ""
        while True:
            verdict, text, lease_s, owner = await self._claim(work, call, dead)
            if verdict == Verdict.RUN and not is_readable(text):
                await self._record(work).report(OwnerReport.UNKNOWN)
                verdict = Verdict.UNKNOWN
            if verdict == Verdict.RUN:
                return await self._run(work, call, proceed, text)
            if verdict == Verdict.SETTLED:
                return _replay(text, call)
            if verdict == Verdict.CONFLICT:
                raise _refused(call, "conflict", conflict(work.ours.arguments.changed(text), work.made_of))
            if verdict == Verdict.UNKNOWN:
                if text:
                    logger.warning("A stored key has arguments hashed with another FAILSOFT_STATE_KEY: it is refused")
                raise _refused(call, "lost", unknown_outcome(call))
            if not self._records.is_local and dead != owner and is_dead(owner):
                dead = owner
                continue
            await self._wait(work, call, min(pause_s, lease_s))
            pause_s = min(2 * pause_s, _PAUSE_AT_MOST_S)

    def _work(self, call: Call) -> _KeyedWork | None:
        made_of: tuple[str, ...] = ()
        key: str | None = None
        if META_KEY in call.scope.meta:
            key = checked_key(call.scope.meta[META_KEY])
        elif self._options.derive is not None:
            key, made_of = derived_key(self._options.derive, call)
        if key is None:
            return None
        begins = Phase.ACCEPTED if call.bound.marks_effects else Phase.RUNNING
        if self._key is None:
            self._key = state_key(call.bound.settings, self._records)
        record = record_key(call, key)
        hashes = KeyedHashes(call, record, self._key)
        ours = Claimant(new_owner(), hashes, begins, self._options.lease_s, self._options.ttl_s, key_id(key, self._key))
        return _KeyedWork(record, ours, made_of)

    async def _claim(self, work: _KeyedWork, call: Call, dead: str) -> Claimed:
        may_repeat = why_not_rerun(Facts(effect="unknown", is_repeatable=call.idempotent)) is None
        claiming = self._records.change(claim, work.key, work.ours, may_repeat, dead, principal=call.principal)
        asked = None if self._records.is_local else run_in_background(claiming)
        try:
            claimed: Claimed = await (claiming if asked is None else asyncio.shield(asked))
        except asyncio.CancelledError:
            if asked is not None:  # otherwise it would look like a call that crashed
                run_in_background(self._withdraw(work, asked))
            raise
        except (StateUnavailable, StateUnusable) as lost:
            if not isinstance(lost.__cause__, WriteRefused):  # then an earlier call with this key may have been made
                _mark_unknown(call)
            if _may_be_claimed(lost):
                run_in_background(self._record(work).keep_trying(OwnerReport.WITHDRAW))
            raise
        return claimed

    async def _withdraw(self, work: _KeyedWork, claiming: asyncio.Task[Any]) -> None:
        """Take the claim of a cancelled call back, if it has made one."""
        with suppress(StateUnusable, QuotaExhausted):
            try:
                verdict, *_ = await claiming
            except StateUnavailable as lost:
                if not _may_be_claimed(lost):
                    return
                verdict = Verdict.RUN
            if verdict == Verdict.RUN:
                await self._record(work).keep(OwnerReport.WITHDRAW)

    def _record(self, work: _KeyedWork, effects: str = "") -> KeyRecord:
        return KeyRecord(self._records, work.key, work.ours, effects)

    async def _wait(self, work: _KeyedWork, call: Call, pause_s: float) -> None:
        """Wait for the end of the first call if it runs in this process, else for the length of a pause.

        Raises:
            IDEMPOTENCY_IN_PROGRESS: The deadline of this call is near.
        """
        left_s = _left_s(call)
        if left_s is not None and left_s <= 0:
            call.idempotency_key = work.key  # the same call is safe
            raise _refused(call, "in_progress", IdempotencyInProgress(effect="unknown"))
        loop, ended = self._under_way.get(work.key, (None, None))
        if ended is None or loop is not asyncio.get_running_loop():
            await asyncio.sleep(pause_s if left_s is None else min(pause_s, left_s))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(left_s):
                await ended.wait()

    async def _run(self, work: _KeyedWork, call: Call, proceed: Proceed, effects: str) -> Any:
        """Run the call and store its outcome, a value or a failure."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        self._under_way[work.key] = (loop, ended)
        record = call.record = self._record(work, effects)
        self._leases.add(1)
        lease = Lease(self._options.lease_s / 3, lambda: record.report(OwnerReport.RENEW))
        try:
            try:
                value = await proceed(call)
            except BaseException as raised:
                await self._failed(record, call, raised)
                raise
            if call.bound.result.is_final(value):
                await record.keep(OwnerReport.DONE, outcome_text(value, call))
            else:  # the call that answers the question has the same key
                await record.keep(OwnerReport.FREE)
            return value
        finally:
            lease.end()
            self._leases.add(-1)
            call.record = None
            if self._under_way.get(work.key) == (loop, ended):  # otherwise a call that took over has replaced it
                del self._under_way[work.key]
            ended.set()

    @staticmethod
    async def _failed(record: KeyRecord, call: Call, raised: BaseException) -> None:
        """Store a failure, or free the key if a repetition is harmless, or release it to the next call."""
        is_over = call.expired > 0
        has_left = not is_over and has_no_outcome(raised)
        error = DeadlineExceeded(limit_s=call.bound.timeout_s or 0.0) if is_over else call.typed(raised)
        effect, outcome = call.effect_of(None if has_left else error), ""
        so_far = worst(effect, "unknown" if record.effects else None)
        if why_not_rerun(Facts(effect=so_far, is_repeatable=call.idempotent)) is None:
            said = OwnerReport.FREE
        elif record.effects and (has_left or effect == "none" or issubclass(type(error), UNDECIDED)):
            said = OwnerReport.RELEASE  # the marks tell the next call which effects to check
        elif has_left:
            said = OwnerReport.UNKNOWN
        else:
            said, outcome = OwnerReport.FAILED, error_text(error, effect, call)
        if is_over:
            run_in_background(record.keep(said, outcome))
        else:
            await record.keep(said, outcome)


def _may_be_claimed(lost: Exception) -> bool:
    """Return whether a claim that failed may have arrived."""
    return isinstance(lost.__cause__, StoreLost) and lost.__cause__.may_be_written


def _replay(text: str, call: Call) -> Any:
    """Answer with the outcome of the first call.

    Raises:
        ToolError: The error of the first call.
    """
    try:
        outcome = read_outcome(text, call.bound.result)
    except (BadOutput, LookupError, TypeError, ValueError, AttributeError) as error:  # damaged, or of other code
        raise _refused(call, "lost", unknown_outcome(call)) from error
    for warning in outcome.warnings:
        call.warn(warning)
    call.attempt, call.effect_so_far = outcome.attempts, outcome.effect  # those of the first call
    call.tell(is_replayed=True)
    call.audit(replayed=True)
    _announce(call, "replayed")
    when = f" at {outcome.at}" if outcome.at else ""
    answered = f"outcome of an earlier call with the same idempotency key{when}; nothing was done now"
    if outcome.error is not None:
        note_recovery(call, Idempotency.name, "failed")
        call.tell(stop_reason="effect_possible")
        call.warn(f"This is the {answered}")
        raise outcome.error
    note_recovery(call, Idempotency.name, "recovered")
    call.tell(cache_hit=True)
    call.tell(documents_processed=outcome.documents_processed)
    first = outcome.receipt
    if first is not None:
        call.recovered(first)
    is_degraded = first is not None and first.degraded
    call.recovered(RecoveryReceipt(Idempotency.name, f"The {answered}", outcome.attempts, {}, degraded=is_degraded))
    return outcome.value


def _left_s(call: Call) -> float | None:
    """Return how long a call may wait, in seconds, so that it ends before its deadline."""
    remaining_s = call.remaining_s()
    if remaining_s is None:
        return None
    return remaining_s - min(_RESERVE_AT_MOST_S, (call.bound.timeout_s or 0.0) * _RESERVE_RATIO)


def _refused(call: Call, verdict: IdempotencyVerdict, error: ToolError) -> ToolError:
    """Return the error of a call without an outcome; an unknown effect of the first call counts as its own."""
    _announce(call, verdict)
    if error.effect == "unknown":
        _mark_unknown(call)
    return error


def _mark_unknown(call: Call) -> None:
    call.effect_so_far, call.attempt = "unknown", max(1, call.attempt)
    call.tell(stop_reason="effect_possible")


def _announce(call: Call, verdict: IdempotencyVerdict) -> None:
    named = {"tool": call.tool, "operation": call.operation, "request_id": call.request_id}
    record = call.bound.state.records(call.bound.tool).key_of(call.idempotency_key or "")
    call.bound.events.publish(IdempotencyEvent(**named, verdict=verdict, record=record))

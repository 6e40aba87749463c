"""May it run again: what a run may have changed, and the first reason against another one, from facts.

Strategies, `Call.retry`, the typed client, idempotency keys and the `retry` of every answer ask here (ADR 0007).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.failure import RetryAdvice
from failsoft.framework.call import META_KEY
from failsoft.framework.errors import (
    CircuitOpen,
    DeadlineExceeded,
    Effect,
    IdempotencyInProgress,
    IdempotencyOutcomeUnknown,
    RetryWhen,
    ToolError,
    ToolSystemError,
)
from failsoft.framework.errors.vocabulary import StopReason

if TYPE_CHECKING:
    from failsoft.framework.call.call import Call


def worst(*effects: Effect | None) -> Effect:
    """Return the combined effect of several runs or statements; None says nothing.

    >>> worst("none", None, "unknown")
    'unknown'
    """
    if "applied" in effects:
        return "applied"
    return "unknown" if "unknown" in effects else "none"


@dataclass(slots=True)
class RunFacts:
    """What is known of one run of a handler that failed.

    Args:
        stated: The effect that its error states; None if it states none.
        is_own: Whether the handler's author states it. A library's exception, or the failure of a call that the handler
            made, knows nothing of what the handler did before.
        atomic: Whether the operation changes everything or nothing, so that a run that raises has changed nothing; one
            that returns has committed.
        marks_effects: Whether the operation declares that its handler marks effects.
        has_begun: Whether one that it marked may have been carried out; one that a service refused was not.
        has_ended: Whether the run is over: a thread outlives a call whose time is up.
    """

    stated: Effect | None = None
    is_own: bool = False
    atomic: bool = False
    marks_effects: bool = False
    has_begun: bool = False
    has_ended: bool = True


def effect_of_run(run: RunFacts) -> Effect:
    """Return what a failed run has changed; a handler that declares nothing begins its effect when it starts.

    >>> effect_of_run(RunFacts(stated="none", is_own=False))
    'unknown'
    """
    if run.stated in ("unknown", "applied") or (run.stated == "none" and run.is_own):
        return worst(run.stated)
    is_undone = run.atomic or (run.marks_effects and not run.has_begun)
    return "none" if is_undone and run.has_ended else "unknown"


def effect_of_failed_run(call: Call, raised: BaseException) -> Effect:
    """Return what the run of a call's handler that ended with this exception has changed."""
    error, bound = call.typed(raised), call.bound
    run = RunFacts(
        stated=error.effect,
        is_own=issubclass(type(raised), ToolError) and not error.effect_is_foreign,
        atomic=bound.atomic and call.handler_done is False,
        marks_effects=bound.marks_effects,
        has_begun=call.effects_begun > 0,
        has_ended=bound.is_async or not issubclass(type(raised), asyncio.CancelledError),
    )
    return effect_of_run(run)


@dataclass(slots=True)  # a named tuple takes ten times as long to read
class Facts:
    """What is known of a failed call when its handler may be run once more, or the caller may send it once more.

    Args:
        effect: The combined effect of all runs, also of those that another error has hidden since.
        is_repeatable: Whether doing the work twice does no harm: it is read-only or idempotent, or for a caller the
            call has an idempotency key.
        retry: When the error allows a retry; None if something else than a wait makes the difference, such as other
            arguments.
        is_circuit_open: Whether the breaker of its dependency refuses all calls.
        runs_left: Further runs allowed; None without a bound.
        was_retried_below: Whether a call below that failed has been run several times.
        is_over: Whether a time limit of the call has expired.
        wait_s: The wait that is asked for before the run, in seconds.
        jitter_s: What the pause adds to it, in seconds; without such a wait it is the whole pause.
        patience_s: The longest wait that may be asked for, in seconds.
        remaining_s: What is left before the deadline, in seconds; None without a deadline.
        has_token: Whether the retry budget has a token.
    """

    effect: Effect = "none"
    is_repeatable: bool = False
    retry: RetryWhen | None = None
    is_circuit_open: bool = False
    runs_left: int | None = None
    was_retried_below: bool = False
    is_over: bool = False
    wait_s: float = 0.0
    jitter_s: float = 0.0
    patience_s: float = float("inf")
    remaining_s: float | None = None
    has_token: bool = True


def could_do_twice(effect: Effect, *, is_repeatable: bool) -> bool:
    """Return whether another run could do work a second time that must be done once."""
    return effect != "none" and not is_repeatable


def why_not_rerun(facts: Facts) -> StopReason | None:  # noqa: PLR0911 - one return a reason
    """Return why the call must not run again, or None if it may.

    Reasons that no option can change come first, so that the most fundamental one is reported. The retry budget comes
    last, because checking it costs a token.

    >>> why_not_rerun(Facts(effect="unknown", retry="after_delay"))
    'effect_possible'
    """
    if facts.is_circuit_open:
        return "circuit_open"
    if facts.retry not in (None, "after_delay"):
        return "not_transient"
    if could_do_twice(facts.effect, is_repeatable=facts.is_repeatable):
        return "effect_possible"
    if facts.was_retried_below or (facts.runs_left is not None and facts.runs_left < 1):
        return "attempts"
    if facts.wait_s > facts.patience_s:
        return "wait_too_long"
    if facts.is_over or (facts.remaining_s is not None and facts.wait_s + facts.jitter_s >= facts.remaining_s):
        return "deadline"
    return None if facts.has_token else "budget"


def require_rerun(call: Call, facts: Facts, error: ToolError | None) -> None:
    """Raise the error of the call, and note the reason, if its handler must not run again.

    Raises:
        ToolError: The error passed, for any reason but the next.
        DEADLINE_EXCEEDED: A time limit of the call has expired.
    """
    reason = why_not_rerun(facts)
    if reason is None:
        return
    call.tell(stop_reason=reason)
    if reason == "deadline":
        raise DeadlineExceeded(limit_s=call.bound.timeout_s or 0.0)
    try:
        raise error or ToolSystemError(component="something that runs a handler twice")
    finally:
        del error  # its traceback holds this frame: a reference cycle


class RunsLeft:
    """Further runs allowed to a call, to all runs of its handler at once, and to the calls that they make: one counter.

    Args:
        most: How many further runs it allows itself; None without a bound.
        above: The counter of the call above, which each run counts against as well.
    """

    __slots__ = ("_above", "_most", "taken")

    def __init__(self, most: int | None, above: RunsLeft | None = None) -> None:
        self._most = most
        self._above = above
        self.taken = 0
        """Further runs so far, those of calls below included."""

    @property
    def left(self) -> int | None:
        """How many further runs may be made now; None without a bound."""
        own = None if self._most is None else max(0, self._most - self.taken)
        above = self.left_above
        if own is None or above is None:
            return above if own is None else own
        return min(own, above)

    @property
    def left_above(self) -> int | None:
        """How many the calls above allow."""
        return None if self._above is None else self._above.left

    def take(self) -> None:
        """Count a further run."""
        self.taken += 1
        if self._above is not None:
            self._above.take()


DEFAULT_WAIT_S = 2.0
_WAIT_AT_MOST_S = 31_536_000.0
"""A year; a longer wait is sent as a year."""
UNDECIDED = (IdempotencyOutcomeUnknown, IdempotencyInProgress)
"""Failures after which the outcome of a key is still open, so that its record keeps none."""
_NEVER = RetryAdvice("never")
_ADVICE: dict[RetryWhen, RetryAdvice] = {"after_fix": RetryAdvice("after_fix"), "never": _NEVER}


def is_repeatable_by_caller(call: Call) -> bool:
    """Return whether the caller does no harm by sending the call again.

    With an idempotency key a repetition does nothing twice; one that got an earlier outcome would only get it again.
    """
    return call.idempotent or (call.idempotency_key is not None and not call.told.is_replayed and call.scope.sends_key)


def retry_of(error: ToolError, *, forbids_repeat: bool) -> RetryAdvice:
    """Return when the caller may send the call again: as the error says, but never if that could do the work twice."""
    when: RetryWhen = "never" if forbids_repeat else error.retry
    if when != "after_delay":
        return _ADVICE.get(when, _NEVER)
    wait: Any = error.retry_after_seconds
    makes_sense = isinstance(wait, (int, float)) and wait >= 0  # NaN is not
    return RetryAdvice("after_delay", round(float(min(wait, _WAIT_AT_MOST_S)), 3) if makes_sense else DEFAULT_WAIT_S)


def repetition_of(call: Call, retry: RetryAdvice, effect: Effect, look: str | None) -> str:
    """Return in words whether a call that has changed something, or may have, may be sent again (ADR 0007).

    Args:
        call: The call.
        retry: When it may be repeated.
        effect: What it has changed: `applied` or `unknown`.
        look: The operation that shows what was done; None if there is none.
    """
    if is_repeatable_by_caller(call) and (retry.when != "never" or call.idempotency_key is not None):
        same = "same call with the same key" if META_KEY in call.scope.meta else "same call"  # a derived key is unseen
        safe = f"The {same} is safe" if call.idempotent else f"Only the {same} is safe"
        return safe if look is None or call.idempotent else f"{safe}; `{look}` shows what was done"
    if look is None:
        return "Do not send the whole call again, even corrected; send only what was surely not done"
    shows = f": `{look}` shows what was done" if effect == "applied" else f" unless `{look}` shows that it was not done"
    return f"Do not send the whole call again{shows}"


def stop_reason_of(error: ToolError, call: Call, effect: Effect) -> StopReason:
    """Return why no further attempt was made after this error, with what the call has changed."""
    if call.told.stop_reason is not None:
        return call.told.stop_reason
    is_circuit_open = error.category == CircuitOpen.category
    if call.attempt == 0 and not is_circuit_open:
        return "rejected"
    facts = Facts(effect, call.read_only or call.idempotent, error.retry, is_circuit_open)
    return why_not_rerun(facts) or "no_strategy"

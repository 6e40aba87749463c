"""Decides whether a failed call may run again: a pure function over facts, independent of any strategy."""

from __future__ import annotations

from typing import Literal, TypeAlias

from failsoft.framework.answer.stop_reason import StopReason
from failsoft.framework.call.call import Call
from failsoft.framework.errors import CircuitOpen, RetryWhen, ToolError
from failsoft.framework.record import record

__all__ = ["Phase", "Situation", "phase_of", "situation_of", "verdict"]

Phase: TypeAlias = Literal["not_sent", "may_have_happened", "happened"]
"""How far the work got, all runs of the call together. A connection that was never made is `not_sent` (ADR 0007)."""

_PHASES: dict[str, Phase] = {"none": "not_sent", "unknown": "may_have_happened", "applied": "happened"}


@record
class Situation:
    """Facts known when a run of a handler has failed.

    Args:
        category: The category of the error.
        retry: When the error class allows a retry; only `after_delay` errors are transient.
        phase: How far the work got.
        is_repeatable: Whether the operation is declared read-only or idempotent.
        attempts_left: Further runs that the strategy may make.
        wait_s: The pause before the next run, in seconds.
        patience_s: The longest pause that the strategy makes, in seconds.
        remaining_s: What is left before the deadline, in seconds; None without a deadline.
    """

    category: str
    retry: RetryWhen
    phase: Phase
    is_repeatable: bool
    attempts_left: int = 1
    wait_s: float = 0.0
    patience_s: float = float("inf")
    remaining_s: float | None = None


def verdict(situation: Situation, *, has_budget: bool = True) -> StopReason | None:  # noqa: PLR0911 - one return a reason
    """Return why the call must not run again, or None if it may.

    Reasons that no option can change come first, so that the most fundamental one is reported. The budget comes last,
    because checking it costs a token.

    Args:
        situation: What is known about the failed call.
        has_budget: Whether the retry budget has a token.

    >>> lost = Situation(category="timeout", retry="after_delay", phase="may_have_happened", is_repeatable=False)
    >>> verdict(lost)
    'effect_possible'
    """
    if situation.category == CircuitOpen.category:
        return "circuit_open"
    if situation.retry != "after_delay":
        return "not_transient"
    if situation.phase != "not_sent" and not situation.is_repeatable:
        return "effect_possible"
    if situation.attempts_left < 1:
        return "attempts"
    if situation.wait_s > situation.patience_s:
        return "wait_too_long"
    if situation.remaining_s is not None and situation.wait_s >= situation.remaining_s:
        return "deadline"
    return None if has_budget else "budget"


def phase_of(error: ToolError, call: Call) -> Phase:
    """Return how far the work got; always `not_sent` for a read-only operation, which is safe to run twice.

    Work may have happened as soon as a handler started that does not declare its effects.
    """
    if call.read_only or call.attempt == 0:
        return "not_sent"
    phase = _PHASES[call.worst_effect(error)]
    return "may_have_happened" if phase == "not_sent" and call.has_begun else phase


def situation_of(
    error: ToolError,
    call: Call,
    *,
    attempts_left: int = 1,
    wait_s: float = 0.0,
    patience_s: float = float("inf"),
) -> Situation:
    """Return the situation of a call after this error."""
    return Situation(
        category=error.category,
        retry=error.retry,
        phase=phase_of(error, call),
        is_repeatable=call.read_only or call.idempotent,
        attempts_left=attempts_left,
        wait_s=wait_s,
        patience_s=patience_s,
        remaining_s=call.remaining_s(),
    )

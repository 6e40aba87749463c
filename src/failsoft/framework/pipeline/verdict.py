"""Determines the effect of a failed call, whether it may be repeated, and why it was not run again."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.failure import RetryAdvice
from failsoft.framework.answer.stop_reason import StopReason
from failsoft.framework.call.call import Call
from failsoft.framework.errors import Effect, ResultTooLarge, RetryWhen, ToolError

__all__ = ["DEFAULT_WAIT_S", "effect_of", "retry_of", "stop_reason_of"]

DEFAULT_WAIT_S = 2.0
_WAIT_AT_MOST_S = 31_536_000.0
"""A year; a longer wait is treated as `never`."""
_ADVICE: dict[RetryWhen, RetryAdvice] = {"after_fix": RetryAdvice("after_fix"), "never": RetryAdvice("never")}


def effect_of(error: ToolError, call: Call) -> Effect:
    """Return whether the failed call changed anything; `unknown` if the handler ran and did not state it."""
    if call.read_only or call.attempt == 0:
        return "none"
    return call.worst_effect(error)


def retry_of(error: ToolError, call: Call, effect: Effect) -> RetryAdvice:
    """Return the error class's retry advice, or `never` if a repetition could do the work twice."""
    if effect != "none" and not call.idempotent:
        asks_for_the_same = error.retry == "after_delay" or isinstance(error, ResultTooLarge)
        if asks_for_the_same:
            return _ADVICE["never"]
    if error.retry != "after_delay":
        return _ADVICE.get(error.retry) or RetryAdvice(error.retry)
    wait: Any = error.retry_after_seconds
    makes_sense = isinstance(wait, (int, float)) and wait >= 0  # NaN is not
    return RetryAdvice("after_delay", round(float(min(wait, _WAIT_AT_MOST_S)), 3) if makes_sense else DEFAULT_WAIT_S)


def stop_reason_of(error: ToolError, call: Call) -> StopReason:
    """Return why no further attempt was made."""
    if call.stop_reason is not None:
        return call.stop_reason
    if call.attempt == 0:
        return "rejected"
    return "no_strategy" if error.retry == "after_delay" else "not_transient"

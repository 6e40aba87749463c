"""What a failure says of repeating its call: whether the caller may, and why it was not run again here."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.failure import RetryAdvice
from failsoft.framework.answer.stop_reason import StopReason
from failsoft.framework.call.call import Call
from failsoft.framework.call.rerun import Facts, caller_retry, why_not_rerun
from failsoft.framework.errors import CircuitOpen, RetryWhen, ToolError

DEFAULT_WAIT_S = 2.0
_WAIT_AT_MOST_S = 31_536_000.0
"""A year; a longer wait is treated as `never`."""

_ADVICE: dict[RetryWhen, RetryAdvice] = {"after_fix": RetryAdvice("after_fix"), "never": RetryAdvice("never")}


def caller_facts(error: ToolError, call: Call) -> Facts:
    """Return what decides whether the caller may send the call again.

    With an idempotency key a repetition does nothing twice; one that got an earlier outcome would only get it again.
    """
    has_key = call.idempotency_key is not None and not call.is_replayed
    return Facts(call.effect_of(error), call.idempotent or has_key, error.retry)


def retry_of(error: ToolError, facts: Facts) -> RetryAdvice:
    """Return the error class's retry advice, or `never` if a repetition could do the work twice."""
    when = caller_retry(facts)
    if when != "after_delay":
        return _ADVICE[when]
    wait: Any = error.retry_after_seconds
    makes_sense = isinstance(wait, (int, float)) and wait >= 0  # NaN is not
    return RetryAdvice("after_delay", round(float(min(wait, _WAIT_AT_MOST_S)), 3) if makes_sense else DEFAULT_WAIT_S)


def stop_reason_of(error: ToolError, call: Call) -> StopReason:
    """Return why no further attempt was made."""
    if call.stop_reason is not None:
        return call.stop_reason
    is_circuit_open = error.category == CircuitOpen.category
    if call.attempt == 0 and not is_circuit_open:
        return "rejected"
    facts = Facts(call.effect_of(error), call.read_only or call.idempotent, error.retry, is_circuit_open)
    return why_not_rerun(facts) or "no_strategy"

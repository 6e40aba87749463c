"""Contexts of concurrent runs of one call: separate while they run, merged when one has decided."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.framework.call.call import Call
from failsoft.framework.call.rerun import worst

__all__ = ["fork", "join"]

_JOINED = (
    *("audit_facts", "cache_hit", "documents_processed", "governance", "handler_done", "idempotent", "raised"),
    *("_typed", "is_retried_below", "read_only", "receipt", "thread_over", "warnings"),
)
"""Attributes that the call copies from the context of a run."""
_FORKED = (
    *("arguments", "audit_facts", "deadline", "error", "governance", "idempotent", "left_behind", "read_only"),
    *("inherited_until", "receipt", "record", "runs_above", "started_at"),
)
"""Initial attributes of the context of a concurrent run."""


def fork(call: Call, number: int) -> Call:
    """Return a separate context for a concurrent run with this number; 0 is the first run."""
    if number:
        call.runs.take()
    made = Call(call.bound, call.params, call.scope, call.handler)
    made._request_id = call.request_id  # noqa: SLF001 - a part of the class, in a file of its own
    made._origin = call  # noqa: SLF001 - the same
    made._runs = call.runs  # noqa: SLF001 - the same
    made.is_counted = number > 0 or call.is_counted
    made.loop = call.loop
    made.attempt = call.attempt + number
    made.warnings = list(call.warnings) if call.warnings else None
    for fact in _FORKED:
        setattr(made, fact, getattr(call, fact))
    return made


def join(call: Call, forks: Sequence[Call], last: Call) -> None:
    """Merge concurrent runs: the number and effects of all, and the facts of the one that decided the result.

    Args:
        call: The call that they are runs of.
        forks: All forks, in the order of their numbers.
        last: The fork whose value or error is that of the call.
    """
    before = call.attempt
    call.attempt += sum(made.attempt - before - number for number, made in enumerate(forks))
    for fact in _JOINED:
        setattr(call, fact, getattr(last, fact))
    call.left_behind = worst(
        *(made.left_behind for made in forks), *(made.effect_of() for made in forks if made.is_running)
    )

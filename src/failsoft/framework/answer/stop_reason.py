"""The reason why a failed call was not run again."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["STOP_REASONS", "StopReason"]

StopReason: TypeAlias = Literal[
    "not_transient",
    "effect_possible",
    "attempts",
    "budget",
    "deadline",
    "wait_too_long",
    "circuit_open",
    "rejected",
    "no_strategy",
]
"""Why a failed call was not attempted again; part of every failure.

- `not_transient`: the error does not go away by waiting.
- `effect_possible`: another attempt could do the work twice.
- `attempts`, `budget`: the number of attempts or the retry budget is used up.
- `deadline`, `wait_too_long`: the wait does not fit before the deadline, or exceeds the longest one allowed.
- `circuit_open`: the breaker of its dependency is open.
- `rejected`: the call was refused before the handler started.
- `no_strategy`: no strategy handles errors of this kind.
"""

STOP_REASONS: tuple[str, ...] = get_args(StopReason)

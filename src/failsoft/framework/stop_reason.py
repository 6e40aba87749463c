"""Why a failed call was not run again: one word that every failure carries."""

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
"""Why a failed call was not, or no longer, run again; every failure says it.

- `not_transient`: waiting does not cure the error.
- `effect_possible`: another run could do the work twice.
- `attempts`, `budget`: as often as was allowed; the retry budget is used up.
- `deadline`, `wait_too_long`: the pause would not fit before the deadline, or is longer than is waited for.
- `circuit_open`: the breaker of its dependency is open.
- `rejected`: the handler was never started.
- `no_strategy`: nothing was set up for errors of this kind.
"""

STOP_REASONS: tuple[str, ...] = get_args(StopReason)

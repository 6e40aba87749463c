"""`Transition`: one atomic step over the state of one key, in Python and, for shared stores, in Lua."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Changed", "State", "Step", "Transition"]

State: TypeAlias = dict[str, Any]
"""The state of one key: names to finite numbers, texts, and flat lists of those. No None, no booleans."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a step: the new state (None deletes it), the answer, and the time to live in seconds."""

    state: State | None
    answer: Any
    ttl_s: float


Step: TypeAlias = Callable[..., Changed]
"""`step(state or None, now_s, *arguments) -> Changed`: pure, so that a store may run it wherever it is atomic. It must
not change the state that it is given."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One atomic step over the state of one key: the same function in Python and, for shared stores, in Lua.

    Numbers are doubles on both sides, so whole numbers stay exact up to 2**53. A test compares
    both renderings of every transition: `tests/recovery/state/test_stores_agree.py`.

    Args:
        name: For logs and for the cache of scripts; unique.
        step: In Python; see `Step`.
        lua: The body of a Lua 5.1 function of `state` (a table or nil), `now` (seconds) and `arguments` (a list), which
            returns the state (or nil), the answer (a number, a text, a list of those, or nil), and the time to live in
            seconds.
    """

    name: str
    step: Step
    lua: str = field(repr=False)

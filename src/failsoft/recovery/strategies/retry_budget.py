"""`RetryBudget`: limits the retries of all calls together, so that they do not amplify an outage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar, Literal

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.chain import Link
from failsoft.framework.state.backend import KEPT, Changed, State
from failsoft.framework.state.store import StateStore
from failsoft.recovery.strategy import state_of, strategy

REFILL_S = 300.0
"""Time in which an empty budget refills to its floor without any calls, in seconds."""
_SPARE = 10.0
_ALMOST = 1e-9


@strategy
class RetryBudget:
    """Bounds the load that `Retry` and `Hedge` add to a dependency, over all its calls.

    A token bucket: every success adds `ratio` tokens, every retry takes one. During an outage nothing is added: a
    thousand calls with up to three attempts each cause at most 1.02 times as many runs, instead of three times.

    Args:
        ratio: Retries per successful run: 0.2 allows one for five successes.
        floor: The initial number of tokens, to which an empty budget refills within five minutes.
        dependency: The dependency that the retries load; budgets with the same name are one budget with the same
            options. By default every operation of a toolset has its own, under `<toolset>.<operation>`.

    Raises:
        ValueError: The options are invalid.

    Source: Twitter Finagle, `RetryBudget`; M. Brooker, "Fixing retries with token buckets and circuit breakers", 2022.

    Examples:
        >>> @operation(read_only=True, recovery=[Retry(attempts=3), RetryBudget(ratio=0.2, dependency="shop")])
        ... async def get_order(self, number: int) -> str: "Return an order."
    """

    name: ClassVar[str] = "retry_budget"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    ratio: float = 0.2
    floor: float = 10.0
    _: KW_ONLY
    dependency: str | None = None

    def __post_init__(self) -> None:
        if not (0 <= self.ratio <= 1) or not (0 <= self.floor < math.inf) or self.floor + self.ratio == 0:
            msg = f"RetryBudget needs 0 <= ratio <= 1 and a finite floor >= 0, not both 0, not {self}"
            raise ValueError(msg)

    @property
    def ceiling(self) -> float:
        """The upper bound of tokens, so that a long healthy period cannot pay for a retry storm."""
        return self.floor + max(self.floor, _SPARE)

    def links(self, bound: BoundOperation) -> Sequence[Link]:  # noqa: ARG002 - the protocol's signature
        """Return no link: `Retry` and `Hedge` take tokens from the ledger, and successful runs add to it."""
        return []

    def ledger(self, bound: BoundOperation) -> Ledger:
        """Return the ledger that this operation shares with others of its dependency."""
        store, dependency = state_of(bound, self.dependency)
        key = f"budget:{dependency}"

        def make() -> Ledger:
            made = Ledger(store, key, dependency, self)
            refresh = None if store.is_local else made.refresh
            bound.gauges.add("mcp_retry_budget_tokens", made.read, refresh=refresh)
            return made

        ledger = store.companion(key, make)
        ledger.budget = self  # a reload may have changed its options
        return ledger


class Ledger:
    """One budget as seen by this process. Deposits are collected and sent with the next withdrawal."""

    __slots__ = ("__weakref__", "_deposits", "_key", "_store", "_tokens", "budget", "dependency")

    def __init__(self, store: StateStore, key: str, dependency: str, budget: RetryBudget) -> None:
        self._store = store
        self._key = key
        self._deposits = 0
        self._tokens = budget.floor
        self.dependency = dependency
        self.budget = budget

    def count(self) -> None:
        """Count a successful run."""
        self._deposits += 1

    async def withdraw(self) -> bool:
        """Take one token for a retry; return whether there was one."""
        deposits, self._deposits = self._deposits, 0
        store, step = self._store, (withdraw, self._key, deposits, *self._limits())
        granted, self._tokens = store.change_now(*step) if store.is_local else await store.change(*step)
        return bool(granted)

    async def refresh(self) -> None:
        """Ask a shared store for the tokens."""
        self._tokens = await self._store.change(remaining, self._key, 0, *self._limits())

    def read(self) -> dict[tuple[str, ...], float]:
        """Return the tokens under the dependency."""
        if self._store.is_local:
            self._tokens = self._store.change_now(remaining, self._key, 0, *self._limits())
        tokens = max(self._tokens, min(self.budget.ceiling, self._tokens + self.budget.ratio * self._deposits))
        return {(self.dependency,): tokens}

    def _limits(self) -> tuple[float, float, float, float]:
        budget = self.budget
        return budget.ratio, budget.floor, budget.ceiling, REFILL_S


def withdraw(
    state: State | None, now: float, deposits: int, ratio: float, floor: float, ceiling: float, refill_s: float
) -> Changed:
    """Add deposits and the refill, then take a token; the answer is whether there was one, and how many are left."""
    tokens = remaining(state, now, deposits, ratio, floor, ceiling, refill_s).answer
    granted = 0
    if tokens >= 1.0 - _ALMOST:
        tokens, granted = max(0.0, tokens - 1.0), 1
    elif state is not None and not deposits and state["at"] <= now:  # the refill is reckoned from `at` the next time
        return Changed(KEPT, [granted, tokens])
    return Changed({"tokens": tokens, "at": now}, [granted, tokens], 2.0 * refill_s)


def remaining(
    state: State | None, now: float, deposits: int, ratio: float, floor: float, ceiling: float, refill_s: float
) -> Changed:
    """Answer with the number of tokens after deposits and the refill, and change nothing."""
    tokens = floor if state is None else state["tokens"]
    if state is not None and tokens < floor:
        tokens = min(floor, tokens + max(0.0, now - state["at"]) * floor / refill_s)
    return Changed(KEPT, max(tokens, min(ceiling, tokens + deposits * ratio)))

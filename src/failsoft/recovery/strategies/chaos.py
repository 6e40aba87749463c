"""`Chaos`: seeded fault injection, to test recovery."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed
from failsoft.framework.errors import Unavailable
from failsoft.recovery.facts import StrategyFacts

MakeError: TypeAlias = Callable[[], BaseException]
CallFilter: TypeAlias = Callable[[Call], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosOptions:
    """Which faults are injected, and how often. Each share is an independent probability between 0 and 1.

    Args:
        seed: The same seed gives the same sequence of faults for an operation.
        fault: Share of runs that raise `error` in the handler's place.
        lost: Share of runs whose answer is lost: `error` is raised after the handler has done its work.
        wrong: Share of runs that return `outcome` in the handler's place.
        cancelled: Share of runs that raise `CancelledError`, as a handler does whose own work was cancelled.
        latency_s: The delay before a run, in seconds.
        latency: Share of runs that are delayed.
    """

    seed: int
    fault: float = 0.0
    lost: float = 0.0
    wrong: float = 0.0
    cancelled: float = 0.0
    latency_s: float = 0.0
    latency: float = 1.0

    def __post_init__(self) -> None:
        shares = (self.fault, self.lost, self.wrong, self.cancelled, self.latency)
        if not all(0 <= share <= 1 for share in shares) or not 0 <= self.latency_s < float("inf"):
            msg = f"Chaos needs shares between 0 and 1 and a finite latency_s >= 0, not {self}"
            raise ValueError(msg)


class Chaos:
    """Injects faults into runs of the handler, innermost in the chain, so that all other links see them as real.

    It does nothing unless it is listed, and affects only the calls that `gate` selects. A fault counts as a run of the
    handler: attempts, retries, breakers and effects are those of a handler that failed.

    Args:
        seed: See `ChaosOptions`.
        fault: See `ChaosOptions`.
        latency_s: See `ChaosOptions`.
        latency: See `ChaosOptions`.
        lost: See `ChaosOptions`.
        wrong: See `ChaosOptions`.
        cancelled: See `ChaosOptions`.
        error: Returns the error of a fault; may be an error class.
        outcome: The wrong value; by default an object that fits no declared type.
        gate: Selects the affected calls by their context (principal, arguments, `_meta`); by default all.
    """

    name = "chaos"
    facts = StrategyFacts(
        options=ChaosOptions,
        place="chaos",
        use=(
            "you want to see that everything outside copes with faults: in tests, or for a share of calls behind "
            "a gate."
        ),
        not_for="production servers without a gate.",
        example={"seed": 1, "fault": 0.1},
        single_for="operation",
    )

    def __init__(  # noqa: PLR0913 - one share for each fault
        self,
        seed: int,
        *,
        fault: float = 0.0,
        latency_s: float = 0.0,
        latency: float = 1.0,
        lost: float = 0.0,
        wrong: float = 0.0,
        cancelled: float = 0.0,
        error: MakeError = Unavailable,
        outcome: Any = None,
        gate: CallFilter | None = None,
    ) -> None:
        self.options = ChaosOptions(
            seed=seed, fault=fault, lost=lost, wrong=wrong, cancelled=cancelled, latency_s=latency_s, latency=latency
        )
        self._error = error
        self._outcome = _NoSuchValue() if outcome is None else outcome
        self._gate = gate

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link, with a separate sequence of faults for this operation."""
        faults = _FaultSequence(self.options, f"{self.options.seed}:{bound.tool_name}.{bound.name}")
        return [Link(self.name, _Disturbance(faults, self._error, self._outcome, self._gate).step, "chaos")]


class _NoSuchValue:
    """A value that fits no declared result type."""


@dataclass(frozen=True, slots=True)
class _InjectedFault:
    """The delay and the fault of one run."""

    delay_s: float
    kind: str


class _FaultSequence:
    """The faults of one operation. Every run draws the same number of random values, so options do not shift it."""

    def __init__(self, options: ChaosOptions, seed: str) -> None:
        self._options = options
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose

    def next(self) -> _InjectedFault:
        options = self._options
        shares = {"fault": options.fault, "cancelled": options.cancelled, "wrong": options.wrong, "lost": options.lost}
        delayed = self._random.random() < options.latency
        kinds = [kind for kind, share in shares.items() if self._random.random() < share]
        return _InjectedFault(options.latency_s if delayed else 0.0, kinds[0] if kinds else "")


class _Disturbance:
    """The link of one operation."""

    def __init__(self, faults: _FaultSequence, error: MakeError, outcome: Any, gate: CallFilter | None) -> None:
        self._faults = faults
        self._error = error
        self._outcome = outcome
        self._gate = gate

    async def step(self, call: Call, proceed: Proceed) -> Any:
        """Run the handler or its replacement."""
        if self._gate is not None and not self._gate(call):
            return await proceed(call)
        fault = self._faults.next()
        if fault.delay_s > 0:
            await asyncio.sleep(fault.delay_s)
        stand_in = self._stand_in(fault.kind)
        if stand_in is None:
            value = await proceed(call)
            if fault.kind == "lost":
                raise self._error()
            return value
        handler, call.handler = call.handler, stand_in
        try:
            return await proceed(call)
        finally:
            call.handler = handler

    def _stand_in(self, kind: str) -> Callable[[], Awaitable[Any]] | None:
        """Return the replacement for the handler; None to run the handler itself."""

        async def fail() -> Any:
            raise self._error()

        async def answer_wrongly() -> Any:
            return self._outcome

        async def be_cancelled() -> Any:
            raise asyncio.CancelledError

        return {"fault": fail, "wrong": answer_wrongly, "cancelled": be_cancelled}.get(kind)

"""`Chaos`: faults on purpose, seeded, so that what should survive them can be seen to do so."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from failsoft.framework.chain import Link, Proceed
from failsoft.framework.context import CallContext
from failsoft.framework.errors import Unavailable
from failsoft.framework.ports import CalledOperation

__all__ = ["Chaos", "ChaosOptions"]

MakeError: TypeAlias = Callable[[], BaseException]
Gate: TypeAlias = Callable[[CallContext], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosOptions:
    """What goes wrong, and how often. Shares are between 0 and 1, each by itself.

    Args:
        seed: The same seed, the same faults, run by run of an operation.
        fault: Share of runs that raise `error` in the handler's place.
        lost: Share of runs whose handler does its work and whose answer is lost: `error` is raised after it.
        wrong: Share of runs that return `outcome` in the handler's place.
        cancelled: Share of runs that raise `CancelledError`, as a handler does whose own work was cancelled.
        latency_s: How long a run is held up before it begins, in seconds.
        latency: Share of runs that are held up.
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
    """Breaks runs of the handler, innermost in the chain, so that everything outside has to cope as with real faults.

    It does nothing unless it is listed, and touches only the calls that the gate lets in. A fault counts as a run of
    the handler: attempts, retries, breakers and effects are those of a handler that failed.

    Args:
        seed: See `ChaosOptions`.
        fault: See `ChaosOptions`.
        latency_s: See `ChaosOptions`.
        latency: See `ChaosOptions`.
        lost: See `ChaosOptions`.
        wrong: See `ChaosOptions`.
        cancelled: See `ChaosOptions`.
        error: Makes the error of a fault; an error class will do.
        outcome: The wrong value; by default an object that fits no declared type.
        gate: Which calls are touched, by their context (principal, arguments, `_meta`); by default all.
    """

    name = "chaos"

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
        gate: Gate | None = None,
    ) -> None:
        self.options = ChaosOptions(
            seed=seed, fault=fault, lost=lost, wrong=wrong, cancelled=cancelled, latency_s=latency_s, latency=latency
        )
        self._error = error
        self._outcome = _NoSuchValue() if outcome is None else outcome
        self._gate = gate

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link, with a sequence of faults for this operation alone."""
        faults = _Faults(self.options, f"{self.options.seed}:{bound.tool_name}.{bound.name}")
        return [Link(self.name, _Disturbance(faults, self._error, self._outcome, self._gate).step, "chaos")]


class _NoSuchValue:
    """A value that nobody declares."""


@dataclass(frozen=True, slots=True)
class _Fate:
    """What happens to one run."""

    delay_s: float
    kind: str


class _Faults:
    """The faults of one operation, run by run. Each takes as many numbers as any other, so none shifts the rest."""

    def __init__(self, options: ChaosOptions, seed: str) -> None:
        self._options = options
        self._random = random.Random(seed)  # noqa: S311 - repeatable is what it is for

    def next(self) -> _Fate:
        options = self._options
        shares = {"fault": options.fault, "cancelled": options.cancelled, "wrong": options.wrong, "lost": options.lost}
        delayed = self._random.random() < options.latency
        kinds = [kind for kind, share in shares.items() if self._random.random() < share]
        return _Fate(options.latency_s if delayed else 0.0, kinds[0] if kinds else "")


class _Disturbance:
    """The link of one operation."""

    def __init__(self, faults: _Faults, error: MakeError, outcome: Any, gate: Gate | None) -> None:
        self._faults = faults
        self._error = error
        self._outcome = outcome
        self._gate = gate

    async def step(self, call: CallContext, proceed: Proceed) -> Any:
        """Run the handler, or what stands in its place."""
        if self._gate is not None and not self._gate(call):
            return await proceed(call)
        fate = self._faults.next()
        if fate.delay_s > 0:
            await asyncio.sleep(fate.delay_s)
        stand_in = self._stand_in(fate.kind)
        if stand_in is None:
            value = await proceed(call)
            if fate.kind == "lost":
                raise self._error()
            return value
        handler, call.handler = call.handler, stand_in
        try:
            return await proceed(call)
        finally:
            call.handler = handler

    def _stand_in(self, kind: str) -> Callable[[], Awaitable[Any]] | None:
        """Return what runs in the handler's place; None if the handler itself does."""

        async def fail() -> Any:
            raise self._error()

        async def answer_wrongly() -> Any:
            return self._outcome

        async def be_cancelled() -> Any:
            raise asyncio.CancelledError

        return {"fault": fail, "wrong": answer_wrongly, "cancelled": be_cancelled}.get(kind)

"""`Chaos`: seeded fault injection, to test recovery."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed
from failsoft.framework.captures.trail import script_of, trail_of
from failsoft.framework.errors import Unavailable
from failsoft.recovery.strategy import IN_CODE, strategy

MakeError: TypeAlias = Callable[[], BaseException]
CallFilter: TypeAlias = Callable[[Call], bool]


class _NoSuchValue:
    """A value that fits no declared result type."""


@strategy
class Chaos:
    """Injects faults into runs of the handler, innermost in the chain, so that all other links see them as real.

    It does nothing unless it is listed, and affects only the calls that `gate` selects. A fault counts as a run of the
    handler: attempts, retries, breakers and effects are those of a handler that failed. Each share is an independent
    probability between 0 and 1.

    Args:
        seed: The same seed gives the same sequence of faults for an operation.
        fault: Share of runs that raise `error` in the handler's place.
        latency_s: The delay before a run, in seconds.
        latency: Share of runs that are delayed.
        lost: Share of runs whose answer is lost: `error` is raised after the handler has done its work.
        wrong: Share of runs that return `outcome` in the handler's place.
        cancelled: Share of runs that raise `CancelledError`, as a handler does whose own work was cancelled.
        error: Returns the error of a fault; may be an error class. Set in code.
        outcome: The wrong value; None is an object that fits no declared type. Set in code.
        gate: Selects the affected calls by their context (principal, arguments, `_meta`); None selects all. Set in
            code.

    Examples:
        >>> @operation(read_only=True, recovery=[Retry(attempts=3), Chaos(seed=7, fault=0.2, lost=0.05)])
        ... async def get_order(self, number: int) -> str: "Return an order."
    """

    name: ClassVar[str] = "chaos"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    seed: int
    _: KW_ONLY
    fault: float = 0.0
    latency_s: float = 0.0
    latency: float = 1.0
    lost: float = 0.0
    wrong: float = 0.0
    cancelled: float = 0.0
    error: MakeError = field(default=Unavailable, metadata=IN_CODE)
    outcome: Any = field(default=None, metadata=IN_CODE)
    gate: CallFilter | None = field(default=None, metadata=IN_CODE)

    def __post_init__(self) -> None:
        shares = (self.fault, self.lost, self.wrong, self.cancelled, self.latency)
        if not all(0 <= share <= 1 for share in shares) or not 0 <= self.latency_s < float("inf"):
            msg = f"Chaos needs shares between 0 and 1 and a finite latency_s >= 0, not {self}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link, with a separate sequence of faults for this operation."""
        return [Link(self.name, _Disturbance(self, bound).step, "chaos")]


@dataclass(frozen=True, slots=True)
class _InjectedFault:
    """The delay and the fault of one run."""

    delay_s: float
    kind: str


class _Disturbance:
    """The link of one operation with its sequence of faults.

    Every run draws the same number of random values, so that options do not shift the sequence.
    """

    def __init__(self, chaos: Chaos, bound: BoundOperation) -> None:
        self._chaos = chaos
        self._outcome = _NoSuchValue() if chaos.outcome is None else chaos.outcome
        self._random = random.Random(f"{chaos.seed}:{bound.tool_name}.{bound.name}")  # noqa: S311 - repeatable on purpose

    def _next(self) -> _InjectedFault:
        chaos = self._chaos
        shares = {"fault": chaos.fault, "cancelled": chaos.cancelled, "wrong": chaos.wrong, "lost": chaos.lost}
        delayed = self._random.random() < chaos.latency
        kinds = [kind for kind, share in shares.items() if self._random.random() < share]
        return _InjectedFault(chaos.latency_s if delayed else 0.0, kinds[0] if kinds else "")

    async def step(self, call: Call, proceed: Proceed) -> Any:
        """Run the handler or its replacement."""
        if self._chaos.gate is not None and not self._chaos.gate(call):
            return await proceed(call)
        script = script_of(call)
        fault = self._next() if script is None else _InjectedFault(*script.fault(call))
        if (trail := trail_of(call)) is not None:
            trail.note_fault(call, fault.delay_s, fault.kind)
        if fault.delay_s > 0:
            await asyncio.sleep(fault.delay_s)
        stand_in = self._stand_in(fault.kind)
        if stand_in is None:
            value = await proceed(call)
            if fault.kind == "lost":
                raise self._chaos.error()
            return value
        handler, call.handler = call.handler, stand_in
        try:
            return await proceed(call)
        finally:
            call.handler = handler

    def _stand_in(self, kind: str) -> Callable[[], Awaitable[Any]] | None:
        """Return the replacement for the handler; None to run the handler itself."""

        async def fail() -> Any:
            raise self._chaos.error()

        async def answer_wrongly() -> Any:
            return self._outcome

        async def be_cancelled() -> Any:
            raise asyncio.CancelledError

        return {"fault": fail, "wrong": answer_wrongly, "cancelled": be_cancelled}.get(kind)

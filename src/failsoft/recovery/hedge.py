"""`Hedge`: a second run of a slow handler beside the first; whichever answers first is taken."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.chain import Link, Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import CalledOperation
from failsoft.recovery.noting import note_recovery

__all__ = ["Hedge", "HedgeOptions"]


@dataclass(frozen=True, slots=True)
class HedgeOptions:
    """When and how often.

    Args:
        delay_s: How long a run may take before another one starts beside it, in seconds; about the 95th percentile of
            what it usually takes, so that one call in twenty is hedged.
        extra: Further runs at most, at least 1.
    """

    delay_s: float
    extra: int = 1

    def __post_init__(self) -> None:
        if not (self.delay_s >= 0 and math.isfinite(self.delay_s)) or self.extra < 1:
            msg = f"Hedge needs a finite delay_s >= 0 and extra >= 1, not {self}"
            raise ValueError(msg)


class Hedge:
    """Starts the handler once more if it has not answered after a delay, and takes the first answer.

    It cuts the slow tail of calls to a service with several servers behind it, at the price of some calls made twice.
    So it is for read-only and idempotent operations only, and every further run needs a token of the retry budget,
    where there is one. The losers are cancelled and waited for; a sync handler runs on in its thread.
    It does not replace `Retry`: a run that fails while no other is under way has failed.

    Args:
        delay_s: See `HedgeOptions`.
        extra: See `HedgeOptions`.

    Source: J. Dean and L. A. Barroso, "The Tail at Scale", 2013.
    """

    name = "hedge"

    def __init__(self, delay_s: float, extra: int = 1) -> None:
        self.options = HedgeOptions(delay_s, extra)

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link.

        Raises:
            CONFIG_ERROR: The operation changes something each time it runs, or its deadline comes before the delay.
        """
        if not (bound.read_only or bound.idempotent):
            raise ConfigurationError(
                issue=f"'{bound.name}' is neither read-only nor idempotent, so Hedge could do its work twice",
                resolution="declare read_only=True or idempotent=True if that is true, or take Hedge away",
            )
        if bound.timeout_s is not None and self.options.delay_s >= bound.timeout_s:
            raise ConfigurationError(
                issue=f"'{bound.name}' has {bound.timeout_s:g} seconds, and Hedge waits {self.options.delay_s:g}",
                resolution="lower delay_s, or raise the operation's timeout",
            )
        return [Link(self.name, _hedged(self.options), "hedge")]


def _hedged(options: HedgeOptions) -> Step:
    async def step(call: CallContext, proceed: Proceed) -> Any:
        return await _Race(call, proceed, options).outcome()

    return step


class _Run:
    """One of the runs: its own context, its task, and what came of it."""

    __slots__ = ("error", "fork", "task", "value")

    def __init__(self, fork: CallContext, proceed: Proceed) -> None:
        self.fork = fork
        self.value: Any = None
        self.error: BaseException | None = asyncio.CancelledError()  # of a task that never got to run
        self.task = asyncio.create_task(self._follow(proceed))

    async def _follow(self, proceed: Proceed) -> None:
        """Run to the end. Nothing is raised: a `SystemExit` that leaves a task would end the event loop."""
        try:
            self.value = await proceed(self.fork)
        except BaseException as raised:  # noqa: BLE001 - told by whoever waits for the run
            self.error = raised
        else:
            self.error = None

    @property
    def decides(self) -> bool:
        """Whether there is nothing better to wait for: a value, or an error that another run would repeat."""
        return self.error is None or normalize(self.error).retry != "after_delay"


class _Race:
    """The runs of one call."""

    __slots__ = ("_call", "_options", "_proceed", "_runs")

    def __init__(self, call: CallContext, proceed: Proceed, options: HedgeOptions) -> None:
        self._call = call
        self._proceed = proceed
        self._options = options
        self._runs: list[_Run] = []

    async def outcome(self) -> Any:
        """Return the first value; raise what the first run raised if there is none."""
        self._start()
        last = self._runs[0]
        try:
            last = await self._decision()
        finally:
            try:
                await self._end()
            finally:
                self._call.join([run.fork for run in self._runs], last.fork)
        if len(self._runs) > 1:
            self._report(last)
        if last.error is None:
            return last.value
        try:
            raise last.error
        finally:
            del last  # the error's traceback holds this frame: only the garbage collector could part the two
            self._runs.clear()

    def _start(self) -> None:
        self._runs.append(_Run(self._call.fork(len(self._runs)), self._proceed))

    async def _start_extra(self) -> bool:
        """Start one more run, if the budget has a token for it."""
        budget = self._call.bound.budget
        may_start = budget is None or await budget.withdraw()
        if may_start:
            self._start()
        return may_start

    async def _decision(self) -> _Run:
        """Wait for the run that decides, and start further ones as the delay passes."""
        left = self._options.extra
        while under_way := [run.task for run in self._runs if not run.task.done()]:
            delay_s = self._options.delay_s if left else None
            done, _ = await asyncio.wait(under_way, timeout=delay_s, return_when=asyncio.FIRST_COMPLETED)
            for run in self._runs:
                if run.task in done and run.decides:
                    return run
            if not done:
                left = left - 1 if await self._start_extra() else 0
        return self._runs[0]

    async def _end(self) -> None:
        """Cancel the runs that are still under way and wait until they are over, whoever cancels meanwhile."""
        under_way = [run for run in self._runs if not run.task.done()]
        for run in under_way:
            run.fork.expired = self._call.expired
            run.task.cancel()
        cancelled: asyncio.CancelledError | None = None
        while not all(run.task.done() for run in under_way):
            try:
                await asyncio.wait([run.task for run in under_way])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _report(self, last: _Run) -> None:
        helped = last is not self._runs[0] and last.error is None
        note_recovery(self._call, Hedge.name, "recovered" if helped else "failed")

"""`Hedge`: starts a second run of a slow handler and takes the first answer."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from failsoft.framework.asking import has_no_outcome
from failsoft.framework.asking.waiting import asked_in
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.call.rerun import Facts, why_not_rerun
from failsoft.framework.errors import ConfigurationError
from failsoft.recovery.strategy import Gauge, hold, note_recovery, strategy

_SAMPLES = 200
_LEAST_SAMPLES = 20
_LATER = 1.05
"""Factor on the percentile, so that a run of ordinary length is not hedged."""
_PARTING_S = 0.01
"""How long to wait for cancelled runs, in seconds; most end at once."""


@strategy
class Hedge:
    """Starts the handler once more if it has not answered after a delay, and takes the first answer.

    It reduces the tail latency of a replicated service at the cost of some duplicate calls. It is for read-only and
    idempotent operations only, and every extra run needs a token of the retry budget, if there is one. The other runs
    are cancelled without waiting for them; a sync handler keeps running in its thread.
    It does not replace `Retry`: a run that fails while no other is in flight is not repeated.

    Args:
        delay_s: How long a run may take before another one is started, in seconds; None: the `percentile` of recent
            runs.
        percentile: The percentile of the durations of recent runs, above 0 and below 1: at 0.95 one call in twenty is
            hedged. With fewer than 20 runs none is.
        extra: The largest number of extra runs, at least 1.

    Raises:
        ValueError: The options are invalid.

    Source: J. Dean and L. A. Barroso, "The Tail at Scale", 2013.

    Examples:
        >>> @operation(read_only=True, recovery=[Hedge(delay_s=0.2), RetryBudget(ratio=0.1)])
        ... async def get_order(self, number: int) -> str: "Return an order."
    """

    name: ClassVar[str] = "hedge"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    delay_s: float | None = None
    percentile: float = 0.95
    extra: int = 1

    def __post_init__(self) -> None:
        is_delay = self.delay_s is None or (self.delay_s >= 0 and math.isfinite(self.delay_s))
        if not (is_delay and 0 < self.percentile < 1 and self.extra >= 1):
            msg = f"Hedge needs a finite delay_s >= 0, 0 < percentile < 1 and extra >= 1, not {self}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link.

        Raises:
            CONFIG_ERROR: The operation changes something each time it runs, or its deadline comes before the delay.
        """
        if why_not_rerun(Facts(effect="unknown", is_repeatable=bound.read_only or bound.idempotent)) is not None:
            raise ConfigurationError(
                issue=f"'{bound.name}' is neither read-only nor idempotent, so Hedge could do its work twice",
                resolution="declare read_only=True or idempotent=True if that is true, or remove Hedge",
            )
        delay_s = self.delay_s or 0.0
        if bound.timeout_s is not None and delay_s >= bound.timeout_s:
            raise ConfigurationError(
                issue=f"'{bound.name}' has {bound.timeout_s:g} seconds, and Hedge waits {delay_s:g}",
                resolution="lower delay_s, or raise the operation's timeout",
            )
        return [Link(self.name, _hedged(self, Gauge.of("hedges_running", bound)), "hedge")]


def _hedged(hedge: Hedge, running: Gauge) -> Step:
    durations = _Durations(hedge.percentile)

    async def step(call: Call, proceed: Proceed) -> Any:
        delay_s = hedge.delay_s if hedge.delay_s is not None else durations.delay_s
        loop = asyncio.get_running_loop()
        began = loop.time()
        if delay_s is None:  # too few runs yet: only measure this one
            value = await proceed(call)
        else:
            value = await _Race(call, proceed, delay_s, hedge.extra, running).outcome()
        if hedge.delay_s is None:
            durations.note(loop.time() - began)
        return value

    return step


class _Durations:
    """Durations of recent runs and their percentile."""

    def __init__(self, percentile: float) -> None:
        self._percentile = percentile
        self._last: deque[float] = deque(maxlen=_SAMPLES)
        self._since = 0
        self.delay_s: float | None = None

    def note(self, seconds: float) -> None:
        self._last.append(seconds)
        self._since += 1
        if len(self._last) >= _LEAST_SAMPLES and (self.delay_s is None or self._since >= _LEAST_SAMPLES):
            self._since = 0
            place = min(len(self._last) - 1, int(self._percentile * len(self._last)))
            self.delay_s = _LATER * sorted(self._last)[place]


class _Run:
    """One of the runs: its own context, its task and its outcome."""

    __slots__ = ("error", "fork", "task", "value")

    def __init__(self, fork: Call, proceed: Proceed) -> None:
        self.fork = fork
        self.value: Any = None
        self.error: BaseException | None = asyncio.CancelledError()  # of a task that was cancelled before it started
        self.task = asyncio.create_task(self._follow(proceed))

    async def _follow(self, proceed: Proceed) -> None:
        """Run the handler and store its outcome; a `SystemExit` that escapes a task would stop the event loop."""
        try:
            self.value = await proceed(self.fork)
        except BaseException as raised:  # noqa: BLE001 - raised later by `outcome`
            self.error = raised
        else:
            self.error = None

    @property
    def decides(self) -> bool:
        """Whether this outcome ends the hedging: a value, or an error that another run would repeat."""
        if self.error is None or has_no_outcome(self.error):
            return True
        return why_not_rerun(Facts(retry=self.fork.typed(self.error).retry)) is not None

    def forget(self) -> None:
        """Break the reference cycles of its error, whose traceback refers to this run and its context."""
        self.error = None
        self.fork.forget_errors()


class _Race:
    """The runs of one call."""

    __slots__ = ("_call", "_delay_s", "_extra", "_proceed", "_running", "_runs")

    def __init__(self, call: Call, proceed: Proceed, delay_s: float, extra: int, running: Gauge) -> None:
        self._call = call
        self._proceed = proceed
        self._delay_s = delay_s
        self._extra = extra
        self._running = running
        self._runs: list[_Run] = []

    async def outcome(self) -> Any:
        """Return the first value; if there is none, raise the exception of the first run."""
        self._start()
        last = self._runs[0]
        is_decided = False
        try:
            last = await self._decision()
            is_decided = True
        finally:
            try:
                await self._end(is_awaited=not is_decided)
            finally:
                self._call.join([run.fork for run in self._runs], last.fork)
        if len(self._runs) > 1:
            helped = last is not self._runs[0] and last.error is None
            note_recovery(self._call, Hedge.name, "recovered" if helped else "failed")
        value, error = last.value, last.error
        for run in self._runs:
            run.forget()
        if error is None:
            return value
        try:
            raise error
        finally:
            del error  # its traceback holds this frame: a reference cycle

    def _start(self) -> None:
        self._runs.append(_Run(self._call.fork(len(self._runs)), self._proceed))

    async def _start_extra(self) -> bool:
        """Start one more run, if the call may run again beside its other runs, and the budget has a token for it."""
        budget = self._call.bound.chain.recovery.budget
        may_start = self._may_run_again() and (budget is None or await budget.withdraw()) and self._may_run_again()
        if may_start:
            self._start()
            self._running.add(1)
            self._runs[-1].task.add_done_callback(lambda _: self._running.add(-1))
        return may_start

    def _may_run_again(self) -> bool:
        """Return whether no run has left an effect that another could repeat; a handler may narrow its declaration.

        None once a run has asked a person: another could not ask, and would fail while the person thinks.
        """
        return asked_in(self._call) is None and all(why_not_rerun(run.fork.facts()) is None for run in self._runs)

    async def _decision(self) -> _Run:
        """Wait for a decisive outcome, and start further runs whenever the delay has passed."""
        left = self._extra
        while under_way := [run.task for run in self._runs if not run.task.done()]:
            delay_s = self._delay_s if left else None
            done, _ = await asyncio.wait(under_way, timeout=delay_s, return_when=asyncio.FIRST_COMPLETED)
            for run in self._runs:
                if run.task in done and run.decides:
                    return run
            if not done:
                left = left - 1 if await self._start_extra() else 0
        return self._runs[0]

    async def _end(self, *, is_awaited: bool) -> None:
        """Cancel the other runs; without an answer, wait for them as well."""
        under_way = [run for run in self._runs if not run.task.done()]
        for run in under_way:
            run.fork.expired = self._call.expired
            run.task.cancel()
            hold(run.task)
        if not is_awaited:
            if under_way:
                await asyncio.wait([run.task for run in under_way], timeout=_PARTING_S)
            return
        cancelled: asyncio.CancelledError | None = None
        while not all(run.task.done() for run in under_way):
            try:
                await asyncio.wait([run.task for run in under_way])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

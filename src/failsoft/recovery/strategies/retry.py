"""`Retry`: runs the handler again with backoff and jitter, where the work cannot be done twice."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.call.rerun import why_not_rerun
from failsoft.framework.errors import CircuitOpen, ToolError
from failsoft.framework.errors.vocabulary import StopReason
from failsoft.framework.safe.author_reports import is_real_cancellation
from failsoft.recovery.facts import StrategyFacts

if TYPE_CHECKING:
    from tenacity import RetryCallState


Jitter: TypeAlias = Literal["full", "decorrelated"]
Uniform: TypeAlias = Callable[[float, float], float]
_SPREAD_S = 2.0
_STRATA, _STRIDE = 32, 13
_turns = itertools.count(random.randrange(_STRATA))  # noqa: S311 - a start for this replica, no secret
"""Stratified jitter: successive callers draw from different parts of the spread. With independent draws, in one of
seven cases a twentieth of the spread gets more than a tenth of 200 callers."""
_USED_UP = 0.9
"""The share of the remaining time that a pause may take; the rest is for the run after it."""


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """The number of attempts and their backoff.

    Args:
        attempts: The largest number of runs, the first included; at least 2.
        base_s: The upper bound of the first pause, in seconds; it doubles with every attempt.
        cap_s: The upper bound of every pause, in seconds. A pause that the service asks for (`Retry-After`) may be
            longer; it is spread over [after, after + max(2 s, after / 2)].
        jitter: `full`: between 0 and the upper bound. `decorrelated`: between `base_s` and three times the previous
            pause, which spreads callers as well and rarely gives very short pauses.
        patience_s: The longest pause that a service may ask for, in seconds. After a longer one, or one beyond the
            deadline of the call, there is no retry, and the error states the wait.
    """

    attempts: int = 3
    base_s: float = 0.1
    cap_s: float = 5.0
    jitter: Jitter = "full"
    patience_s: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 2 or not 0 <= self.base_s <= self.cap_s:  # noqa: PLR2004 - with one run there is no retry
            msg = f"Retry needs attempts >= 2 and 0 <= base_s <= cap_s, not {self}"
            raise ValueError(msg)
        if not self.patience_s >= 0:
            msg = f"Retry needs patience_s >= 0, not {self}"
            raise ValueError(msg)
        if self.jitter not in {"full", "decorrelated"}:
            msg = f"Retry takes the jitter 'full' or 'decorrelated', not {self.jitter!r}"
            raise ValueError(msg)


class Retry:
    """Runs the handler again after a transient error, with exponential backoff and jitter.

    It retries only errors whose `retry` is `after_delay`, only where the work cannot be done twice, only with a token
    of the retry budget if there is one, and never waits past the deadline of the call. A wait that the service asks
    for is a minimum. The loop is tenacity's, built after the first failure, so that it costs successful calls nothing.

    Args:
        attempts: See `RetryOptions`.
        base_s: See `RetryOptions`.
        cap_s: See `RetryOptions`.
        jitter: See `RetryOptions`.
        patience_s: See `RetryOptions`.
        sleep: Waits for a number of seconds; tests replace it.
        uniform: Returns a random number between its two arguments; tests replace it.
    """

    name = "retry"
    facts = StrategyFacts(
        options=RetryOptions,
        place="recover",
        use="an error is transient: a service is busy, a connection breaks, a request times out.",
        not_for=(
            "permanent errors: a bad argument, a missing page. It never repeats work that may have been done, "
            "unless the operation is declared idempotent."
        ),
    )

    def __init__(
        self,
        attempts: int = 3,
        base_s: float = 0.1,
        cap_s: float = 5.0,
        *,
        jitter: Jitter = "full",
        patience_s: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Uniform = random.uniform,
    ) -> None:
        self.options = RetryOptions(attempts, base_s, cap_s, jitter, patience_s)
        self._sleep = sleep
        self._uniform = uniform

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return the value of a later run, or raise the error after which there is no retry."""
        series = _Series(self.options, self._uniform, call)
        if await series.stops_at(error):
            return None
        await self._sleep(series.wait_s)
        return await self._loop(error, call, series)

    async def _loop(self, error: ToolError, call: Call, series: _Series) -> RecoveryResult:
        import tenacity  # noqa: PLC0415 - 35 ms, only after a failure

        async def worth_another(state: RetryCallState) -> bool:
            raised = state.outcome.exception() if state.outcome is not None else None
            if not issubclass(type(raised), ToolError):
                return False
            return not await series.stops_at(cast("ToolError", raised))

        driver = tenacity.AsyncRetrying(
            stop=tenacity.stop_never,  # `worth_another` decides
            wait=lambda _: series.wait_s,  # the wait that was checked against the deadline
            retry=worth_another,
            sleep=self._sleep,
            reraise=True,
        )
        value: Any = await driver(_run_again, call)
        return RecoveryResult(value, f"Succeeded on attempt {call.attempt} after {error.code}")


class _Series:
    """The retries of one call: how many are left, and the pause before the next."""

    __slots__ = ("_call", "_left", "_options", "_runs", "_uniform", "wait_s")

    def __init__(self, options: RetryOptions, uniform: Uniform, call: Call) -> None:
        self._options = options
        self._uniform = uniform
        self._call = call
        self._left = options.attempts - 1
        self._runs = 0
        self.wait_s = 0.0

    async def stops_at(self, error: ToolError) -> StopReason | None:
        """Return why the call must not run again after this error, and note it on the call; None if it may."""
        call = self._call
        self.wait_s = self._wait(error)
        # Hedges and nested calls count too, and those of the outer call.
        bounds = (self._left, self._options.attempts - 1 - call.runs.taken, call.runs.left_above)
        facts = call.facts(error, was_retried_below=call.is_retried_below)
        facts.retry, facts.is_circuit_open = error.retry, error.category == CircuitOpen.category
        facts.runs_left = min(bound for bound in bounds if bound is not None)
        facts.wait_s, facts.remaining_s = self.wait_s, call.remaining_s()
        facts.patience_s = max(self._options.cap_s, self._options.patience_s)
        reason = why_not_rerun(facts)
        has_run, self._runs = call.attempt > self._runs, call.attempt
        # A run that this server itself rejected put no load on the dependency, so its retry costs no token.
        if reason is None and has_run and call.bound.chain.recovery.budget is not None:
            facts.has_token = await call.bound.chain.recovery.budget.withdraw()
            reason = why_not_rerun(facts)
        self._left -= 1
        call.tell(stop_reason=reason)
        return reason

    def _wait(self, error: ToolError) -> float:
        options = self._options
        if options.jitter == "full":
            pause = full_jitter(options.attempts - self._left, options, self._uniform)
        else:
            pause = decorrelated_jitter(self.wait_s, options, self._uniform)
        asked: Any = error.retry_after_seconds
        if not isinstance(asked, (int, float)) or not asked > 0:
            return pause
        return max(pause, asked + self._spread(asked))

    def _spread(self, asked: float) -> float:
        """Return the seconds to add to a wait that a service asks for, so that callers do not all return at once.

        The sum stays within the patience and the deadline.
        """
        patience_s = max(self._options.cap_s, self._options.patience_s)
        remaining_s = self._call.remaining_s()
        room_s = patience_s if remaining_s is None else min(patience_s, _USED_UP * remaining_s)
        widest = min(max(_SPREAD_S, asked / 2.0), max(0.0, room_s - asked))
        if not widest > 0:
            return 0.0
        part_s, turn = widest / _STRATA, next(_turns) * _STRIDE % _STRATA
        return self._uniform(turn * part_s, (turn + 1) * part_s)


async def _run_again(call: Call) -> Any:
    """Run the handler again; an exception becomes typed and replaces the error of the call."""
    try:
        return await call.retry()
    except BaseException as raised:
        if is_real_cancellation(raised):
            raise
        error = call.typed(raised)
        call.error = error
        raise error from raised.__cause__ if error is raised else raised


def full_jitter(attempt: int, options: RetryOptions, uniform: Uniform) -> float:
    """Return the pause after the given attempt (1 is the first), in seconds, between 0 and the capped power of two.

    Source: M. Brooker, "Exponential Backoff and Jitter", 2015.
    """
    ceiling = min(options.cap_s, options.base_s * 2.0 ** min(attempt - 1, 64))
    return uniform(0.0, ceiling)


def decorrelated_jitter(before_s: float, options: RetryOptions, uniform: Uniform) -> float:
    """Return the pause after one of `before_s` (0 for the first), in seconds, between the base and three times that.

    Source: as `full_jitter`.
    """
    return min(options.cap_s, uniform(options.base_s, max(options.base_s, 3.0 * before_s)))

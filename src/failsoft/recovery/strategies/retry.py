"""`Retry`: runs the handler again with backoff and jitter, where the work cannot be done twice."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import KW_ONLY
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from failsoft.framework.asking import has_no_outcome
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.call.rerun import Facts, why_not_rerun
from failsoft.framework.errors import CircuitOpen, ToolError
from failsoft.recovery.strategy import strategy

if TYPE_CHECKING:
    from tenacity import RetryCallState
    from tenacity.wait import wait_base


_SPREAD_S = 2.0
_USED_UP = 0.9
"""The share of the remaining time that a pause may take; the rest is for the run after it."""


@strategy
class Retry:
    """Runs the handler again after a transient error, with exponential backoff and full jitter.

    It retries only errors whose `retry` is `after_delay`, only where the work cannot be done twice, only with a token
    of the retry budget if there is one, and never waits past the deadline of the call. A wait that the service asks for
    (`Retry-After`) is a minimum, spread over [after, after + max(2 s, after / 2)]. The loop is tenacity's, imported
    after the first failure, so that it costs successful calls nothing.

    Args:
        attempts: The largest number of runs, the first included; at least 2.
        base_s: The upper bound of the first pause, in seconds; it doubles with every attempt.
        cap_s: The upper bound of every pause, in seconds. A pause that the service asks for may be longer.
        patience_s: The longest wait that a service may ask for, in seconds. After a longer one, or one beyond the
            deadline of the call, there is no retry, and the error states the wait.

    Raises:
        ValueError: The options are invalid.

    Examples:
        >>> @operation(read_only=True, timeout=10.0, recovery=[Retry(attempts=3, base_s=0.2)])
        ... async def get_order(self, number: int) -> str: "Return an order."
    """

    name: ClassVar[str] = "retry"
    attempts: int = 3
    base_s: float = 0.1
    cap_s: float = 5.0
    _: KW_ONLY
    patience_s: float = 5.0

    def __post_init__(self) -> None:
        if not (self.attempts >= 2 and math.isfinite(self.base_s) and 0 <= self.base_s <= self.cap_s):  # noqa: PLR2004 - with one run there is no retry
            msg = f"Retry needs attempts >= 2 and 0 <= base_s <= cap_s with a finite base_s, not {self}"
            raise ValueError(msg)
        if not self.patience_s >= 0:
            msg = f"Retry needs patience_s >= 0, not {self}"
            raise ValueError(msg)

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return the value of a later run, or raise the error after which there is no retry."""
        series = _Series(self, error, call)
        if not series.may_run_again(error):
            return None
        import tenacity  # noqa: PLC0415 - 35 ms, only after a failure

        repeat = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(series.may_run_again),
            wait=series.pauses(tenacity.wait_random_exponential(multiplier=self.base_s, max=self.cap_s)),
            stop=series.is_over,  # type: ignore[arg-type]  # tenacity awaits it, and does not type it
            sleep=asyncio.sleep,
            reraise=True,
        )
        try:
            value: Any = await repeat(series.run)
        except ToolError:
            series.forget_loop()
            if series.runs:
                raise
            return None
        finally:
            series.forget_loop()
            repeat.iter_state.reset()  # its actions refer to it
        return RecoveryResult(value, f"Succeeded on attempt {call.attempt} after {error.code}")


class _Series:
    """The runs of one call: whether there is a further one, after which pause, and else why not."""

    __slots__ = ("_call", "_error", "_facts", "_options", "_raised", "_seen", "_state", "runs")

    def __init__(self, options: Retry, error: ToolError, call: Call) -> None:
        self._options = options
        self._error: ToolError | None = error
        self._call = call
        self._facts = Facts()
        self._seen = 0
        self.runs = 0
        """Further runs so far."""
        self._raised: list[tuple[BaseException, TracebackType | None]] = [(error, error.__traceback__)]
        """The errors with their tracebacks up to the loop."""
        self._state: RetryCallState | None = None

    def forget_loop(self) -> None:
        """Take the loop out of the tracebacks: its frames refer to the errors, so that they would be cycles."""
        if self._state is not None:
            self._state.outcome = None
            self._state = None
        while self._raised:
            error, traceback = self._raised.pop()
            error.__traceback__ = traceback

    async def run(self) -> Any:
        """Raise the error that is there, so that tenacity decides about every run; then run the handler."""
        error, self._error = self._error, None
        try:
            if error is None:
                self.runs += 1
                return await self._call.retry()
            raise error  # noqa: TRY301 - the first, which the handler has raised
        except BaseException as raised:
            if has_no_outcome(raised) or raised is error:
                raise
            self._call.error = error = self._call.typed(raised)
            self._raised.append((error, error.__traceback__))
            raise error from raised.__cause__ if error is raised else raised
        finally:
            del error  # its traceback holds this frame: a reference cycle

    def may_run_again(self, raised: BaseException) -> bool:
        """Return whether another run is possible after this error: the guard, before pause and budget are known."""
        if not issubclass(type(raised), ToolError):
            return False  # cancelled
        error, call, options = cast("ToolError", raised), self._call, self._options
        facts = self._facts = call.facts(error, was_retried_below=call.is_retried_below)
        facts.retry, facts.is_circuit_open = error.retry, error.category == CircuitOpen.category
        # Hedges and nested calls count too, and those of the outer call.
        own_left = options.attempts - 1 - call.runs.taken
        facts.runs_left = own_left if facts.runs_left is None else min(own_left, facts.runs_left)
        asked: Any = error.retry_after_seconds
        facts.wait_s = asked if isinstance(asked, (int, float)) and asked > 0 else 0.0
        facts.patience_s, facts.remaining_s = options.patience_s, call.remaining_s()
        return self._is_allowed()

    def pauses(self, backoff: wait_base) -> Callable[[RetryCallState], float]:
        """Return what gives the seconds before the next run: the backoff, or the wait asked for with its spread."""

        def pause_s(state: RetryCallState) -> float:
            facts, jitter_s = self._facts, backoff(state)
            if facts.wait_s:
                room_s = math.inf if facts.remaining_s is None else _USED_UP * facts.remaining_s
                widest_s = min(max(_SPREAD_S, facts.wait_s / 2.0), max(0.0, room_s - facts.wait_s))
                jitter_s = max(jitter_s - facts.wait_s, random.uniform(0.0, widest_s))  # noqa: S311 - no secret
            facts.jitter_s = jitter_s
            return facts.wait_s + jitter_s

        return pause_s

    async def is_over(self, state: RetryCallState) -> bool:
        """Return whether the attempts, the deadline after the pause, or the retry budget end the series."""
        call, facts, self._state = self._call, self._facts, state
        if state.attempt_number >= self._options.attempts:
            facts.runs_left = 0
        has_run, self._seen = call.attempt > self._seen, call.attempt
        budget = call.bound.chain.recovery.budget
        # A run that this server itself rejected put no load on the dependency, so its retry costs no token.
        if self._is_allowed() and has_run and budget is not None:
            facts.has_token = await budget.withdraw()
        return not self._is_allowed()

    def _is_allowed(self) -> bool:
        reason = why_not_rerun(self._facts)
        self._call.tell(stop_reason=reason)
        return reason is None

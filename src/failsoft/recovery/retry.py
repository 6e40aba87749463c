"""`Retry`: the handler again after a pause, where that cannot do the work twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ToolError
from failsoft.framework.normalize import normalize
from failsoft.framework.recovery_port import RecoveryResult

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["Retry", "RetryOptions", "full_jitter"]


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """How often and how patiently.

    Args:
        attempts: Runs of the handler at most, the first included; at least 2.
        base_s: The widest first pause, in seconds; it doubles with every attempt.
        cap_s: The widest pause at all, in seconds. A `Retry-After` beyond it ends the retrying.
    """

    attempts: int = 3
    base_s: float = 0.1
    cap_s: float = 5.0

    def __post_init__(self) -> None:
        if self.attempts < 2 or self.base_s < 0 or self.cap_s < self.base_s:  # noqa: PLR2004 - one run is no retry
            msg = f"Retry needs attempts >= 2 and 0 <= base_s <= cap_s, not {self}"
            raise ValueError(msg)


class Retry:
    """Runs the handler again on errors that waiting may cure, with exponential pauses and full jitter.

    It steps in only for errors whose `retry` is `after_delay`, only where the idempotency guard allows another run, and
    never waits past the call's deadline. A wait that the service asked for is a minimum. tenacity drives the loop,
    which is built after the first failure, so that a call that succeeds pays nothing.

    Args:
        attempts: See `RetryOptions`.
        base_s: See `RetryOptions`.
        cap_s: See `RetryOptions`.
        sleep: Waits that many seconds; replaced by tests.
        uniform: Returns a random number between its two arguments; replaced by tests.
    """

    name = "retry"

    def __init__(
        self,
        attempts: int = 3,
        base_s: float = 0.1,
        cap_s: float = 5.0,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.options = RetryOptions(attempts, base_s, cap_s)
        self._sleep = sleep
        self._uniform = uniform

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        """Return the value of a later run, or raise the error that ended the retrying."""
        wait_s = self._wait(1, error)
        if not self._may_wait(wait_s, error, call):
            return None
        await self._sleep(wait_s)
        return await self._loop(error, call)

    async def _loop(self, error: ToolError, call: CallContext) -> RecoveryResult:
        import tenacity  # noqa: PLC0415 - 35 ms that only a failing call pays

        wait_s = 0.0

        def worth_another(raised: BaseException) -> bool:
            nonlocal wait_s
            if not issubclass(type(raised), ToolError):
                return False
            newest = cast("ToolError", raised)
            wait_s = self._wait(call.attempt, newest)
            return self._may_wait(wait_s, newest, call)

        def pause(_state: RetryCallState) -> float:
            return wait_s  # the very wait that was found to fit before the deadline

        driver = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self.options.attempts - 1),
            wait=pause,
            retry=tenacity.retry_if_exception(worth_another),
            sleep=self._sleep,
            reraise=True,
        )
        value: Any = await driver(_run_again, call)
        return RecoveryResult(value, f"Succeeded on attempt {call.attempt} after {error.code}")

    def _wait(self, attempt: int, error: ToolError) -> float:
        jittered = full_jitter(attempt, self.options, self._uniform)
        asked: Any = error.retry_after_seconds
        return max(jittered, asked) if isinstance(asked, (int, float)) else jittered

    def _may_wait(self, wait_s: float, error: ToolError, call: CallContext) -> bool:
        if error.retry != "after_delay" or not call.may_run_again(error):
            return False
        remaining_s = call.remaining_s()
        return wait_s <= self.options.cap_s and (remaining_s is None or wait_s < remaining_s)


async def _run_again(call: CallContext) -> Any:
    """Run the handler again; whatever it raises becomes typed, and the guard judges the newest error."""
    try:
        return await call.retry()
    except BaseException as raised:
        if is_real_cancellation(raised):
            raise
        error = normalize(raised)
        call.error = error
        raise error from raised.__cause__ if error is raised else raised


def full_jitter(attempt: int, options: RetryOptions, uniform: Callable[[float, float], float]) -> float:
    """Return the pause after the given attempt (1 is the first), in seconds, between 0 and the capped power of two.

    Source: M. Brooker, "Exponential Backoff and Jitter", 2015.
    """
    ceiling = min(options.cap_s, options.base_s * 2.0 ** min(attempt - 1, 64))
    return uniform(0.0, ceiling)

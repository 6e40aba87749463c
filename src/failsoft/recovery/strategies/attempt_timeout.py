"""`AttemptTimeout`: a time limit for each run of the handler, within the time limit of the call."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.call.time_limits import TimeLimit
from failsoft.framework.errors import ConfigurationError, Timeout
from failsoft.recovery.strategy import strategy


@strategy
class AttemptTimeout:
    """Stops a slow run of the handler with TIMEOUT, so that time is left for a retry.

    Without it a hanging run uses up the whole deadline and `Retry` cannot run. After a time-out the effect of a write
    is unknown, so only read-only and idempotent operations are run again. A sync handler keeps running in its thread:
    Python cannot stop it.

    Args:
        seconds: The limit for one run of the handler including its checks; above 0.

    Examples:
        >>> @operation(read_only=True, timeout=10.0, recovery=[Retry(attempts=3), AttemptTimeout(3.0)])
        ... async def get_order(self, number: int) -> str: "Return an order."
    """

    name: ClassVar[str] = "attempt_timeout"
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    seconds: float

    def __post_init__(self) -> None:
        if not (self.seconds > 0 and math.isfinite(self.seconds)):
            msg = f"AttemptTimeout needs a number of seconds above 0, not {self.seconds}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link.

        Raises:
            CONFIG_ERROR: The limit is not below the call's own, so it would never be reached.
        """
        if bound.timeout_s is not None and self.seconds >= bound.timeout_s:
            raise ConfigurationError(
                issue=f"'{bound.name}' gives one attempt {self.seconds:g} seconds and the whole call "
                f"{bound.timeout_s:g}: the attempt's limit would never be reached",
                resolution="lower the AttemptTimeout, or raise the operation's timeout",
            )
        return [Link(self.name, _limited(self.seconds), "attempt_timeout")]


def _limited(seconds: float) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        limit = TimeLimit(call, asyncio.get_running_loop().time() + seconds)
        try:
            value = await proceed(call)
        except BaseException as raised:
            if not limit.close(raised):
                raise
            raise Timeout(message=f"The attempt did not finish within its limit of {seconds:g} seconds.") from raised
        limit.close()
        return value

    return step

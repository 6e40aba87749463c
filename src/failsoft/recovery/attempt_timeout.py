"""`AttemptTimeout`: a limit on each run of the handler, inside the limit on the whole call."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.chain import Link, Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, Timeout
from failsoft.framework.ports import CalledOperation
from failsoft.framework.time_limit import TimeLimit

__all__ = ["AttemptTimeout", "AttemptTimeoutOptions"]


@dataclass(frozen=True, slots=True)
class AttemptTimeoutOptions:
    """How long one run may take.

    Args:
        seconds: For one run of the handler, its checks included; above 0.
    """

    seconds: float

    def __post_init__(self) -> None:
        if not (self.seconds > 0 and math.isfinite(self.seconds)):
            msg = f"AttemptTimeout needs a number of seconds above 0, not {self.seconds}"
            raise ValueError(msg)


class AttemptTimeout:
    """Ends a run of the handler that takes too long with TIMEOUT, so that the next one still has time.

    Without it one run that hangs uses up the whole deadline and `Retry` never gets its turn. The time-out of a write
    leaves its effect unknown, so only read-only and idempotent operations are run again. A sync handler runs on in its
    thread: Python cannot stop it.

    Args:
        seconds: See `AttemptTimeoutOptions`.
    """

    name = "attempt_timeout"

    def __init__(self, seconds: float) -> None:
        self.options = AttemptTimeoutOptions(seconds)

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link.

        Raises:
            CONFIG_ERROR: The whole call ends before the attempt does, so the limit would never be reached.
        """
        if bound.timeout_s is not None and self.options.seconds >= bound.timeout_s:
            raise ConfigurationError(
                issue=f"'{bound.name}' gives one attempt {self.options.seconds:g} seconds and the whole call "
                f"{bound.timeout_s:g}: the attempt's limit would never be reached",
                resolution="lower the AttemptTimeout, or raise the operation's timeout",
            )
        return [Link(self.name, _limited(self.options.seconds), "attempt_timeout")]


def _limited(seconds: float) -> Step:
    async def step(call: CallContext, proceed: Proceed) -> Any:
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

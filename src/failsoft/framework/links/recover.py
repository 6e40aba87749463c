"""Recovery: where an error meets the strategies that may take its place."""

from __future__ import annotations

from typing import Any

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.chain import Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.normalize import normalize
from failsoft.framework.recovery_port import RecoveryEngine

__all__ = ["recover"]


def recover(engine: RecoveryEngine) -> Step:
    """Return the link that hands every error to the engine, typed, with the means to run the handler again."""

    async def step(call: CallContext, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except BaseException as raised:
            if call.expired or is_real_cancellation(raised):
                raise
            call.resume_at(proceed, normalize(raised))
        # No local name for the error: its traceback holds this frame, and the two would wait for the garbage collector.
        return await engine.recover(call.error, call)  # type: ignore[arg-type]  # set one line above

    return step

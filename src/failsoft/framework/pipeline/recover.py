"""Passes errors of the handler to the recovery engine."""

from __future__ import annotations

from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, Step
from failsoft.framework.call.recovery_port import RecoveryEngine
from failsoft.framework.cancellation import is_real_cancellation


def recover(engine: RecoveryEngine) -> Step:
    """Return the link that passes every error, typed, to the engine, which can run the handler again."""

    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except BaseException as raised:
            if call.expired or is_real_cancellation(raised):
                raise
            call.set_retry_point(proceed, call.typed(raised))
        # No local name for the error: its traceback refers to this frame, so the two would form a reference cycle.
        return await engine.recover(call.error, call)  # type: ignore[arg-type]  # set one line above

    return step

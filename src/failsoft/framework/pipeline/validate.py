"""Stage 1: validates types, formats and names of arguments, and reports all problems together."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, Step
from failsoft.framework.errors import InvalidParameter, ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.pipeline.check import Check

__all__ = ["validate", "validate_with"]


async def validate(call: Call, proceed: Proceed) -> Any:
    """Validate the arguments before any other work.

    Raises:
        INVALID_PARAM: With every fault as a violation; or the error class declared for a faulty parameter.
    """
    call.arguments = call.bound.arguments.validate(call.params)
    return await proceed(call)


def validate_with(checks: Sequence[Check]) -> Step:
    """Return the link that reports the faults of stage 2 together with those of stage 1 (seed 003).

    If an argument has a fault, the checks of the other arguments still run.
    """

    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            call.arguments = call.bound.arguments.validate(call.params)
        except InvalidParameter as refused:
            more = await _faults(call, refused, checks)
            raise (InvalidParameter.from_violations([*refused.violations, *more]) if more else refused) from None
        return await proceed(call)

    return step


async def _faults(call: Call, refused: InvalidParameter, checks: Sequence[Check]) -> list[Violation]:
    """Return the faults that checks find in the arguments that are valid so far."""
    faulty = {violation.path.partition(".")[0] for violation in refused.violations}
    known = call.bound.input_schema.get("properties", {})
    call.arguments = {name: value for name, value in call.params.items() if name in known and name not in faulty}
    found: list[Violation] = []
    for item in checks:
        work = item.of(call)
        try:
            if work is not None:
                verdict = work() if item.is_async else await call.bound.threads.run(work)
                if inspect.isawaitable(verdict):
                    await verdict
        except ToolError as error:
            found += error.violations
        except Exception:  # noqa: BLE001, S112 - a check that misses an argument; the call is refused in any case
            continue
    call.arguments = {}
    return found

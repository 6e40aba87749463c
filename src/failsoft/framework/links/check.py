"""Stage 2: references and the author's own checks, after the types and before the handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from failsoft.framework.chain import Proceed, Step
from failsoft.framework.context import CallContext

__all__ = ["check"]


def check(checks: Sequence[Callable[[CallContext], Any]]) -> Step:
    """Return the link that runs the checks in the order of their declaration; the first error ends the call."""

    async def step(call: CallContext, proceed: Proceed) -> Any:
        for examine in checks:
            verdict = examine(call)
            if inspect.isawaitable(verdict):
                await verdict
        return await proceed(call)

    return step

"""Stage 1: types, forms and names of the arguments; all faults in one answer."""

from __future__ import annotations

from typing import Any

from failsoft.framework.chain import Proceed
from failsoft.framework.context import CallContext

__all__ = ["validate"]


async def validate(call: CallContext, proceed: Proceed) -> Any:
    """Validate the arguments before anything else is spent on the call.

    Raises:
        INVALID_PARAM: With every fault as a violation; or the error class that a faulty parameter carries.
    """
    call.arguments = call.bound.arguments.validate(call.params)
    return await proceed(call)

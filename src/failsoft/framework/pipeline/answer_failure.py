"""Renders, logs and counts the failure of a call whose handler does not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.response import Failed, Success
from failsoft.framework.call.call import Call
from failsoft.framework.call.scope import CallScope
from failsoft.framework.errors import ToolError
from failsoft.framework.pipeline.observe import observe

if TYPE_CHECKING:
    from failsoft.framework.tool.bound_operation import BoundOperation

__all__ = ["answer_failure"]


async def answer_failure(
    bound: BoundOperation, error: ToolError, params: Mapping[str, Any], scope: CallScope, *, begun: bool = False
) -> Success[Any] | Failed:
    """Return the response to a call that failed outside its chain.

    Args:
        bound: The operation that was called, or a copy under the name that was called.
        error: The error to respond with.
        params: The arguments as received.
        scope: What the transport knows about the call.
        begun: Whether the handler may have run, so that the effect of the call may be unknown.
    """

    async def fail(call: Call) -> Any:
        call.attempt = int(begun)
        if begun:
            call.run_failed(error)
        raise error

    return await observe(Call(bound, params, scope), fail)

"""Facts about a call from the SDK's request: caller, id and metadata."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import ServerRequestContext

from failsoft.adapters.foreign.tool import ForeignScope
from failsoft.framework.call.bound import Toolbox
from failsoft.framework.call.call import Call
from failsoft.server.protocol.caller import principal_of


def scope_from(
    request: ServerRequestContext[Any, Any] | None,
    toolbox: Toolbox,
    run: Callable[[dict[str, Any], Call], Awaitable[Any]],
) -> ForeignScope:
    """Return the scope of a call of a foreign tool.

    Args:
        request: The SDK's request; None for a direct call in this process.
        toolbox: The tools that next steps may name.
        run: Runs the tool.
    """
    if request is None:
        return ForeignScope(principal=principal_of(None), toolbox=toolbox, run=run)
    return ForeignScope(
        request_id=str(request.request_id),
        principal=principal_of(request),
        meta=request.meta or {},
        toolbox=toolbox,
        run=run,
    )

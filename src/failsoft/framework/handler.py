"""`ErrorHandler`: the answer, the log line and the count for an error that came up outside a tool's chain."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.chain import connect
from failsoft.framework.context import CallContext, CallScope
from failsoft.framework.normalize import normalize
from failsoft.framework.operation import BoundOperation, operation
from failsoft.framework.response import ToolResponse
from failsoft.framework.runtime import Runtime
from failsoft.framework.text import bounded
from failsoft.framework.tool import BaseTool
from failsoft.framework.toolbox import Toolbox

__all__ = ["ErrorContext", "ErrorHandler"]

_NAME_AT_MOST = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorContext:
    """Where an error came up: the toolset, the operation, and what it was called with.

    Source: seed 004.
    """

    tool: str
    operation: str
    params: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None


class ErrorHandler:
    """Does for a lone error what the chain does for a call: normalize, explain, count, log, alert, answer.

    A tool has no need of it. It is for code around tools: adapters, schedulers, servers of another kind.

    Args:
        tools: The toolsets that the answer may send a caller to. For an operation of theirs its declaration counts
            (`read_only`, `idempotent`); of any other nothing is known, so nothing is promised.
        runtime: Settings, metrics and alerts; the process-wide default if left out.

    Source: seed 004.
    """

    def __init__(self, *, tools: Iterable[BaseTool] = (), runtime: Runtime | None = None) -> None:
        self._toolbox = Toolbox(tools)
        (self._anywhere,) = _Anywhere(runtime=runtime).operations.values()

    async def handle_error(self, error: BaseException, context: ErrorContext | Mapping[str, Any]) -> ToolResponse[Any]:
        """Return the answer for an error, as if its operation had been called and failed with it.

        Recovery is not tried: the operation itself is not run.

        Args:
            error: Any exception.
            context: An `ErrorContext`, or a mapping with its names; others (`timestamp`) are ignored.
        """
        known = context if isinstance(context, ErrorContext) else _read(context)
        bound = copy.copy(self._bound(known))
        typed = normalize(error)

        async def fail(call: CallContext) -> Any:
            call.attempt = 1
            raise typed

        bound.proceed = connect(bound.links[:1], fail)
        scope = CallScope(
            request_id=known.request_id,
            session_id=known.session_id,
            principal=known.principal,
            toolbox=self._toolbox,
        )
        return await bound.call(known.params, scope)

    def _bound(self, context: ErrorContext) -> BoundOperation[..., Any]:
        found = self._toolbox.find(context.operation)
        if found is not None and found.tool_name == context.tool:
            return found
        bound = copy.copy(self._anywhere)
        bound.tool_name, bound.name = context.tool, context.operation
        bound.metrics = bound.tool.runtime.metrics.bind(context.tool, context.operation)
        return bound


class _Anywhere(BaseTool):
    """Stands for every operation that the handler has not been told about."""

    @operation(input_schema={"type": "object", "additionalProperties": True})
    async def any_operation(self, /, **arguments: Any) -> None:
        """Do nothing; it is never run."""


def _read(context: Mapping[str, Any]) -> ErrorContext:
    params = context.get("params")
    return ErrorContext(
        tool=bounded(str(context.get("tool", "unknown")), _NAME_AT_MOST),
        operation=bounded(str(context.get("operation", "unknown")), _NAME_AT_MOST),
        params=params if isinstance(params, Mapping) else {},
        **{name: context.get(name) for name in ("request_id", "session_id", "principal")},
    )

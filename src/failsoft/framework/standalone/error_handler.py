"""`ErrorHandler`: answers, logs and counts an error raised outside a tool's chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call.guarded_metrics import bound_late
from failsoft.framework.call.scope import CallScope
from failsoft.framework.normalize import normalize
from failsoft.framework.pipeline.answer_failure import answer_failure
from failsoft.framework.text import bounded
from failsoft.framework.tool.base import BaseTool
from failsoft.framework.tool.bound_operation import BoundOperation
from failsoft.framework.tool.operation import operation
from failsoft.framework.tool.runtime import Runtime
from failsoft.framework.tool.toolbox import Toolbox

_NAME_AT_MOST = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorContext:
    """Where an error occurred: the toolset, the operation, and its arguments.

    Args:
        tool: The name of the toolset.
        operation: The MCP name of the tool.
        params: The arguments as received; redacted in logs and responses.
        request_id: The id of the request, for answer and log.
        session_id: The session named by the caller.
        principal: The caller as authenticated.

    Source: seed 004.
    """

    tool: str
    operation: str
    params: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None


class ErrorHandler:
    """Handles a single error as the chain does for a call: normalize, explain, count, log, alert, respond.

    It is for code around tools, such as adapters, schedulers and other servers. Tools do not need it.

    Args:
        tools: The toolsets that a next step may name. Their operations are treated as declared (`read_only`,
            `idempotent`), other operations as if they had no declaration.
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
        scope = CallScope(
            request_id=known.request_id,
            session_id=known.session_id,
            principal=known.principal,
            toolbox=self._toolbox,
        )
        bound = self._bound(known)
        response = await answer_failure(bound, normalize(error), known.params, scope, begun=True)
        response.wire = type(bound.wire)("full", bound.wire.docs_url)  # there is no `_meta` for the rest
        return response

    def _bound(self, context: ErrorContext) -> BoundOperation:
        found = self._toolbox.find(context.operation)
        if found is not None and found.tool_name == context.tool:
            return found
        metrics = bound_late(self._anywhere.tool.runtime.metrics, context.tool, context.operation)
        return self._anywhere.under_name(metrics=metrics, tool_name=context.tool, name=context.operation)


class _Anywhere(BaseTool):
    """The toolset of operations that the handler does not know."""

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

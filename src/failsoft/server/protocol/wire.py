"""Tools, the results of their calls, tools that there are not, and progress, as they are on the wire."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from failsoft.framework.answer.response import TRACE_KEY, ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import UnknownTool
from failsoft.framework.errors.unknown_tools import tools_meant
from failsoft.framework.safe import json_safe
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded, quoted

T = TypeVar("T")


def describe_tool(bound: BoundOperation) -> types.Tool:
    """Return the entry of an operation in `tools/list`."""
    return types.Tool(
        name=bound.name,
        title=bound.title or None,
        description=bound.description,
        input_schema=bound.input_schema,
        output_schema=bound.output_schema(),
        annotations=types.ToolAnnotations.model_validate(bound.annotations, by_name=False, by_alias=True),
    )


def call_tool_result(response: ToolResponse[Any]) -> dict[str, Any]:
    """Return the result on the wire: the whole response as text and as structured content, with `isError`.

    A plain dictionary instead of the SDK's model: the SDK validates its output anyway, so a model would only be built
    to be dumped again. `resultType` is required from 2026-07-28 on; older versions drop it.
    """
    encoded = response.encode()
    content: list[dict[str, Any]] = [{"type": "text", "text": encoded.text}]
    if encoded.content:
        content += [
            json_safe.json_safe(block.model_dump(by_alias=True, mode="json", exclude_none=True))
            for block in encoded.content
        ]
    return {
        "content": content,
        "structuredContent": encoded.structured,
        "isError": encoded.is_error,
        "resultType": "complete",
        "_meta": encoded.meta,
    }


def traced(result: T, scope: CallScope) -> T:
    """Return a result; that of a tool, with the ids under which its call is logged."""
    if isinstance(result, dict):
        ids = {"request_id": scope.request_id, **({"trace_id": scope.trace_id} if scope.traceparent else {})}
        result["_meta"] = {**(result.get("_meta") or {}), TRACE_KEY: ids}
    return result


def no_such_tool(error: UnknownTool) -> MCPError:
    """Return the protocol's error for a tool that does not exist, with the tools that may be meant, and log it."""
    logger.bind(code=error.code, operation=error.name).warning("A tool that does not exist was called")
    (fault,) = error.violations
    meant = {"suggestion": fault.suggestion, "tools": list(fault.allowed)}
    return MCPError(
        code=types.INVALID_PARAMS,
        message=f"Unknown tool: {quoted(error.name)}. {tools_meant(error)}".rstrip(),
        data={"code": error.code} | {name: value for name, value in meant.items() if value},
    )


class Progress:
    """Sends progress of one call to clients that sent a progress token: increasing, and none after the call has ended.

    A report that cannot be sent, because the client has disconnected or its token cannot be serialized, is dropped by
    the call, which it never fails.
    """

    __slots__ = ("_last", "_session", "over")

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._last = -math.inf
        self.over = False

    async def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send one report, if the call is still running and the value has increased."""
        if self.over or not math.isfinite(done) or done <= self._last:
            return
        self._last = done
        known_total = total if total is not None and math.isfinite(total) else None
        await self._session.report_progress(
            float(done), known_total, None if message is None else bounded(str(message))
        )

"""Tools and the results of their calls as they are on the wire."""

from __future__ import annotations

from typing import Any, TypeVar

import mcp_types as types

from failsoft.framework.answer.response import TRACE_KEY, ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.safe import json_safe

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

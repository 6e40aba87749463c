"""A `ToolResponse` as the result of an MCP `tools/call`."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.safe import json_safe


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
    result: dict[str, Any] = {
        "content": content,
        "structuredContent": encoded.structured,
        "isError": encoded.is_error,
        "resultType": "complete",
    }
    if encoded.meta is not None:
        result["_meta"] = encoded.meta
    return result

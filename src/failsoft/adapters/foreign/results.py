"""Convert the `ToolResponse` of a foreign tool back to a result of its server."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import mcp_types as types
import pydantic_core

from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.safe.json_safe import json_safe
from failsoft.server.protocol.encoding import call_tool_result

METADATA_KEY = "dev.failsoft/metadata"
"""Key of recovery and warnings in the `_meta` of a success; other successes are unchanged."""

R = TypeVar("R")


def failure_result(response: ToolResponse[Any]) -> types.CallToolResult:
    """Return a failed response as the SDK's model."""
    return types.CallToolResult.model_validate(call_tool_result(response), by_name=False, by_alias=True)


def recovery_meta(response: ToolResponse[Any]) -> dict[str, Any] | None:
    """Return the recovery and the warnings of a success, or None if there are none."""
    metadata = response.metadata
    if metadata.recovery is None and not metadata.warnings:
        return None
    facts: dict[str, Any] = json_safe(metadata.to_dict())
    return facts


def safe_result(result: R) -> R:
    """Return a result that JSON can carry: unchanged if it already is.

    A lone surrogate (an undecodable file name) or a NaN in it would end a stdio server; both are replaced.

    Args:
        result: The SDK's result, or FastMCP's, which has the same attributes.
    """
    whole: Any = result
    parts = (whole.content, whole.structured_content, whole.meta)
    try:
        encoded = pydantic_core.to_json(parts, by_alias=True, inf_nan_mode="constants")
    except (ValueError, TypeError, RecursionError):
        return cast("R", _repaired(whole))
    if b"NaN" in encoded or b"Infinity" in encoded:
        return cast("R", _repaired(whole))
    return result


def _repaired(result: Any) -> Any:
    """Return the result with values that JSON cannot represent replaced."""
    content = [_block(block) for block in result.content]
    structured = None if result.structured_content is None else json_safe(result.structured_content)
    meta = None if result.meta is None else json_safe(result.meta)
    return result.model_copy(update={"content": content, "structured_content": structured, "meta": meta})


def _block(block: Any) -> Any:
    tree = json_safe(block.model_dump(by_alias=True, mode="python", exclude_none=True))
    return type(block).model_validate(tree, by_alias=True, by_name=False)

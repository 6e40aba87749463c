"""A foreign result on its way out: JSON-safe, failures as the SDK's model, output schemas that accept both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import mcp_types as types
import pydantic_core

from failsoft.client.answers import ToolAnswer, failure_in, has_own_keys, read_answer, without_own_keys
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.answer.result import with_null_for_nan
from failsoft.framework.answer.wire import WireFormat
from failsoft.framework.arguments.schemas import inline_root
from failsoft.framework.safe.json_safe import json_safe
from failsoft.server.protocol.wire import call_tool_result

_STAYS_AT_THE_ROOT = frozenset({"$defs", "$id", "$schema", "definitions", "description", "title", "type"})

R = TypeVar("R")


def accepted(result: R, declared: Mapping[str, Any] | None) -> R:
    """Return the result of a tool that worked, as JSON can carry it, without metadata in our name.

    Args:
        result: The SDK's result, or FastMCP's, which has the same attributes.
        declared: The tool's output schema.

    Raises:
        ToolError: The result says that the call failed.
    """
    whole: Any = result
    is_told = (
        whole.is_error or whole.structured_content is None
    )  # otherwise reading the content costs a tenth of a call
    answer = read_answer(whole) if is_told else ToolAnswer((), whole.structured_content, {}, is_error=False)
    failure = failure_in(answer, declared=declared)
    if failure is not None:
        raise failure
    return safe_result(_in_its_own_name(whole) if whole.meta and has_own_keys(whole.meta) else result)


def _in_its_own_name(result: Any) -> Any:
    """Return a result without keys of ours, which a tool that is another server's may have sent."""
    whole = getattr(result, "_raw_mcp_result", None)  # what FastMCP sends in its place
    cleaned = (whole or result).model_copy(update={"meta": without_own_keys(result.meta)})
    return cleaned if whole is None else type(result).from_mcp_result(cleaned)


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


def widened(schema: Mapping[str, Any] | None, wire: WireFormat) -> dict[str, Any] | None:
    """Return a schema that accepts what this one accepts, and every failure of the wire format.

    The root keeps `type: object` and the properties, which clients read to unpack results; what rules a failure out
    (`required`, `additionalProperties`, combinations) moves into one branch of an `anyOf`.

    Args:
        schema: The tool's own output schema; None, if it has none, stays None.
        wire: The format of failures.
    """
    if schema is None:
        return None
    own, definitions = inline_root(with_null_for_nan(dict(schema)))
    properties: dict[str, Any] = own.get("properties", {})
    shared = properties.keys() & {*wire.required, *wire.optional}
    success: dict[str, Any] = {
        key: value
        for key, value in own.items()
        if key not in _STAYS_AT_THE_ROOT and key != "properties" and not key.startswith("x-")
    }
    if "additionalProperties" in success or "patternProperties" in success or "unevaluatedProperties" in success:
        success["properties"] = {name: properties[name] if name in shared else {} for name in properties}
    elif shared:
        success["properties"] = {name: properties[name] for name in sorted(shared)}
    wide = {key: value for key, value in own.items() if key in _STAYS_AT_THE_ROOT or key.startswith("x-")}
    wide["type"] = "object"
    wide["properties"] = {name: {} if name in shared else value for name, value in properties.items()}
    wide["anyOf"] = [success, {"required": list(wire.required)}]
    if definitions and "$defs" not in wide:
        wide["$defs"] = definitions
    return wide

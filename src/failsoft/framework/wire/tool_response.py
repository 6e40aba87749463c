"""The format of seed 004, and the framework's own: `{"success", "data" | "error", "metadata"}`."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata, ToolResponse
from failsoft.framework.validation.schemas import inline_root
from failsoft.framework.wire.base import (
    DIALECT,
    EFFECT,
    METADATA,
    NEXT_STEP,
    OPEN,
    RETRY,
    STOP_REASON,
    STRING,
    STRINGS,
    VIOLATIONS,
    causes,
    either,
    succeeding,
    violations,
)

__all__ = ["ToolResponseFormat"]


class ToolResponseFormat:
    """Data or error in separate keys, next to metadata. Absent keys are omitted, never null."""

    name = "tool_response"

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return `{"success": true, "data", "metadata"}`."""
        return {"success": True, "data": response.data, "metadata": response.metadata.to_dict()}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:
        """Return `{"success": false, "error", "metadata"}`."""
        error: dict[str, Any] = {
            "message": failure.message,
            "code": failure.code,
            "category": failure.category,
            "tool": failure.tool,
            "operation": failure.operation,
            "retry": failure.retry.to_dict(),
            "effect": failure.effect,
        }
        if failure.sent_stop_reason is not None:
            error["stop_reason"] = failure.sent_stop_reason
        if failure.suggestions:
            error["suggestions"] = list(failure.suggestions)
        if failure.next_step is not None:
            error["next_step"] = failure.next_step.to_dict()
        if failure.details:
            error["details"] = failure.details
        if failure.violations:
            error["violations"] = violations(failure)
        error |= causes(failure)
        error["error_id"] = failure.error_id
        error["timestamp"] = failure.timestamp
        return {"success": False, "error": error, "metadata": metadata.to_dict()}

    def output_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer; see `WireFormat`."""
        own, _ = inline_root(data)
        properties = {"success": {"type": "boolean"}, "metadata": OPEN}
        return either({**properties, "data": own}, {"error": _SHORT_ERROR}, decided_by=("data", "error"), data=data)

    def success_schema(self) -> dict[str, Any]:
        """Return the schema of a success, whatever its data."""
        return succeeding("success", value=True)

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        return {
            "$schema": DIALECT,
            "title": "tool_response failure",
            "type": "object",
            "properties": {"success": {"const": False}, "error": _ERROR, "metadata": METADATA},
            "required": ["success", "error", "metadata"],
            "additionalProperties": False,
        }


_SHORT_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"code": STRING, "message": STRING},
    "required": ["code", "message"],
}
"""What every tool's output schema says of a failure: each word of it is read in `tools/list` by every model."""
_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": STRING,
        "code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
        "category": STRING,
        "tool": STRING,
        "operation": STRING,
        "retry": RETRY,
        "effect": EFFECT,
        "stop_reason": STOP_REASON,
        "suggestions": STRINGS,
        "next_step": NEXT_STEP,
        "details": {"type": "object"},
        "violations": VIOLATIONS,
        "cause": {"type": "object"},
        "stack_trace": STRING,
        "error_id": STRING,
        "timestamp": STRING,
    },
    "required": [
        "message", "code", "category", "tool", "operation", "retry", "effect", "error_id", "timestamp",
    ],
    "additionalProperties": False,
}  # fmt: skip

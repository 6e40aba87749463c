"""The format of seed 004, and the framework's own: `{"success", "data" | "error", "metadata"?}`."""

from __future__ import annotations

from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.wire.base import WireFormat, causes, violations

_SHORT_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
}


class ToolResponseFormat(WireFormat):
    """Data or error in separate keys, next to metadata that says something. Absent keys are omitted, never null."""

    name: ClassVar[str] = "tool_response"
    required: ClassVar[tuple[str, ...]] = ("success", "error")
    optional: ClassVar[tuple[str, ...]] = ("metadata",)
    described: ClassVar[dict[str, Any]] = {"error": _SHORT_ERROR}
    is_parsed: ClassVar[bool] = False

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:
        """Return the essentials of a failure, or everything with `FAILSOFT_ANSWER=full`."""
        error: dict[str, Any] = {"message": failure.message, "code": failure.code, "category": failure.category}
        if self.is_full:
            error |= {"tool": failure.tool, "operation": failure.operation}
        error |= {"retry": failure.retry.to_dict(), "effect": failure.effect}
        if self.is_full and failure.sent_stop_reason is not None:
            error["stop_reason"] = failure.sent_stop_reason
        if failure.suggestions:
            error["suggestions"] = list(failure.suggestions)
        if failure.next_step is not None:
            error["next_step"] = failure.next_step.to_dict()
        if failure.details:
            error["details"] = failure.details
        if failure.violations and (self.is_full or not failure.is_corrected):
            error["violations"] = violations(failure)
        error |= causes(failure)
        error["error_id"] = failure.error_id
        if self.is_full:
            error["timestamp"] = failure.timestamp
        wire: dict[str, Any] = {"success": False, "error": error}
        if said := metadata.to_dict(full=self.is_full):
            wire["metadata"] = said
        return wire

"""The format of seed 001: eleven keys that are always present, null where not applicable."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata, ToolResponse
from failsoft.framework.normalize.reasons import normalized_cause
from failsoft.framework.validation.schemas import inline_root
from failsoft.framework.wire.base import EXTRAS, OPEN, STRING, STRINGS, either, extras, failing, renamed, succeeding

__all__ = ["REQUIRED", "SystemErrorFormat"]


class SystemErrorFormat:
    """A flat envelope for governed tools: what failed, for whom, in which session and under which plan."""

    name = "system_error"

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return `{"success": true, "data", "metadata"}`."""
        return {"success": True, "data": response.data, "metadata": response.metadata.to_dict()}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the envelope and the extras."""
        governance = failure.governance
        wire: dict[str, Any] = {
            "error_code": renamed(failure, self.name),
            "human_message": failure.message,
            "role": governance.role,
            "session_id": governance.session_id,
            "workspace_root": governance.workspace_root,
            "tool_name": failure.operation,
            "invariant_id": governance.invariant_id,
            "phase_id": governance.phase_id,
            "plan_hash": governance.plan_hash,
            "cause": normalized_cause(failure.exception.__cause__) if failure.cause is not None else None,
            "timestamp": failure.timestamp,
        }
        if failure.stack_trace is not None:
            wire["stack_trace"] = failure.stack_trace
        if failure.suggestions:
            wire["suggestions"] = list(failure.suggestions)
        if failure.details or failure.about:
            wire["details"] = {**(failure.details or {}), **(failure.about or {})}
        return {**wire, **extras(failure)}

    def output_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer; see `WireFormat`."""
        own, _ = inline_root(data)
        success = {"success": {"type": "boolean"}, "data": own, "metadata": OPEN}
        return either(
            success, {"error_code": STRING, "human_message": STRING}, decided_by=("data", "error_code"), data=data
        )

    def success_schema(self) -> dict[str, Any]:
        """Return the schema of a success, whatever its data."""
        return succeeding("success", value=True)

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        return failing(self.name, _FAILURE, REQUIRED)


_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
_ALWAYS: dict[str, Any] = {
    "error_code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
    "human_message": STRING,
    "role": _OR_NULL,
    "session_id": _OR_NULL,
    "workspace_root": _OR_NULL,
    "tool_name": STRING,
    "invariant_id": _OR_NULL,
    "phase_id": _OR_NULL,
    "plan_hash": _OR_NULL,
    "cause": {"type": ["string", "object", "null"]},
    "timestamp": STRING,
}
REQUIRED = tuple(_ALWAYS)
"""The eleven keys."""
_FAILURE: dict[str, Any] = {
    **_ALWAYS,
    "stack_trace": STRING,
    "suggestions": STRINGS,
    "details": {"type": "object"},
    **EXTRAS,
}

"""The format of seed 001: eleven keys that are always present, null where not applicable."""

from __future__ import annotations

from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.wire.base import (
    EXTRAS,
    WireFormat,
)

REQUIRED = (
    *("error_code", "human_message", "role", "session_id", "workspace_root", "tool_name", "invariant_id"),
    *("phase_id", "plan_hash", "cause", "timestamp"),
)
"""The eleven keys."""


class SystemErrorFormat(WireFormat):
    """A flat envelope for governed tools: what failed, for whom, in which session and under which plan."""

    name: ClassVar[str] = "system_error"
    required: ClassVar[tuple[str, ...]] = (*REQUIRED, "effect", "error_id")
    optional: ClassVar[tuple[str, ...]] = ("stack_trace", "suggestions", "details", *EXTRAS[1:-1])
    described: ClassVar[dict[str, Any]] = {"error_code": {"type": "string"}, "human_message": {"type": "string"}}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the envelope and the extras."""
        governance = failure.governance
        wire: dict[str, Any] = {
            "error_code": self.code_of(failure),
            "human_message": failure.message,
            "role": governance.role,
            "session_id": governance.session_id,
            "workspace_root": governance.workspace_root,
            "tool_name": failure.operation,
            "invariant_id": governance.invariant_id,
            "phase_id": governance.phase_id,
            "plan_hash": governance.plan_hash,
            "cause": failure.cause,
            "timestamp": failure.timestamp,
        }
        if failure.stack_trace is not None:
            wire["stack_trace"] = failure.stack_trace
        if failure.suggestions:
            wire["suggestions"] = list(failure.suggestions)
        if failure.details or failure.about:
            wire["details"] = {**(failure.details or {}), **(failure.about or {})}
        return {**wire, **self.extras(failure)}

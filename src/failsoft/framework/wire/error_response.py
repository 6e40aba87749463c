"""The format of seed 003: `{"error": true, "code", "message", "details"?}`."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import InvalidParameter, ValidationFailed
from failsoft.framework.failure import Failure
from failsoft.framework.response import Metadata, ToolResponse
from failsoft.framework.schemas import inline_root
from failsoft.framework.wire.base import (
    DIALECT,
    EXTRAS,
    METADATA,
    STRING,
    STRINGS,
    causes,
    either,
    extras,
    renamed,
    succeeding,
)

__all__ = ["ErrorResponseFormat", "field_errors"]


class ErrorResponseFormat:
    """A flat failure. In every environment its `details` hold the public facts, or the faults of arguments by field."""

    name = "error_response"

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return `{"error": false, "data", "metadata"}`."""
        return {"error": False, "data": response.data, "metadata": response.metadata.to_dict()}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return `{"error": true, "code", "message", "details"?}` and the extras."""
        details = dict(failure.details or {})
        message = failure.message
        is_aggregate = bool(failure.violations) and isinstance(failure.exception, (InvalidParameter, ValidationFailed))
        if not is_aggregate:
            details = {**details, **failure.public}  # details are without contents, which may be what helps
        if failure.violations:
            aggregated = field_errors([(item.path or "arguments", item.message) for item in failure.violations])
            details |= aggregated
            if is_aggregate:
                message = _seed_message(aggregated["totalErrors"])
        wire = {"error": True, "code": renamed(failure, self.name), "message": message}
        if details:
            wire["details"] = details
        if failure.suggestions:
            wire["suggestions"] = list(failure.suggestions)
        return {**wire, **causes(failure), **extras(failure)}

    def output_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer; see `WireFormat`."""
        own, _ = inline_root(data)
        success = {"error": {"type": "boolean"}, "data": own, "metadata": METADATA}
        return either(success, _FAILURE, told_by=("data", "code"), data=data)

    def success_schema(self) -> dict[str, Any]:
        """Return the schema of a success, whatever its data."""
        return succeeding("error", value=False)

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        return {
            "$schema": DIALECT,
            "title": "error_response failure",
            "type": "object",
            "properties": {"error": {"const": True}, **_FAILURE},
            "required": ["error", "code", "message", "effect", "error_id"],
            "additionalProperties": False,
        }


def field_errors(faults: list[tuple[str, str]]) -> dict[str, Any]:
    """Return `{"fieldErrors": {field: [messages]}, "totalErrors": n}` for pairs of field and message."""
    by_field: dict[str, list[str]] = {}
    for name, message in faults:
        by_field.setdefault(name, []).append(message)
    return {"fieldErrors": by_field, "totalErrors": len(faults)}


def _seed_message(count: int) -> str:
    return f"Validation failed: {count} error{'' if count == 1 else 's'}"


_FAILURE: dict[str, Any] = {
    "code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
    "message": STRING,
    "details": {
        "type": "object",
        "properties": {
            "fieldErrors": {"type": "object", "additionalProperties": {"type": "array", "items": STRING}},
            "totalErrors": {"type": "integer", "minimum": 0},
        },
    },
    "suggestions": STRINGS,
    "cause": {"type": "object"},
    "stack_trace": STRING,
    **EXTRAS,
}

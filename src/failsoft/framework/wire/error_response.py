"""The format of seed 003: `{"error": true, "code", "message", "details"?}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata, ToolResponse
from failsoft.framework.errors import InvalidParameter, ValidationFailed
from failsoft.framework.errors.violations import Violation
from failsoft.framework.validation.schemas import inline_root
from failsoft.framework.wire.base import (
    EXTRAS,
    OPEN,
    STRING,
    STRINGS,
    causes,
    either,
    extras,
    failing,
    renamed,
    succeeding,
)

__all__ = ["ErrorResponseFormat", "field_errors"]


class ErrorResponseFormat:
    """A flat failure. In every environment `details` contains the public facts, or the faults of arguments by field."""

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
            details = {
                **details,
                **_camel_case(failure.public),
            }  # `failure.details` is without contents
        if failure.violations:
            aggregated = field_errors([_of_field(item) for item in failure.violations])
            aggregated["totalErrors"] = max(failure.faults, len(failure.violations))
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
        success = {"error": {"type": "boolean"}, "data": own, "metadata": OPEN}
        return either(success, {"code": STRING, "message": STRING}, decided_by=("data", "code"), data=data)

    def success_schema(self) -> dict[str, Any]:
        """Return the schema of a success, whatever its data."""
        return succeeding("error", value=False)

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        return failing(self.name, {"error": {"const": True}, **_FAILURE}, ("error", "code", "message"))


def _of_field(violation: Violation) -> tuple[str, str]:
    """Return the parameter of a fault, and its message: faults of the items of a list are faults of the list."""
    steps = violation.path.split(".")
    place = next((number for number, step in enumerate(steps) if step.isdecimal() or step == "*"), len(steps))
    within = ".".join(steps[place + 1 :])
    message = f"{within}: {violation.message}" if within else violation.message
    if violation.at:  # equal faults of several items
        message = f"{message} ({violation.at})"
    return ".".join(steps[:place]) or "arguments", message


def _camel_case(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return public facts with the seed's names, in camel case."""
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value for name, value in facts.items()}


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

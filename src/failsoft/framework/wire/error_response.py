"""The format of seed 003: `{"error": true, "code", "message", "details"?}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.errors import InvalidParameter, ValidationFailed
from failsoft.framework.errors.violations import Violation
from failsoft.framework.wire.base import CAUSES, EXTRAS, WireFormat, causes


class ErrorResponseFormat(WireFormat):
    """A flat failure. In every environment `details` contains the public facts, or the faults of arguments by field."""

    name: ClassVar[str] = "error_response"
    required: ClassVar[tuple[str, ...]] = ("error", "code", "message", "effect", "error_id")
    optional: ClassVar[tuple[str, ...]] = ("details", "suggestions", *CAUSES, *EXTRAS[1:-1])
    flag: ClassVar[tuple[str, bool]] = ("error", False)

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return `{"error": true, "code", "message", "details"?}` and the extras."""
        details = dict(failure.details or {})
        message = failure.message
        is_aggregate = bool(failure.violations) and isinstance(failure.exception, (InvalidParameter, ValidationFailed))
        if not is_aggregate:
            details |= _camel_case(failure.public)  # `failure.details` is without contents
        if failure.violations:
            aggregated = field_errors([_of_field(item) for item in failure.violations])
            aggregated["totalErrors"] = max(failure.faults, len(failure.violations))
            details |= aggregated
            if is_aggregate:
                message = _seed_message(aggregated["totalErrors"])
        wire = {"error": True, "code": self.code_of(failure), "message": message}
        if details:
            wire["details"] = details
        if failure.suggestions:
            wire["suggestions"] = list(failure.suggestions)
        return {**wire, **causes(failure), **self.extras(failure)}


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

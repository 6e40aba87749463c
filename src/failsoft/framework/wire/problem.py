"""Problem details for APIs (RFC 9457), with `code`, `retry` and `errors[]` as extensions."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata, ToolResponse
from failsoft.framework.errors.violations import Violation
from failsoft.framework.validation.schemas import inline_root
from failsoft.framework.wire.base import (
    EXTRAS,
    OPEN,
    RETRY,
    STRING,
    STRINGS,
    causes,
    either,
    extras,
    failing,
    succeeding,
)

__all__ = ["ProblemFormat"]


class ProblemFormat:
    """`type` is the catalogue page of the code, `instance` the error id as a URN, `errors[]` refer to arguments.

    Args:
        docs_url: Where the catalogue is published; without it `type` is a URN.
    """

    name = "problem"

    def __init__(self, docs_url: str = "") -> None:
        self._docs_url = docs_url.rstrip("/")

    def success(self, response: ToolResponse[Any]) -> dict[str, Any]:
        """Return `{"success": true, "data", "metadata"}`: the RFC defines problems only."""
        return {"success": True, "data": response.data, "metadata": response.metadata.to_dict()}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the problem object."""
        wire: dict[str, Any] = {
            "type": f"{self._docs_url}/{failure.code}" if self._docs_url else f"urn:failsoft:error:{failure.code}",
            "title": _title(failure.exception.__doc__),
            "status": failure.exception.http_status,
            "detail": failure.message,
            "instance": f"urn:failsoft:call:{failure.error_id}",
            "code": failure.code,
            "retry": failure.retry.to_dict(),
        }
        if failure.violations:
            wire["errors"] = [_pointed(violation, failure.message) for violation in failure.violations]
        if failure.suggestions:
            wire["suggestions"] = list(failure.suggestions)
        if failure.details:
            wire["details"] = failure.details
        return {**wire, **causes(failure), **extras(failure, with_violations=False)}

    def output_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer; see `WireFormat`."""
        own, _ = inline_root(data)
        success = {"success": {"type": "boolean"}, "data": own, "metadata": OPEN}
        return either(success, {"code": STRING, "detail": STRING}, decided_by=("data", "code"), data=data)

    def success_schema(self) -> dict[str, Any]:
        """Return the schema of a success, whatever its data."""
        return succeeding("success", value=True)

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        required = ("type", "title", "status", "detail", "instance", "code", "retry")
        return failing(self.name, _FAILURE, required)


def _title(documentation: str | None) -> str:
    return (documentation or "").strip().partition("\n")[0]


def _pointed(violation: Violation, said: str) -> dict[str, Any]:
    """Return a violation with its path as a JSON pointer (RFC 6901) and its message as `detail`.

    Args:
        violation: The fault.
        said: The message of the failure.
    """
    wire = violation.to_dict(said)
    parts = violation.first_path().split(".") if wire.pop("path") else []
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
    wire.pop("message", None)
    return {"pointer": f"#{pointer}", "detail": violation.message, **wire}


_FAILURE: dict[str, Any] = {
    "type": STRING,
    "title": STRING,
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "detail": STRING,
    "instance": STRING,
    "code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
    "retry": RETRY,
    "errors": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"pointer": STRING, "detail": STRING, "reason": STRING, "expected": STRING},
            "required": ["pointer", "detail", "reason"],
        },
    },
    "suggestions": STRINGS,
    "details": {"type": "object"},
    "cause": {"type": "object"},
    "stack_trace": STRING,
    **{name: schema for name, schema in EXTRAS.items() if name != "violations"},
}

"""Problem details for APIs (RFC 9457), with `code`, `retry` and `errors[]` as extensions."""

from __future__ import annotations

from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.errors.violations import Violation
from failsoft.framework.wire.base import CAUSES, WireFormat, causes


class ProblemFormat(WireFormat):
    """`type` is the catalogue page of the code, `instance` the error id as a URN, `errors[]` refer to arguments.

    Without `docs_url` the type is a URN. A success is as in `tool_response`: the RFC defines problems only.
    """

    name: ClassVar[str] = "problem"
    required: ClassVar[tuple[str, ...]] = (
        *("type", "title", "status", "detail", "instance", "code", "retry"),
        *("effect", "error_id"),
    )
    optional: ClassVar[tuple[str, ...]] = ("errors", "suggestions", "details", *CAUSES, "stop_reason", "next_step")
    described: ClassVar[dict[str, Any]] = {"code": {"type": "string"}, "detail": {"type": "string"}}
    is_parsed: ClassVar[bool] = False

    def code_of(self, failure: Failure) -> str:
        """Return the code, which this format never renames."""
        return failure.code

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the problem object."""
        wire: dict[str, Any] = {
            "type": f"{self.docs_url}/{failure.code}" if self.docs_url else f"urn:failsoft:error:{failure.code}",
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
        return {**wire, **causes(failure), **self.extras(failure, with_violations=False)}


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

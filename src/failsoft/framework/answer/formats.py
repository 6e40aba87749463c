"""The six wire formats, one class each, and the look-up of a format by its name."""

from __future__ import annotations

from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.answer.wire import (
    CAUSES,
    EXTRAS,
    STRING,
    AnswerStyle,
    FlatFormat,
    WireFormat,
    causes,
    general_hint,
    violations,
)
from failsoft.framework.errors import ConfigurationError, InvalidParameter, ValidationFailed
from failsoft.framework.errors.violations import Violation

_TO_THE_SECOND = len("2026-01-19T15:32:10")


class CodedErrorFormat(FlatFormat):
    """A flat failure: `error_type` and `jsonrpc_error_code` give its kind, `error_code` the exact error.

    `details` contains the error's public facts, in every environment. The numeric codes are used in the result only: a
    failed tool call is never a protocol error. On success the fields of the data are next to `success: true`.
    """

    name: ClassVar[str] = "coded_error"
    required: ClassVar[tuple[str, ...]] = (
        *("success", "error_type", "error_code", "jsonrpc_error_code", "message", "tool_name", "timestamp"),
        *("effect", "error_id"),
    )
    optional: ClassVar[tuple[str, ...]] = ("details", "suggestions", *CAUSES, *EXTRAS[1:-1])

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the keys of the seed, in its order, and the extras."""
        wire: dict[str, Any] = {
            "success": False,
            "error_type": failure.exception.error_type,
            "error_code": self.code_of(failure),
            "jsonrpc_error_code": failure.exception.numeric_code,
            "message": failure.message,
        }
        details = {**(failure.details or {}), **failure.public}  # `failure.details` is without contents
        if details:
            wire["details"] = details
        wire["suggestions"] = list(failure.suggestions or failure.hints) or [general_hint(failure)]
        wire["tool_name"] = failure.operation
        wire["timestamp"] = f"{failure.timestamp[:_TO_THE_SECOND]}Z"
        return {**wire, **causes(failure), **self.extras(failure)}


_PLACE: dict[str, type] = {"file_path": str, "file_index": int, "edit_index": int}
"""Facts about the location of the failure among the arguments."""
_LISTED: dict[str, type] = {"edit_status": list, "backup_path": str}
_IN_VIOLATIONS = ("param", "expected")
"""Facts of the first violation, which `violations` contains."""


class EditEnvelopeFormat(FlatFormat):
    """A flat envelope: `error_code`, `retryable`, general `recovery_hints`, and the file and edit that failed.

    `context` contains the error's public facts, in every environment; for edits that did not match, an excerpt of the
    file that shows why. On success the fields of the data are next to `success: true`.
    """

    name: ClassVar[str] = "edit_envelope"
    required: ClassVar[tuple[str, ...]] = (
        *("success", "error_code", "message", "retryable", "recovery_hints"),
        *("effect", "error_id"),
    )
    optional: ClassVar[tuple[str, ...]] = (*_PLACE, "context", *_LISTED, "details", *CAUSES, *EXTRAS[1:-1])

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the envelope and the extras."""
        facts = {**failure.public, **(failure.toolset_facts or {})}
        hints = list(failure.suggestions or failure.hints) or [general_hint(failure)]
        wire: dict[str, Any] = {
            "success": False,
            "error_code": self.code_of(failure),
            "message": failure.message,
            "retryable": failure.recoverable,
        }
        wire |= _taken(facts, _PLACE)
        wire["recovery_hints"] = hints
        listed = _taken(facts, _LISTED)
        seen = facts.pop("context", None)
        context = {**facts, **seen} if isinstance(seen, dict) else facts
        if failure.violations:
            context = {name: fact for name, fact in context.items() if name not in _IN_VIOLATIONS}
        if context:
            wire["context"] = context
        if "edit_status" in listed:
            listed["edit_status"] = [_without_path(entry, wire.get("file_path")) for entry in listed["edit_status"]]
        wire |= listed
        if failure.details:
            wire["details"] = failure.details
        return {**wire, **causes(failure), **self.extras(failure)}


def _without_path(entry: Any, path: Any) -> Any:
    """Return the state of an edit without the path of the file that the envelope names."""
    if not isinstance(entry, dict) or entry.get("file_path") != path:
        return entry
    return {name: fact for name, fact in entry.items() if name != "file_path"}


def _taken(facts: dict[str, Any], names: dict[str, type]) -> dict[str, Any]:
    """Remove the facts that have a key of their own from `context`; other toolsets' facts of such names stay."""
    return {name: facts.pop(name) for name, kind in names.items() if isinstance(facts.get(name), kind)}


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
            details |= failure.public  # `failure.details` is without contents
        if failure.violations:
            aggregated = field_errors([_of_field(item) for item in failure.violations])
            aggregated["totalErrors"] = failure.faults
            details |= aggregated
            if is_aggregate:
                count = aggregated["totalErrors"]
                message = f"Validation failed: {count} error{'' if count == 1 else 's'}"
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


def field_errors(faults: list[tuple[str, str]]) -> dict[str, Any]:
    """Return `{"fieldErrors": {field: [messages]}, "totalErrors": n}` for pairs of field and message."""
    by_field: dict[str, list[str]] = {}
    for name, message in faults:
        by_field.setdefault(name, []).append(message)
    return {"fieldErrors": by_field, "totalErrors": len(faults)}


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
    described: ClassVar[dict[str, Any]] = {"code": STRING, "detail": STRING}
    is_parsed: ClassVar[bool] = False

    def code_of(self, failure: Failure) -> str:
        """Return the code, which this format never renames."""
        return failure.code

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the problem object."""
        wire: dict[str, Any] = {
            "type": f"{self.docs_url}/{failure.code}" if self.docs_url else f"urn:failsoft:error:{failure.code}",
            "title": (failure.exception.__doc__ or "").strip().partition("\n")[0],
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
    described: ClassVar[dict[str, Any]] = {"error_code": STRING, "human_message": STRING}

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the envelope and the extras."""
        facts = {
            **failure.governance.to_dict(),
            "error_code": self.code_of(failure),
            "human_message": failure.message,
            "tool_name": failure.operation,
            "cause": failure.cause,
            "timestamp": failure.timestamp,
        }
        wire: dict[str, Any] = {name: facts[name] for name in REQUIRED}
        if failure.stack_trace is not None:
            wire["stack_trace"] = failure.stack_trace
        if failure.suggestions:
            wire["suggestions"] = list(failure.suggestions)
        if failure.details or failure.toolset_facts:
            wire["details"] = {**(failure.details or {}), **(failure.toolset_facts or {})}
        return {**wire, **self.extras(failure)}


_SHORT_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"code": STRING, "message": STRING},
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
        message = failure.message if self.is_full else failure.essence
        error: dict[str, Any] = {"message": message, "code": failure.code, "category": failure.category}
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


FORMATS: dict[str, type[WireFormat]] = {
    kind.name: kind
    for kind in (
        ToolResponseFormat,
        CodedErrorFormat,
        EditEnvelopeFormat,
        ErrorResponseFormat,
        ProblemFormat,
        SystemErrorFormat,
    )
}


def find_format(name: str, *, style: AnswerStyle = "lean", docs_url: str = "") -> WireFormat:
    """Return the format of that name.

    Args:
        name: The name of a format.
        style: What its answers contain (`FAILSOFT_ANSWER`).
        docs_url: Where the error catalogue is published, for a format that links to it.

    Raises:
        CONFIG_ERROR: There is none; the message lists those that there are.
    """
    if name not in FORMATS:
        issue = f"FAILSOFT_WIRE_FORMAT: there is no wire format '{name}'; the formats are {', '.join(FORMATS)}"
        raise ConfigurationError(issue=issue, resolution="set FAILSOFT_WIRE_FORMAT to one of them, or to auto")
    return FORMATS[name](style, docs_url)

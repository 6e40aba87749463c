"""The format of seed 000: one flat envelope for every failure of an edit, with its context."""

from __future__ import annotations

from typing import Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.wire.base import EXTRAS, STRING, STRINGS, causes, extras, failing, general_hint, renamed
from failsoft.framework.wire.flat import FlatFormat

__all__ = ["EditEnvelopeFormat"]

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

    name = "edit_envelope"

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the envelope and the extras."""
        facts = {**failure.public, **(failure.about or {})}
        hints = list(failure.suggestions or failure.hints) or [general_hint(failure)]
        wire: dict[str, Any] = {
            "success": False,
            "error_code": renamed(failure, self.name),
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
        return {**wire, **causes(failure), **extras(failure)}

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        return failing(self.name, {"success": {"const": False}, **_FAILURE}, _ALWAYS)


def _without_path(entry: Any, path: Any) -> Any:
    """Return the state of an edit without the path of the file that the envelope names."""
    if not isinstance(entry, dict) or entry.get("file_path") != path:
        return entry
    return {name: fact for name, fact in entry.items() if name != "file_path"}


def _taken(facts: dict[str, Any], names: dict[str, type]) -> dict[str, Any]:
    """Remove the facts that have a key of their own from `context`; other toolsets' facts of such names stay."""
    return {name: facts.pop(name) for name, kind in names.items() if isinstance(facts.get(name), kind)}


_INDEX: dict[str, Any] = {"type": "integer", "minimum": 0}
_SNIPPET: dict[str, Any] = {"type": "string", "description": "Raw lines of the file, without line numbers."}
_CONTEXT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "snippet": _SNIPPET,
        "match_locations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "line": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Counted in the text as this edit found it.",
                    },
                    "snippet": _SNIPPET,
                },
                "required": ["line", "snippet"],
            },
        },
        "more_matches": {"type": "integer", "minimum": 1, "description": "Matches that are not shown."},
    },
}
_EDIT_STATUS: dict[str, Any] = {
    "type": "array",
    "description": "The edits that failed or were not tried; one that is not listed would have succeeded.",
    "items": {
        "type": "object",
        "properties": {
            "edit_index": _INDEX,
            "status": {"enum": ["failed", "skipped"]},
            "error_code": STRING,
            "message": STRING,
            "old_string_preview": STRING,
        },
        "required": ["edit_index", "status"],
    },
}
_ALWAYS = ("success", "error_code", "message", "retryable", "recovery_hints")
_FAILURE: dict[str, Any] = {
    "error_code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
    "message": STRING,
    "retryable": {
        "type": "boolean",
        "description": "Whether the call can succeed when repeated: at once, later, or corrected.",
    },
    "file_path": STRING,
    "file_index": _INDEX,
    "edit_index": _INDEX,
    "recovery_hints": STRINGS,
    "context": _CONTEXT,
    "edit_status": _EDIT_STATUS,
    "backup_path": STRING,
    "details": {"type": "object"},
    "cause": {"type": "object"},
    "stack_trace": STRING,
    **EXTRAS,
}

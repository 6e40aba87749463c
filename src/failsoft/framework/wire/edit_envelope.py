"""The format of seed 000: one flat envelope for every failure of an edit, with its context."""

from __future__ import annotations

from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.wire.base import CAUSES, EXTRAS, causes, general_hint
from failsoft.framework.wire.flat import FlatFormat

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
        facts = {**failure.public, **(failure.about or {})}
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

"""The sentences on a call that worked, and the list of the edits that one that did not work left undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from failsoft.tools.edit.engine import TextEdit

__all__ = ["edit_status", "message_of", "message_of_all"]

_PREVIEW = 40
"""Characters of an `old_string` that tell which edit is meant."""


def edit_status(edits: Sequence[TextEdit], failed: int, code: str, said: str) -> list[dict[str, Any]]:
    """Return the edit that failed and those that were not tried; the ones before it would have succeeded."""
    told = {"edit_index": failed, "status": "failed", "error_code": code, "message": said}
    return [
        {**told, "old_string_preview": edits[failed].old[:_PREVIEW]},
        *(
            {"edit_index": index, "status": "skipped", "old_string_preview": edits[index].old[:_PREVIEW]}
            for index in range(failed + 1, len(edits))
        ),
    ]


def message_of(edits: int, replacements: int, *, dry_run: bool, is_same: bool) -> str:
    """Return the sentence on one file."""
    what = f"{_count(edits, 'edit')} with {_count(replacements, 'replacement')}"
    if is_same:
        return f"Applied {what}; the content is the same as before, so nothing was written."
    return f"Would apply {what}; nothing was written." if dry_run else f"Applied {what}."


def message_of_all(files: int, edits: int, replacements: int, *, dry_run: bool) -> str:
    """Return the sentence on several files."""
    what = f"{_count(edits, 'edit')} with {_count(replacements, 'replacement')} in {_count(files, 'file')}"
    return f"Would apply {what}; nothing was written." if dry_run else f"Applied {what}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

"""Results of the edit operations. Sizes are in bytes; keys without a value are omitted."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class EditResult(TypedDict):
    """One edit of a file: how many matches it replaced; 0 if old_string and new_string are equal."""

    edit_index: int
    occurrences_replaced: int


class SingleResult(TypedDict):
    """An edited file. `sha256` and `bytes_after` are of the new content, `sha256_before` of the old one."""

    file_path: str
    dry_run: bool
    edits_applied: int
    edits: list[EditResult]
    replacements: int
    bytes_before: int
    bytes_after: int
    sha256: str
    sha256_before: str
    diff: NotRequired[str]
    content: NotRequired[str]
    backup_path: NotRequired[str]
    message: str


class _Succeeded(TypedDict):
    success: Literal[True]


class FileResult(_Succeeded, SingleResult):
    """One of several edited files."""


class FilesResult(TypedDict):
    """Several edited files, in the order of the call, and their totals."""

    dry_run: bool
    files: list[FileResult]
    edits_applied: int
    replacements: int
    message: str


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

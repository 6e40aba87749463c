"""Errors of patches (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import Conflict, InvalidArgument, Public, Words

__all__ = ["PatchApplyFailed", "PatchInvalid"]


class PatchInvalid(InvalidArgument):
    """The patch is not a unified diff that changes or makes this one file.

    Raised when: a line does not follow the format, the counts or positions of a hunk are wrong, it names another file,
    or it does something unsupported: delete or rename a file, change its mode, or patch several or binary files.
    Caller: correct the patch at the line that is named.
    Operator: nothing to do.
    Example:
        >>> code_of(PatchInvalid(reason="there is no hunk", line=2))
        'PATCH_INVALID'
    """

    reason: Public[Words]
    line: Public[int]
    code: ClassVar[str] = "PATCH_INVALID"
    message: str = "The patch cannot be used, line {line}: {reason}."
    hints: ClassVar[tuple[str, ...]] = (
        "Give a unified diff for this one file, whose hunks have the exact line numbers and counts",
        "To write the whole file instead, use write_file",
    )
    since: ClassVar[str] = "0.1.0"


class PatchApplyFailed(Conflict):
    """The patch does not fit the file.

    Raised when: a line that a hunk expects is not in the file at that position; other positions are not tried. The
    expected and the actual line are in the suggestions, which are never logged.
    Caller: read the file again, and make a new patch from its content.
    Operator: nothing to do.
    Example:
        >>> code_of(PatchApplyFailed(hunk=1, line=12, reason="the line differs"))
        'PATCH_APPLY_FAILED'
    """

    content_fields: ClassVar[frozenset[str]] = frozenset({"suggestions"})
    hunk: Public[int]
    line: Public[int]
    reason: Public[Words]
    code: ClassVar[str] = "PATCH_APPLY_FAILED"
    message: str = "Nothing was changed: the patch does not fit the file at line {line}: {reason}."
    hints: ClassVar[tuple[str, ...]] = ("Read the file again, and make the patch from its current content",)
    since: ClassVar[str] = "0.1.0"

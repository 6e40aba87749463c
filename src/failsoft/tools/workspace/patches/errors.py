"""Errors of patches (seed 001, section 2)."""

from __future__ import annotations

from failsoft.framework.errors import Conflict, InvalidArgument, Public, Words


class PatchInvalid(InvalidArgument):
    """The patch is not a unified diff that changes or makes this one file.

    Raised when: a line does not follow the format, the counts or positions of a hunk are wrong, it names another file,
    or it does something unsupported: delete or rename a file, change its mode, or patch several or binary files.
    Caller: correct the patch at the line that is named.
    """

    reason: Public[Words]
    line: Public[int]
    code = "PATCH_INVALID"
    message = "The patch cannot be used, line {line}: {reason}."
    hints = (
        "Give a unified diff for this one file, whose hunks have the exact line numbers and counts",
        "To write the whole file instead, use write_file",
    )


class PatchApplyFailed(Conflict):
    """The patch does not fit the file.

    Raised when: a line that a hunk expects is not in the file at that position; other positions are not tried. The
    expected and the actual line are in the suggestions, which are never logged.
    Caller: read the file again, and make a new patch from its content.
    """

    content_fields = frozenset({"suggestions"})
    hunk: Public[int]
    line: Public[int]
    reason: Public[Words]
    code = "PATCH_APPLY_FAILED"
    message = "Nothing was changed: the patch does not fit the file at line {line}: {reason}."
    hints = ("Read the file again, and make the patch from its current content",)

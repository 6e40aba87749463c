"""Errors of arguments (seed 000), in its order: the first that applies decides the code."""

from __future__ import annotations

from failsoft.framework.errors import InvalidArgument, Public


class RelativePath(InvalidArgument):
    """A path is not absolute.

    Raised when: `file_path` does not begin at the root of the file system.
    Caller: give the whole path, from `/` on.
    """

    code = "RELATIVE_PATH"
    message = "The path is not absolute."
    hints = ("Give the absolute path of the file",)


class PathTraversal(InvalidArgument):
    """A path contains `..`.

    Raised when: one of the names in `file_path` is `..`.
    Caller: give the path without `..`.
    """

    code = "PATH_TRAVERSAL"
    message = "The path contains '..'."
    hints = ("Give the path of the file without '..'",)


class EmptyEdits(InvalidArgument):
    """The list of edits is empty.

    Raised when: `edits` is an empty list.
    Caller: give at least one edit.
    """

    code = "EMPTY_EDITS"
    message = "The list of edits is empty."
    hints = ("Give at least one edit with old_string and new_string",)


class EmptyOldString(InvalidArgument):
    """The `old_string` of an edit is empty.

    Raised when: `old_string` is empty, and so matches everywhere.
    Caller: give the text to be replaced; to insert something, include a line beside the place.
    """

    code = "EMPTY_OLD_STRING"
    message = "An old_string is empty."
    hints = (
        "Give the text that is to be replaced",
        "To insert text, include a neighboring line in both old_string and new_string",
    )


class DuplicateOldString(InvalidArgument):
    """Two edits of one file look for the same text.

    Raised when: two edits of one file have the same `old_string`.
    Caller: combine the two edits, or include more of the surrounding text in each.
    """

    code = "DUPLICATE_OLD_STRING"
    message = "Two edits have the same old_string."
    hints = (
        "Combine the edits that share an old_string",
        "Include more surrounding text in each to tell them apart",
    )


class TooManyEdits(InvalidArgument):
    """A call has more edits than one call may have.

    Raised when: the edits of all files together exceed the limit.
    Caller: split the edits over several calls.
    Operator: raise `FAILSOFT_EDIT_MAX_EDITS` if larger calls are wanted.
    """

    edits: Public[int]
    limit: Public[int]
    code = "TOO_MANY_EDITS"
    message = "The call has {edits} edits, and one call may have {limit}."
    hints = ("Split the edits over several calls",)

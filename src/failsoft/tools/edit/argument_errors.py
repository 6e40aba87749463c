"""Errors of arguments (seed 000), in its order: the first that applies decides the code."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import InvalidArgument, Public

__all__ = [
    "DuplicateOldString",
    "EmptyEdits",
    "EmptyOldString",
    "PathTraversal",
    "RelativePath",
    "TooManyEdits",
]


class RelativePath(InvalidArgument):
    """A path is not absolute.

    Raised when: `file_path` does not begin at the root of the file system.
    Caller: give the whole path, from `/` on.
    Operator: nothing to do.
    Example:
        >>> code_of(RelativePath())
        'RELATIVE_PATH'
    """

    code: ClassVar[str] = "RELATIVE_PATH"
    message: str = "The path is not absolute."
    hints: ClassVar[tuple[str, ...]] = ("Give the absolute path of the file",)
    since: ClassVar[str] = "0.1.0"


class PathTraversal(InvalidArgument):
    """A path contains `..`.

    Raised when: one of the names in `file_path` is `..`.
    Caller: give the path without `..`.
    Operator: nothing to do.
    Example:
        >>> code_of(PathTraversal())
        'PATH_TRAVERSAL'
    """

    code: ClassVar[str] = "PATH_TRAVERSAL"
    message: str = "The path contains '..'."
    hints: ClassVar[tuple[str, ...]] = ("Give the path of the file without '..'",)
    since: ClassVar[str] = "0.1.0"


class EmptyEdits(InvalidArgument):
    """The list of edits is empty.

    Raised when: `edits` is an empty list.
    Caller: give at least one edit.
    Operator: nothing to do.
    Example:
        >>> code_of(EmptyEdits())
        'EMPTY_EDITS'
    """

    code: ClassVar[str] = "EMPTY_EDITS"
    message: str = "The list of edits is empty."
    hints: ClassVar[tuple[str, ...]] = ("Give at least one edit with old_string and new_string",)
    since: ClassVar[str] = "0.1.0"


class EmptyOldString(InvalidArgument):
    """The `old_string` of an edit is empty.

    Raised when: `old_string` is empty, and so matches everywhere.
    Caller: give the text to be replaced; to insert something, include a line beside the place.
    Operator: nothing to do.
    Example:
        >>> code_of(EmptyOldString())
        'EMPTY_OLD_STRING'
    """

    code: ClassVar[str] = "EMPTY_OLD_STRING"
    message: str = "An old_string is empty."
    hints: ClassVar[tuple[str, ...]] = (
        "Give the text that is to be replaced",
        "To insert text, include a neighboring line in both old_string and new_string",
    )
    since: ClassVar[str] = "0.1.0"


class DuplicateOldString(InvalidArgument):
    """Two edits of one file look for the same text.

    Raised when: two edits of one file have the same `old_string`.
    Caller: combine the two edits, or include more of the surrounding text in each.
    Operator: nothing to do.
    Example:
        >>> code_of(DuplicateOldString())
        'DUPLICATE_OLD_STRING'
    """

    code: ClassVar[str] = "DUPLICATE_OLD_STRING"
    message: str = "Two edits have the same old_string."
    hints: ClassVar[tuple[str, ...]] = (
        "Combine the edits that share an old_string",
        "Include more surrounding text in each to tell them apart",
    )
    since: ClassVar[str] = "0.1.0"


class TooManyEdits(InvalidArgument):
    """A call has more edits than one call may have.

    Raised when: the edits of all files together exceed the limit.
    Caller: split the edits over several calls.
    Operator: raise `FAILSOFT_EDIT_MAX_EDITS` if larger calls are wanted.
    Example:
        >>> code_of(TooManyEdits(edits=1001, limit=1000))
        'TOO_MANY_EDITS'
    """

    edits: Public[int]
    limit: Public[int]
    code: ClassVar[str] = "TOO_MANY_EDITS"
    message: str = "The call has {edits} edits, and one call may have {limit}."
    hints: ClassVar[tuple[str, ...]] = ("Split the edits over several calls",)
    since: ClassVar[str] = "0.1.0"

"""Errors of the edit operations, in the order of seed 000: of several faults of arguments, the first one decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors import Conflict, InvalidArgument, Public, StorageError, Words
from failsoft.tools.files.faults import RE_READ


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


class MatchNotFound(Conflict):
    """The text that an edit looks for is not in the file.

    Raised when: `old_string` is not in the file as the edits before it leave it.
    Caller: copy `old_string` from the excerpt in `context`, or read the file again.
    """

    file_path: Public[str | None] = None
    file_index: Public[int | None] = None
    edit_index: Public[int | None] = None
    context: Public[Mapping[str, Any] | None] = None
    content_fields = frozenset({"context"})
    edit_status: Public[Sequence[Mapping[str, Any]] | None] = None
    code = "MATCH_NOT_FOUND"
    message = "Nothing was changed: an old_string is not in the file."
    hints = (
        "Check for whitespace differences between old_string and the file content",
        RE_READ,
    )


class AmbiguousMatch(InvalidArgument):
    """The text that an edit looks for occurs at several places.

    Raised when: `old_string` matches more than once and `replace_all` is not set; overlapping matches count separately.
    Caller: include more of the surrounding text in `old_string`, or set `replace_all` to change every match.
    """

    matches: int
    file_path: Public[str | None] = None
    file_index: Public[int | None] = None
    edit_index: Public[int | None] = None
    context: Public[Mapping[str, Any] | None] = None
    content_fields = frozenset({"context"})
    edit_status: Public[Sequence[Mapping[str, Any]] | None] = None
    code = "AMBIGUOUS_MATCH"
    message = "Nothing was changed: an old_string matches {matches} places in the file."
    hints = (
        "Include more surrounding text in old_string so that it matches one place only",
        "Use replace_all if every match is meant",
        RE_READ,
    )


class SymlinkLoop(InvalidArgument):
    """The links on the way to the file lead back to themselves.

    Raised when: resolving the path takes more symbolic links than the system allows.
    Caller: use another path, or report it to the user.
    Operator: repair the links.
    """

    file_path: Public[str | None] = None
    code = "SYMLINK_LOOP"
    message = "The symbolic links of the path form a loop."
    hints = ("Report to the user that the links have to be repaired",)
    retry = "never"
    actor = "operator"


class DiskFull(StorageError):
    """The disk is full.

    Raised when: the file system, or the quota on it, is full.
    Operator: free space; old and new content exist side by side during a write.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    code = "DISK_FULL"
    message = "The disk is full."
    hints = ("Report to the user that the disk is full",)


class ReadOnlyFs(StorageError):
    """The disk is mounted read-only.

    Raised when: the operating system refuses every change on the file system.
    Operator: mount it writable if files on it should be edited.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    code = "READ_ONLY_FS"
    message = "The file is on a read-only disk."
    hints = ("Report to the user that the disk is read-only",)


class BackupFailed(StorageError):
    """The backup could not be made, so nothing was changed.

    Raised when: `backup` is set and the copy beside the file cannot be written.
    Caller: call again without `backup` only if the user agrees.
    Operator: look up the error id in the log, which has the system's reason.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    reason: Public[Words] = "the operating system refused it"
    code = "BACKUP_FAILED"
    message = "Nothing was changed: the backup could not be made ({reason})."
    hints = ("Report to the user that no backup can be made",)


class WriteFailed(StorageError):
    """The new content could not be written.

    Raised when: the operating system refuses a step of the change for a reason without a code of its own.
    Caller: do not repeat the call; report the error id to the user.
    Operator: look up the error id in the log, which has the system's reason.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    reason: Public[Words] = "the operating system refused it"
    code = "WRITE_FAILED"
    message = "The change could not be written: {reason}."
    hints = ("Report to the user that the file could not be written",)

"""Errors of the edit operations, in the order of seed 000, and which of them a fault of a file is.

Of several faults of arguments, the first one in this order decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.errors import (
    Conflict,
    DeadlineExceeded,
    InvalidArgument,
    InvalidParameter,
    PermissionDenied,
    Public,
    StorageError,
    ToolError,
    Words,
)
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.text import quoted
from failsoft.tools.files import SPELLING, FaultKind, FaultTable, FileFault, Roots, kind_of, similar_files
from failsoft.tools.files.faults import RE_READ, FileNotFound, FileTooLarge, HashMismatch, LockTimeout

_OWN_FOLDER = "the server cannot use its state folder"
_HINT = "Make the state folder of failsoft writable for the user that the server runs as"
_UNFINISHED = "Nothing was changed: an edit that a crash interrupted holds the file, and this server cannot finish it."
_FOLDERS_AT_MOST = 5
_UNFINISHED_HINT = "Start the server once with the --root folders that it had before the crash"


class RelativePath(InvalidArgument):
    """A path is not absolute.

    Raised when: `file_path` is relative.
    Caller: give the absolute path of the file.
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

    Raised when: `old_string` is empty: it would match everywhere.
    Caller: give the text to be replaced; to insert text, include a neighboring line in both strings.
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

    Raised when: `old_string` is not in the file, as the preceding edits of the call leave it.
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
    """The symbolic links of the path form a loop.

    Raised when: resolving the path follows more symbolic links than the system allows.
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

    Raised when: the file system is full, or the user's quota on it is used up.
    Operator: free space; a write needs room for the old and the new content at once.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    code = "DISK_FULL"
    message = "The disk is full."
    hints = ("Report to the user that the disk is full",)


class ReadOnlyFs(StorageError):
    """The file is on a file system that is mounted read-only.

    Raised when: the operating system refuses every change of the file system.
    Operator: mount it writable if its files should be edited.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    code = "READ_ONLY_FS"
    message = "The file is on a read-only file system."
    hints = ("Report to the user that the file system is read-only",)


class BackupFailed(StorageError):
    """The backup could not be made, so nothing was changed.

    Raised when: `backup` is set and the copy beside the file cannot be written.
    Caller: report it to the user; call again without `backup` only if the user agrees.
    Operator: find the error id in the log, which has the reason of the operating system.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    reason: Public[Words] = "the operating system refused it"
    code = "BACKUP_FAILED"
    message = "Nothing was changed: the backup could not be made ({reason})."
    hints = ("Report to the user that no backup can be made",)


class WriteFailed(StorageError):
    """The new content could not be written.

    Raised when: the operating system refuses a step of the change for a reason that has no code of its own.
    Caller: do not repeat the call; report the error id to the user.
    Operator: find the error id in the log, which has the reason of the operating system.
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    reason: Public[Words] = "the operating system refused it"
    code = "WRITE_FAILED"
    message = "The change could not be written: {reason}."
    hints = ("Report to the user that the file could not be written",)


@dataclass(frozen=True, slots=True)
class FaultPlace:
    """Where the file of a fault is in a call.

    Args:
        path: The file as the caller named it.
        name: How messages call it, quoted.
        argument: The path of its argument, as violations write it.
        roots: What may be edited.
    """

    path: str
    name: str
    argument: str
    roots: Roots

    def faulty(self, reason: Reason, message: str) -> ToolError:
        """Return the error of a path that cannot be used."""
        return InvalidParameter.from_violations(
            [Violation(path=self.argument, reason=reason, message=message, expected="the path of a file")]
        )


def _missing(fault: FileFault, place: FaultPlace) -> ToolError:
    path = fault.path or place.path
    return FileNotFound.named([path], closest=similar_files(place.roots, path), advice="Nothing was changed.")


def _outside(_: FileFault, place: FaultPlace) -> PermissionDenied:
    folders = place.roots.folders
    if folders == ("/",):
        said = "is not a file that this server edits"
    else:
        listed = ", ".join(quoted(folder) for folder in folders[:_FOLDERS_AT_MOST])
        only = "the only folder" if len(folders) == 1 else "the only folders"
        said = f"lies outside {listed}, {only} this server edits"
    return PermissionDenied(message=f"{quoted(place.path)} {said}. Nothing was changed.")


def _several_names(_: FileFault, place: FaultPlace) -> PermissionDenied:
    return PermissionDenied(
        message=f"{quoted(place.path)} has several names (hard links), and one may lie outside. Nothing was changed.",
        operator_hint="FAILSOFT_EDIT_HARD_LINKS=true allows files that have several names.",
    )


def _state_folder(fault: FileFault, _: FaultPlace) -> ToolError:
    error = _OF_STATE_FOLDER.get(kind_of(fault.errno or 0, "find"), WriteFailed)
    return error(message=f"Nothing was changed: {_OWN_FOLDER} ({fault.os_reason}).", operator_hint=_HINT)


def _failed(fault: FileFault, _: FaultPlace) -> ToolError:
    cause = fault.__cause__ if fault.step in {"find", "read"} else None
    return WriteFailed(file_path=fault.path, reason=fault.os_reason) if cause is None else normalize(cause)


_OF_STATE_FOLDER: dict[FaultKind, type[ToolError]] = {
    "denied": PermissionDenied,
    "disk_full": DiskFull,
    "read_only": ReadOnlyFs,
}
_SPELLING: Mapping[FaultKind, Callable[[FileFault, FaultPlace], ToolError]] = {
    kind: lambda fault, place: place.faulty(*SPELLING[fault.kind]) for kind in SPELLING
}
FAULT_ERRORS: FaultTable[FaultPlace] = FaultTable(
    {
        **_SPELLING,
        "relative": lambda _, __: RelativePath(),
        "parent": lambda _, __: PathTraversal(),
        "outside": _outside,
        "several_names": _several_names,
        "not_regular": lambda fault, place: place.faulty("value", f"leads to a {fault.facts['what']}, not to a file"),
        "too_large": lambda fault, _: FileTooLarge(file_path=fault.path, **fault.facts),
        "changed": lambda fault, place: HashMismatch.of(
            fault.path, name=place.name, advice=", during this call.", effect=fault.effect
        ),
        "same_file": lambda _, place: place.faulty("value", "leads to the same file as another one of the call"),
        "locked": lambda fault, _: LockTimeout(file_path=fault.path, waited_s=round(fault.facts["waited_s"], 1)),
        "given_up": lambda _, __: DeadlineExceeded(message="The call was given up before anything was written."),
        "unfinished": lambda fault, _: WriteFailed(
            file_path=fault.path, message=_UNFINISHED, operator_hint=_UNFINISHED_HINT
        ),
        "missing": _missing,
        "not_a_folder": _missing,
        "vanished": _missing,
        "denied": lambda _, place: PermissionDenied(message=f"The operating system refused access to {place.name}."),
        "disk_full": lambda fault, _: DiskFull(file_path=fault.path),
        "read_only": lambda fault, _: ReadOnlyFs(file_path=fault.path),
        "link_loop": lambda fault, _: SymlinkLoop(file_path=fault.path),
        "name_too_long": lambda _, place: place.faulty(
            "length", "has a name that is longer than the file system accepts"
        ),
        "backup": lambda fault, _: BackupFailed(file_path=fault.path, reason=fault.os_reason),
        "state_folder": _state_folder,
    },
    otherwise=_failed,
)

"""Map the faults of `failsoft.tools.files` to the errors of seed 000."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from failsoft.framework.errors import DeadlineExceeded, InvalidParameter, PermissionDenied, ToolError
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.text import quoted
from failsoft.tools import files
from failsoft.tools.edit.argument_errors import PathTraversal, RelativePath
from failsoft.tools.edit.errors import (
    BackupFailed,
    DiskFull,
    ReadOnlyFs,
    SymlinkLoop,
    WriteFailed,
)
from failsoft.tools.edit.request import EditRequest
from failsoft.tools.files.faults import FileNotFound, FileTooLarge, HashMismatch, LockTimeout

_BY_ERRNO: dict[int, type[ToolError]] = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), FileNotFound),
    **dict.fromkeys((errno.EACCES, errno.EPERM), PermissionDenied),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), DiskFull),
    errno.EROFS: ReadOnlyFs,
    errno.ELOOP: SymlinkLoop,
}
_OF_ANY_FOLDER = frozenset({PermissionDenied, DiskFull, ReadOnlyFs})
_OURS = frozenset({"lock", "journal"})
"""Steps in the server's own folder, where the caller's path is not to blame."""
_OWN_FOLDER = "the server cannot use its state folder"
_HINT = "Make the state folder of failsoft writable for the user that the server runs as"
_UNFINISHED = "Nothing was changed: an edit that a crash interrupted holds the file, and this server cannot finish it."
_FOLDERS_AT_MOST = 5
_UNFINISHED_HINT = "Start the server once with the --root folders that it had before the crash"


def to_error(fault: files.FileFault, request: EditRequest, roots: files.Roots) -> ToolError:
    """Return the error for a fault, with its effect, and the place of its file among the call's.

    Args:
        fault: What happened.
        request: The request of the call.
        roots: What may be edited.
    """
    paths = request.paths
    places = [place for place, path in enumerate(paths) if path == fault.path] or [0]
    index = places[-1]  # of a file that is named twice, the second place is the fault
    if isinstance(fault, files.DiskFault):
        error = _disk_error(fault, request, index, roots)
    else:
        error = _other_error(fault, request, index, roots)
    error.effect = fault.effect
    error.details |= {"file_index": index, "file_path": fault.path or paths[index]}
    backup = fault.backups.get(paths[index]) or next(iter(fault.backups.values()), None)
    if backup is not None:
        error.details["backup_path"] = backup
    return error


def _other_error(  # noqa: PLR0911 - one a fault
    fault: files.FileFault, request: EditRequest, index: int, roots: files.Roots
) -> ToolError:
    path = fault.path
    match fault:
        case files.BadSpelling():
            return _misspelt(fault, request, index)
        case files.OutsideRoots():
            return _outside(fault, request.paths[index], roots.folders)
        case files.NotARegularFile():
            return _faulty(request, index, "value", f"leads to a {fault.kind}, not to a file")
        case files.SameFileTwice():
            return _faulty(request, index, "value", "leads to the same file as another one of the call")
        case files.TooLarge():
            return FileTooLarge(file_path=path, size_bytes=fault.size_bytes, limit_bytes=fault.limit_bytes)
        case files.ChangedOnDisk():
            name = request.name_of(request.files[index])
            return HashMismatch(file_path=path, message=f"Nothing was changed: {name} changed during the call.")
        case files.LockWaitExceeded():
            return LockTimeout(file_path=path, waited_s=round(fault.waited_s, 1))
        case files.GivenUp():
            return DeadlineExceeded(message="The call was given up before anything was written.")
        case files.UnfinishedTransaction():
            return WriteFailed(file_path=path, message=_UNFINISHED, operator_hint=_UNFINISHED_HINT)
    return WriteFailed(file_path=path)


def _outside(fault: files.OutsideRoots, path: str, folders: Sequence[str]) -> PermissionDenied:
    if isinstance(fault, files.SeveralNames):
        return PermissionDenied(
            message=f"{quoted(path)} has several names (hard links), and one may lie outside. Nothing was changed.",
            operator_hint="FAILSOFT_EDIT_HARD_LINKS=true allows files that have several names.",
        )
    if tuple(folders) == ("/",):
        said = "is not a file that this server edits"
    else:
        listed = ", ".join(quoted(folder) for folder in folders[:_FOLDERS_AT_MOST])
        only = "the only folder" if len(folders) == 1 else "the only folders"
        said = f"lies outside {listed}, {only} this server edits"
    return PermissionDenied(message=f"{quoted(path)} {said}. Nothing was changed.")


def _misspelt(fault: files.BadSpelling, request: EditRequest, index: int) -> ToolError:
    if fault.reason == "relative":
        return RelativePath()
    if fault.reason == "parent":
        return PathTraversal()
    return _faulty(request, index, *files.SPELLING[fault.reason])


def _faulty(request: EditRequest, index: int, reason: Reason, message: str) -> ToolError:
    place = request.argument(index, "file_path")
    return InvalidParameter.from_violations(
        [Violation(path=place, reason=reason, message=message, expected="the path of a file")]
    )


def _disk_error(  # noqa: PLR0911 - one a fault
    fault: files.DiskFault, request: EditRequest, index: int, roots: files.Roots
) -> ToolError:
    said = os.strerror(fault.errno).lower()
    if fault.step == "backup":
        return BackupFailed(file_path=fault.path, reason=said)
    kind = _BY_ERRNO.get(fault.errno, WriteFailed)
    if fault.step in _OURS:
        message = f"Nothing was changed: {_OWN_FOLDER} ({said})."
        return (kind if kind in _OF_ANY_FOLDER else WriteFailed)(message=message, operator_hint=_HINT)
    if kind is PermissionDenied:
        return PermissionDenied(
            message=f"The operating system refused access to {request.name_of(request.files[index])}."
        )
    if kind is WriteFailed:
        if fault.errno == errno.ENAMETOOLONG and fault.step == "find":
            return _faulty(request, index, "length", "has a name that is longer than the file system accepts")
        cause = fault.__cause__ if fault.step in {"find", "read"} else None
        return WriteFailed(file_path=fault.path, reason=said) if cause is None else normalize(cause)
    if kind is FileNotFound:
        path = fault.path or request.paths[index]
        return FileNotFound.named([path], closest=files.similar_files(roots, path), advice="Nothing was changed.")
    return kind(file_path=fault.path)  # type: ignore[call-arg]  # each of these classes has the field

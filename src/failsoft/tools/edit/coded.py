"""What `failsoft.tools.files` reports, as the errors of seed 000: the one place that knows both."""

from __future__ import annotations

import errno
import os

from failsoft.framework.errors import DeadlineExceeded, InvalidParameter, PermissionDenied, ToolError
from failsoft.framework.normalize import normalize
from failsoft.framework.violations import Reason, Violation
from failsoft.tools import files
from failsoft.tools.edit.argument_errors import PathTraversal, RelativePath
from failsoft.tools.edit.errors import (
    BackupFailed,
    DiskFull,
    FileNotFound,
    FileTooLarge,
    HashMismatch,
    LockTimeout,
    ReadOnlyFs,
    SymlinkLoop,
    WriteFailed,
)
from failsoft.tools.edit.request import Request

__all__ = ["coded"]

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
_OWN_FOLDER = "the server cannot use the folder in which it keeps its records of edits"
_HINT = "Make the state folder of failsoft writable for the user that the server runs as"
_UNFINISHED = "An edit that a crash interrupted still holds the file, and this server may not finish it."
_UNFINISHED_HINT = "Start the server once with the --root folders that it had before the crash"
_SPELLING: dict[str, tuple[Reason, str]] = {
    "empty": ("length", "is empty"),
    "nul": ("format", "has a NUL character in it"),
    "long": ("length", "is longer than the operating system takes"),
    "encoding": ("format", "cannot be written as a file name"),
}


def coded(fault: files.FileFault, request: Request) -> ToolError:
    """Return the error for a fault, with its effect, and the place of its file among the call's.

    Args:
        fault: What happened.
        request: What the call asked for.
    """
    paths = request.paths
    places = [place for place, path in enumerate(paths) if path == fault.path] or [0]
    index = places[-1]  # of a file that is named twice, the second place is the fault
    if isinstance(fault, files.DiskFault):
        error = _disk_error(fault, request, index)
    else:
        error = _other_error(fault, request, index)
    error.effect = fault.effect
    error.details |= {"file_index": index, "file_path": fault.path or paths[index]}
    backup = fault.backups.get(paths[index]) or next(iter(fault.backups.values()), None)
    if backup is not None:
        error.details["backup_path"] = backup
    return error


def _other_error(fault: files.FileFault, request: Request, index: int) -> ToolError:  # noqa: PLR0911 - one a fault
    path = fault.path
    match fault:
        case files.BadSpelling():
            return _misspelt(fault, request, index)
        case files.OutsideRoots():
            return PermissionDenied(message="The file lies outside the folders that may be edited here.")
        case files.NotARegularFile():
            return _faulty(request, index, "value", f"leads to a {fault.kind}, not to a file")
        case files.SameFileTwice():
            return _faulty(request, index, "value", "leads to the same file as another one of the call")
        case files.TooLarge():
            return FileTooLarge(file_path=path, size_bytes=fault.size_bytes, limit_bytes=fault.limit_bytes)
        case files.ChangedOnDisk():
            return HashMismatch(file_path=path)
        case files.LockTimeout():
            return LockTimeout(file_path=path, waited_s=round(fault.waited_s, 1))
        case files.GivenUp():
            return DeadlineExceeded(message="Nobody waited for the call any more, so nothing was written.")
        case files.UnfinishedTransaction():
            return WriteFailed(file_path=path, message=_UNFINISHED, operator_hint=_UNFINISHED_HINT)
    return WriteFailed(file_path=path)


def _misspelt(fault: files.BadSpelling, request: Request, index: int) -> ToolError:
    if fault.reason == "relative":
        return RelativePath()
    if fault.reason == "parent":
        return PathTraversal()
    return _faulty(request, index, *_SPELLING[fault.reason])


def _faulty(request: Request, index: int, reason: Reason, message: str) -> ToolError:
    place = request.argument(index, "file_path")
    return InvalidParameter.from_violations(
        [Violation(path=place, reason=reason, message=message, expected="the path of a file")]
    )


def _disk_error(fault: files.DiskFault, request: Request, index: int) -> ToolError:
    said = os.strerror(fault.errno).lower()
    if fault.step == "backup":
        return BackupFailed(file_path=fault.path, reason=said)
    kind = _BY_ERRNO.get(fault.errno, WriteFailed)
    if fault.step in _OURS:
        told = f"Nothing was edited: {_OWN_FOLDER} ({said})."
        return (kind if kind in _OF_ANY_FOLDER else WriteFailed)(message=told, operator_hint=_HINT)
    if kind is PermissionDenied:
        return PermissionDenied(message="The operating system refused the access to the file.")
    if kind is WriteFailed:
        if fault.errno == errno.ENAMETOOLONG and fault.step == "find":
            return _faulty(request, index, "length", "has a name that is longer than the file system takes")
        cause = fault.__cause__ if fault.step in {"find", "read"} else None
        return WriteFailed(file_path=fault.path, reason=said) if cause is None else normalize(cause)
    return kind(file_path=fault.path)

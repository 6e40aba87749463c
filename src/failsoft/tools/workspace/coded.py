"""What `failsoft.tools.files` reports, as the errors of seed 001: the one place that knows both."""

from __future__ import annotations

import errno
import os
from typing import Literal, TypeAlias

from failsoft.framework.errors import DeadlineExceeded, ToolError
from failsoft.framework.violations import Reason, Violation
from failsoft.tools import files
from failsoft.tools.edit.errors import FileNotFound, FileTooLarge, HashMismatch, LockTimeout
from failsoft.tools.workspace.file_errors import FileAlreadyExists, FileReadFailed, FileWriteFailed
from failsoft.tools.workspace.path_errors import InvalidPath, OutsideWorkspace, PathNotFound, PathTraversalBlocked
from failsoft.tools.workspace.session_errors import SessionInitializationFailed

__all__ = ["Doing", "changed", "coded_file", "coded_root"]

Doing: TypeAlias = Literal["read", "list", "write"]

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})
_SPELLING: dict[str, tuple[Reason, str]] = {
    "empty": ("length", "it is empty"),
    "nul": ("format", "it has a NUL character in it"),
    "long": ("length", "it is longer than the operating system takes"),
    "encoding": ("format", "it cannot be written as a file name"),
    "deep": ("value", "it lacks more folders than one call makes"),
    "relative": ("pattern", "it is not absolute"),
}


def coded_root(fault: files.FileFault, parameter: str) -> ToolError:
    """Return the error for a fault with the folder of a session that shall begin; nothing was changed.

    Args:
        fault: What happened.
        parameter: The argument that named the folder.
    """
    error = _root_error(fault, parameter)
    error.effect = "none"
    return error


def _root_error(fault: files.FileFault, parameter: str) -> ToolError:
    match fault:
        case files.BadSpelling():
            return misspelt(fault, parameter)
        case files.OutsideRoots():
            return OutsideWorkspace()
        case files.NotARegularFile():
            return invalid_path(parameter, "value", f"it leads to a {fault.kind}, not to a folder")
        case files.DiskFault():
            return _root_refused(fault, parameter)
    return SessionInitializationFailed(reason="the folder cannot be opened")


def _root_refused(fault: files.DiskFault, parameter: str) -> ToolError:
    if fault.errno in _MISSING:
        return PathNotFound(path=fault.path or "")
    if fault.errno == errno.ENAMETOOLONG:
        return invalid_path(parameter, "length", "it has a name that is longer than the file system takes")
    return SessionInitializationFailed(reason=os.strerror(fault.errno).lower())


def coded_file(fault: files.FileFault, doing: Doing) -> ToolError:
    """Return the error for a fault with the `path` of a call, with its effect.

    Args:
        fault: What happened.
        doing: What was being done.
    """
    error = _disk_error(fault, doing) if isinstance(fault, files.DiskFault) else _file_error(fault, doing)
    error.effect = fault.effect
    return error


def _file_error(fault: files.FileFault, doing: Doing) -> ToolError:  # noqa: PLR0911 - one a fault
    match fault:
        case files.BadSpelling():
            return misspelt(fault, "path")
        case files.SeveralNames():
            return OutsideWorkspace(message="The file has another name as well, which may lie outside.")
        case files.OutsideRoots():
            return OutsideWorkspace()
        case files.NotARegularFile():
            wanted = "folder" if doing == "list" else "file"
            return invalid_path("path", "value", f"it leads to a {fault.kind}, not to a {wanted}")
        case files.TooLarge():
            return FileTooLarge(file_path=fault.path, size_bytes=fault.size_bytes, limit_bytes=fault.limit_bytes)
        case files.ChangedOnDisk():
            return changed(fault.path)
        case files.LockTimeout():
            return LockTimeout(file_path=fault.path, waited_s=round(fault.waited_s, 1))
        case files.GivenUp():
            return DeadlineExceeded(message="Nobody waited for the call any more, so nothing was written.")
    return FileWriteFailed(reason="an earlier call that a crash interrupted holds it")


def _disk_error(fault: files.DiskFault, doing: Doing) -> ToolError:
    if fault.errno in _MISSING and fault.step == "find":
        is_folder = doing == "list" or fault.errno == errno.ENOTDIR
        return PathNotFound(path=fault.path or ".") if is_folder else FileNotFound(file_path=fault.path)
    if fault.errno == errno.EEXIST and fault.step == "place":
        return FileAlreadyExists(path=fault.path or "")
    if fault.errno == errno.ENAMETOOLONG and fault.step in {"find", "place"}:
        return invalid_path("path", "length", "it has a name that is longer than the file system takes")
    kind = FileWriteFailed if doing == "write" else FileReadFailed
    return kind(reason=os.strerror(fault.errno).lower())


def changed(path: str | None, *, expected_hash: str | None = None, actual_hash: str | None = None) -> HashMismatch:
    """Return the error for a file that is not the one that the caller has read."""
    return HashMismatch(
        message="The file has changed since it was read, so nothing was written.",
        file_path=path,
        expected_hash=expected_hash,
        actual_hash=actual_hash,
    )


def misspelt(fault: files.BadSpelling, parameter: str) -> ToolError:
    """Return the error for a path that no file can have."""
    if fault.reason == "parent":
        return PathTraversalBlocked()
    return invalid_path(parameter, *_SPELLING[fault.reason])


def invalid_path(parameter: str, reason: Reason, said: str) -> InvalidPath:
    """Return the error for a path that cannot be used, with its place among the arguments."""
    violation = Violation(path=parameter, reason=reason, message=said, expected="a path in the workspace")
    return InvalidPath(reason=said, violations=[violation])

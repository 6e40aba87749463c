"""Map the faults of `failsoft.tools.files` to the errors of seed 001."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Literal, TypeAlias

from failsoft.framework.errors import DeadlineExceeded, ToolError
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import quoted
from failsoft.tools import files
from failsoft.tools.files.faults import FileNotFound, FileTooLarge, HashMismatch, LockTimeout
from failsoft.tools.workspace.files.file_errors import FileAlreadyExists, FileReadFailed, FileWriteFailed
from failsoft.tools.workspace.files.path_errors import InvalidPath, OutsideWorkspace, PathNotFound, PathTraversalBlocked
from failsoft.tools.workspace.sessions.errors import SessionInitializationFailed

Action: TypeAlias = Literal["read", "list", "write"]

_FOLDERS_AT_MOST = 5
_PATH_AT_MOST = 120
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})


def to_root_error(fault: files.FileFault, parameter: str, folders: Sequence[str]) -> ToolError:
    """Return the error for a fault of the folder that a session should begin in; nothing was changed.

    Args:
        fault: What happened.
        parameter: The argument that named the folder.
        folders: The folders that the server offers.
    """
    error = _root_error(fault, parameter, folders)
    error.effect = "none"
    return error


def _root_error(fault: files.FileFault, parameter: str, folders: Sequence[str]) -> ToolError:
    match fault:
        case files.BadSpelling():
            return misspelt(fault, parameter)
        case files.OutsideRoots():
            listed = ", ".join(quoted(folder) for folder in folders[:_FOLDERS_AT_MOST])
            named = quoted(fault.path or "")
            return OutsideWorkspace(
                message=f"{named} lies outside the folders of this server; give a folder in {listed}."
            )
        case files.NotARegularFile():
            return invalid_path(parameter, "value", f"it is a {fault.kind}, not a folder", fault.path)
        case files.DiskFault():
            return _root_refused(fault, parameter)
    return SessionInitializationFailed(reason="the folder cannot be opened")


def _root_refused(fault: files.DiskFault, parameter: str) -> ToolError:
    if fault.errno in _MISSING:
        return _no_path(fault.path or "")
    if fault.errno == errno.ENAMETOOLONG:
        return invalid_path(parameter, "length", "it has a name that is longer than the file system accepts")
    return SessionInitializationFailed(reason=os.strerror(fault.errno).lower())


def to_error(fault: files.FileFault, action: Action, *, root: str) -> ToolError:
    """Return the error for a fault with the `path` of a call, with its effect.

    Args:
        fault: What happened.
        action: What was being done.
        root: The workspace.
    """
    error = _disk_error(fault, action) if isinstance(fault, files.DiskFault) else _file_error(fault, action, root)
    error.effect = fault.effect
    return error


def _file_error(fault: files.FileFault, action: Action, root: str) -> ToolError:  # noqa: PLR0911 - one a fault
    name = quoted(fault.path or "")
    match fault:
        case files.BadSpelling():
            return misspelt(fault, "path")
        case files.SeveralNames():
            return OutsideWorkspace(
                message=f"{name} has several names (hard links), of which one may lie outside the workspace."
            )
        case files.OutsideRoots():
            return OutsideWorkspace(message=_outside(fault.path or "", root))
        case files.NotARegularFile():
            wanted = "folder" if action == "list" else "file"
            return invalid_path("path", "value", f"it is a {fault.kind}, not a {wanted}", fault.path)
        case files.TooLarge():
            return FileTooLarge(file_path=fault.path, size_bytes=fault.size_bytes, limit_bytes=fault.limit_bytes)
        case files.ChangedOnDisk():
            return changed(fault.path)
        case files.LockWaitExceeded():
            return LockTimeout(file_path=fault.path, waited_s=round(fault.waited_s, 1))
        case files.GivenUp():
            return DeadlineExceeded(message="The call was given up before anything was written.")
    return FileWriteFailed(reason="an earlier call that a crash interrupted holds it")


def _outside(path: str, root: str) -> str:
    """Return the message for a path that leads out of the workspace, or to a closed folder in it."""
    named = os.path.normpath(os.path.join(root, path))  # noqa: PTH118 - spelling only, nothing is looked up
    if named == root or named.startswith(f"{root.rstrip('/')}/"):
        return f"{quoted(path)} is closed to tools: it belongs to the server, or is a link that leads out."
    return f"{quoted(path)} lies outside the workspace {quoted(root)}; give a path inside it."


def _disk_error(fault: files.DiskFault, action: Action) -> ToolError:
    if fault.errno in _MISSING and fault.step == "find":
        is_folder = action == "list" or fault.errno == errno.ENOTDIR
        return _no_path(fault.path or ".") if is_folder else FileNotFound.named([fault.path or ""])
    if fault.errno == errno.EEXIST and fault.step == "place":
        return FileAlreadyExists(path=fault.path or "", message=_exists(fault.path or ""))
    if fault.errno == errno.ENAMETOOLONG and fault.step in {"find", "place"}:
        return invalid_path("path", "length", "it has a name that is longer than the file system accepts")
    reason = os.strerror(fault.errno).lower()
    kind, verb = (FileWriteFailed, "written") if action == "write" else (FileReadFailed, "read")
    return kind(reason=reason, message=f"{quoted(fault.path or '.')} could not be {verb}: {reason}.")


def _exists(path: str) -> str:
    return f"Nothing was written: {quoted(path)} exists. To replace it, pass its sha256 as expected_hash."


def _no_path(path: str) -> PathNotFound:
    return PathNotFound(path=path, message=f"There is nothing at {quoted(path)}.")


def changed(path: str | None, *, expected_hash: str | None = None, actual_hash: str | None = None) -> HashMismatch:
    """Return the error for a file that has changed since the caller read it."""
    return HashMismatch(
        message=f"Nothing was written: {quoted(path or '')} has changed since it was read; "
        "expected_hash must be its current sha256.",
        file_path=path,
        expected_hash=expected_hash,
        actual_hash=actual_hash,
    )


def misspelt(fault: files.BadSpelling, parameter: str) -> ToolError:
    """Return the error for a path that no file can have."""
    if fault.reason == "parent":
        return PathTraversalBlocked(message=f'{quoted(fault.path or "")} contains ".."; give the path without it.')
    reason, said = files.SPELLING[fault.reason]
    return invalid_path(parameter, reason, f"it {said}", fault.path)


def invalid_path(parameter: str, reason: Reason, said: str, path: str | None = None) -> InvalidPath:
    """Return the error for a path that cannot be used, with its place among the arguments."""
    violation = Violation(path=parameter, reason=reason, message=said, expected="a path in the workspace")
    if not path:
        return InvalidPath(reason=said, violations=[violation])
    message = f"{quoted(path, _PATH_AT_MOST)} cannot be used as {parameter}: {said}."
    return InvalidPath(reason=said, violations=[violation], message=message)

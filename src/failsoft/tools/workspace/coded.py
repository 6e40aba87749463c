"""What `failsoft.tools.files` reports, as the errors of seed 001: the one place that knows both."""

from __future__ import annotations

import errno
import os

from failsoft.framework.errors import ToolError
from failsoft.framework.violations import Reason, Violation
from failsoft.tools import files
from failsoft.tools.workspace.path_errors import InvalidPath, OutsideWorkspace, PathNotFound, PathTraversalBlocked
from failsoft.tools.workspace.session_errors import SessionInitializationFailed

__all__ = ["coded_root"]

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})
_SPELLING: dict[str, tuple[Reason, str]] = {
    "empty": ("length", "it is empty"),
    "nul": ("format", "it has a NUL character in it"),
    "long": ("length", "it is longer than the operating system takes"),
    "encoding": ("format", "it cannot be written as a file name"),
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


def misspelt(fault: files.BadSpelling, parameter: str) -> ToolError:
    """Return the error for a path that no file can have."""
    if fault.reason == "parent":
        return PathTraversalBlocked()
    return invalid_path(parameter, *_SPELLING[fault.reason])


def invalid_path(parameter: str, reason: Reason, said: str) -> InvalidPath:
    """Return the error for a path that cannot be used, with its place among the arguments."""
    violation = Violation(path=parameter, reason=reason, message=said, expected="a path in the workspace")
    return InvalidPath(reason=said, violations=[violation])

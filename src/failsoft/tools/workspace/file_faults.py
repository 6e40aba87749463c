"""Map the faults of `failsoft.tools.files` to the errors of seed 001."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from failsoft.framework.errors import DeadlineExceeded, ToolError
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import quoted
from failsoft.tools.files import SPELLING, FaultKind, FaultTable, FileFault
from failsoft.tools.files.faults import FileNotFound, FileTooLarge, HashMismatch, LockTimeout
from failsoft.tools.workspace.errors import (
    FileAlreadyExists,
    FileReadFailed,
    FileWriteFailed,
    InvalidPath,
    OutsideWorkspace,
    PathNotFound,
    PathTraversalBlocked,
    SessionInitializationFailed,
)

Action: TypeAlias = Literal["read", "list", "write"]

_FOLDERS_AT_MOST = 5
_PATH_AT_MOST = 120
_LONG_NAME = "it has a name that is longer than the file system accepts"


@dataclass(frozen=True, slots=True)
class _Call:
    """What a call did with its path, and where."""

    action: Action
    root: str


def to_root_error(fault: FileFault, parameter: str, folders: Sequence[str]) -> ToolError:
    """Return the error for a fault of the folder that a session should begin in; nothing was changed.

    Args:
        fault: What happened.
        parameter: The argument that named the folder.
        folders: The folders that the server offers.
    """
    error = _OF_ROOTS.to_error(fault, (parameter, folders))
    error.effect = "none"
    return error


def to_error(fault: FileFault, action: Action, *, root: str) -> ToolError:
    """Return the error for a fault with the `path` of a call, with its effect.

    Args:
        fault: What happened.
        action: What was being done.
        root: The workspace.
    """
    return _OF_FILES.to_error(fault, _Call(action, root))


def _missing(fault: FileFault, call: _Call) -> ToolError:
    is_folder = call.action == "list" or fault.kind == "not_a_folder"
    return _no_path(fault.path or ".") if is_folder else FileNotFound.named([fault.path or ""])


def _not_regular(fault: FileFault, call: _Call) -> ToolError:
    wanted = "folder" if call.action == "list" else "file"
    return invalid_path("path", "value", f"it is a {fault.facts['what']}, not a {wanted}", fault.path)


def _failed(fault: FileFault, call: _Call) -> ToolError:
    kind, verb = (FileWriteFailed, "written") if call.action == "write" else (FileReadFailed, "read")
    reason = fault.os_reason
    return kind(reason=reason, message=f"{quoted(fault.path or '.')} could not be {verb}: {reason}.")


def _outside(path: str, root: str) -> str:
    """Return the message for a path that leads out of the workspace, or to a closed folder in it."""
    named = os.path.normpath(os.path.join(root, path))  # noqa: PTH118 - spelling only, nothing is looked up
    if named == root or named.startswith(f"{root.rstrip('/')}/"):
        return f"{quoted(path)} is closed to tools: it belongs to the server, or is a link that leads out."
    return f"{quoted(path)} lies outside the workspace {quoted(root)}; give a path inside it."


def _exists(path: str) -> str:
    return f"Nothing was written: {quoted(path)} exists. To replace it, pass its sha256 as expected_hash."


def _no_path(path: str) -> PathNotFound:
    return PathNotFound(path=path, message=f"There is nothing at {quoted(path)}.")


def misspelt(fault: FileFault, parameter: str) -> ToolError:
    """Return the error for a path that no file can have."""
    if fault.kind == "parent":
        return PathTraversalBlocked(message=f'{quoted(fault.path or "")} contains ".."; give the path without it.')
    reason, said = SPELLING[fault.kind]
    return invalid_path(parameter, reason, f"it {said}", fault.path)


def _outside_folders(fault: FileFault, folders: Sequence[str]) -> ToolError:
    listed = ", ".join(quoted(folder) for folder in folders[:_FOLDERS_AT_MOST])
    message = f"{quoted(fault.path or '')} lies outside the folders of this server; give a folder in {listed}."
    return OutsideWorkspace(message=message, suggestions=list(folders[:_FOLDERS_AT_MOST]))


def invalid_path(parameter: str, reason: Reason, said: str, path: str | None = None) -> InvalidPath:
    """Return the error for a path that cannot be used, with its place among the arguments."""
    expected = "a path in the workspace" if parameter == "path" else "the absolute path of a folder of this server"
    violation = Violation(path=parameter, reason=reason, message=said, expected=expected)
    if not path:
        return InvalidPath(reason=said, violations=[violation])
    message = f"{quoted(path, _PATH_AT_MOST)} cannot be used as {parameter}: {said}."
    return InvalidPath(reason=said, violations=[violation], message=message)


_MISSPELT: tuple[FaultKind, ...] = ("parent", *SPELLING)
_OF_FILES: FaultTable[_Call] = FaultTable(
    {
        **dict.fromkeys(_MISSPELT, lambda fault, _: misspelt(fault, "path")),
        "several_names": lambda fault, _: OutsideWorkspace(
            message=f"{quoted(fault.path or '')} has several names (hard links), of which one may lie outside the "
            "workspace."
        ),
        "outside": lambda fault, call: OutsideWorkspace(message=_outside(fault.path or "", call.root)),
        "not_regular": _not_regular,
        "too_large": lambda fault, _: FileTooLarge(file_path=fault.path, **fault.facts),
        "changed": lambda fault, _: HashMismatch.of(fault.path, effect=fault.effect),
        "locked": lambda fault, _: LockTimeout(file_path=fault.path, waited_s=round(fault.facts["waited_s"], 1)),
        "given_up": lambda _, __: DeadlineExceeded(message="The call was given up before anything was written."),
        "unfinished": lambda _, __: FileWriteFailed(reason="an earlier call that a crash interrupted holds it"),
        "missing": _missing,
        "not_a_folder": _missing,
        "exists": lambda fault, _: FileAlreadyExists(path=fault.path or "", message=_exists(fault.path or "")),
        "name_too_long": lambda _, __: invalid_path("path", "length", _LONG_NAME),
    },
    otherwise=_failed,
)
_OF_ROOTS: FaultTable[tuple[str, Sequence[str]]] = FaultTable(
    {
        **dict.fromkeys(_MISSPELT, lambda fault, call: misspelt(fault, call[0])),
        "outside": lambda fault, call: _outside_folders(fault, call[1]),
        "several_names": lambda fault, call: _outside_folders(fault, call[1]),
        "not_regular": lambda fault, call: invalid_path(
            call[0], "value", f"it is a {fault.facts['what']}, not a folder", fault.path
        ),
        "missing": lambda fault, _: _no_path(fault.path or ""),
        "not_a_folder": lambda fault, _: _no_path(fault.path or ""),
        "name_too_long": lambda _, call: invalid_path(call[0], "length", _LONG_NAME),
    },
    otherwise=lambda fault, _: SessionInitializationFailed(reason=fault.os_reason or "the folder cannot be opened"),
)

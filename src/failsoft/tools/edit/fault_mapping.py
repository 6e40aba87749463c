"""Map the faults of `failsoft.tools.files` to the errors of seed 000."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from failsoft.framework.errors import DeadlineExceeded, InvalidParameter, PermissionDenied, ToolError
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.text import quoted
from failsoft.tools.edit.errors import (
    BackupFailed,
    DiskFull,
    PathTraversal,
    ReadOnlyFs,
    RelativePath,
    SymlinkLoop,
    WriteFailed,
)
from failsoft.tools.edit.signatures import EditRequest
from failsoft.tools.files import SPELLING, FaultKind, FaultTable, FileFault, Roots, kind_of, similar_files
from failsoft.tools.files.faults import FileNotFound, FileTooLarge, HashMismatch, LockTimeout

_OWN_FOLDER = "the server cannot use its state folder"
_HINT = "Make the state folder of failsoft writable for the user that the server runs as"
_UNFINISHED = "Nothing was changed: an edit that a crash interrupted holds the file, and this server cannot finish it."
_FOLDERS_AT_MOST = 5
_UNFINISHED_HINT = "Start the server once with the --root folders that it had before the crash"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the file of a fault is in a call."""

    request: EditRequest
    index: int
    roots: Roots

    @property
    def path(self) -> str:
        """The file as the caller named it."""
        return self.request.paths[self.index]

    @property
    def name(self) -> str:
        """How messages call the file."""
        return self.request.name_of(self.request.files[self.index])

    def faulty(self, reason: Reason, message: str) -> ToolError:
        """Return the error of a path that cannot be used."""
        place = self.request.argument(self.index, "file_path")
        return InvalidParameter.from_violations(
            [Violation(path=place, reason=reason, message=message, expected="the path of a file")]
        )


def to_error(fault: FileFault, request: EditRequest, roots: Roots) -> ToolError:
    """Return the error for a fault, with its effect, and the place of its file among the call's.

    Args:
        fault: What happened.
        request: The request of the call.
        roots: What may be edited.
    """
    paths = request.paths
    places = [place for place, path in enumerate(paths) if path == fault.path] or [0]
    index = places[-1]  # of a file that is named twice, the second place is the fault
    error = _ERRORS.to_error(fault, _Place(request, index, roots))
    error.details |= {"file_index": index, "file_path": fault.path or paths[index]}
    backup = fault.backups.get(paths[index]) or next(iter(fault.backups.values()), None)
    if backup is not None:
        error.details["backup_path"] = backup
    return error


def _missing(fault: FileFault, place: _Place) -> ToolError:
    path = fault.path or place.path
    return FileNotFound.named([path], closest=similar_files(place.roots, path), advice="Nothing was changed.")


def _outside(_: FileFault, place: _Place) -> PermissionDenied:
    folders = place.roots.folders
    if folders == ("/",):
        said = "is not a file that this server edits"
    else:
        listed = ", ".join(quoted(folder) for folder in folders[:_FOLDERS_AT_MOST])
        only = "the only folder" if len(folders) == 1 else "the only folders"
        said = f"lies outside {listed}, {only} this server edits"
    return PermissionDenied(message=f"{quoted(place.path)} {said}. Nothing was changed.")


def _several_names(_: FileFault, place: _Place) -> PermissionDenied:
    return PermissionDenied(
        message=f"{quoted(place.path)} has several names (hard links), and one may lie outside. Nothing was changed.",
        operator_hint="FAILSOFT_EDIT_HARD_LINKS=true allows files that have several names.",
    )


def _state_folder(fault: FileFault, _: _Place) -> ToolError:
    error = _OF_STATE_FOLDER.get(kind_of(fault.errno or 0, "find"), WriteFailed)
    return error(message=f"Nothing was changed: {_OWN_FOLDER} ({fault.os_reason}).", operator_hint=_HINT)


def _failed(fault: FileFault, _: _Place) -> ToolError:
    cause = fault.__cause__ if fault.step in {"find", "read"} else None
    return WriteFailed(file_path=fault.path, reason=fault.os_reason) if cause is None else normalize(cause)


_OF_STATE_FOLDER: dict[FaultKind, type[ToolError]] = {
    "denied": PermissionDenied,
    "disk_full": DiskFull,
    "read_only": ReadOnlyFs,
}
_SPELLING: Mapping[FaultKind, Callable[[FileFault, _Place], ToolError]] = {
    kind: lambda fault, place: place.faulty(*SPELLING[fault.kind]) for kind in SPELLING
}
_ERRORS: FaultTable[_Place] = FaultTable(
    {
        **_SPELLING,
        "relative": lambda _, __: RelativePath(),
        "parent": lambda _, __: PathTraversal(),
        "outside": _outside,
        "several_names": _several_names,
        "not_regular": lambda fault, place: place.faulty("value", f"leads to a {fault.facts['what']}, not to a file"),
        "too_large": lambda fault, _: FileTooLarge(file_path=fault.path, **fault.facts),
        "changed": lambda fault, place: HashMismatch.of(fault.path, name=place.name, advice=", during this call."),
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

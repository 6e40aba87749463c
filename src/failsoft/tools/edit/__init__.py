"""The edit toolset: several edits of one file or of many, all or none. `Edit` is what a server offers."""

from __future__ import annotations

from failsoft.tools.edit.errors import (
    AmbiguousMatch,
    BackupFailed,
    DiskFull,
    DuplicateOldString,
    EmptyEdits,
    EmptyOldString,
    MatchNotFound,
    PathTraversal,
    ReadOnlyFs,
    RelativePath,
    SymlinkLoop,
    WriteFailed,
)
from failsoft.tools.edit.toolset import Edit
from failsoft.tools.files.faults import FileNotFound, FileTooLarge, HashMismatch, InvalidEncoding, LockTimeout

__all__ = [
    "AmbiguousMatch",
    "BackupFailed",
    "DiskFull",
    "DuplicateOldString",
    "Edit",
    "EmptyEdits",
    "EmptyOldString",
    "FileNotFound",
    "FileTooLarge",
    "HashMismatch",
    "InvalidEncoding",
    "LockTimeout",
    "MatchNotFound",
    "PathTraversal",
    "ReadOnlyFs",
    "RelativePath",
    "SymlinkLoop",
    "WriteFailed",
]

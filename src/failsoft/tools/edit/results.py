"""What the operations answer with. Sizes are in bytes; absent keys are left out, never null."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

__all__ = ["FileResult", "FilesResult", "SingleResult"]


class SingleResult(TypedDict):
    """What became of a file. `sha256` and `bytes_after` are of the new content, `sha256_before` of the old one."""

    file_path: str
    edits_applied: int
    replacements: int
    bytes_before: int
    bytes_after: int
    sha256: str
    sha256_before: str
    diff: NotRequired[str]
    backup_path: NotRequired[str]
    message: str


class _Succeeded(TypedDict):
    success: Literal[True]


class FileResult(_Succeeded, SingleResult):
    """What became of one of several files."""


class FilesResult(TypedDict):
    """What became of several files, in the order of the call, and of all of them together."""

    files: list[FileResult]
    edits_applied: int
    replacements: int
    message: str

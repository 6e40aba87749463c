"""Faults of file operations, without error codes; each toolset maps them to its own errors."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from failsoft.framework.errors import Effect
from failsoft.framework.errors.violations import Reason
from failsoft.framework.errors.vocabulary import PicklableError

SpellingReason: TypeAlias = Literal["empty", "nul", "relative", "parent", "long", "encoding", "deep"]
SPELLING: dict[str, tuple[Reason, str]] = {
    "empty": ("length", "is empty"),
    "nul": ("format", "contains a NUL character"),
    "long": ("length", "is longer than the operating system accepts"),
    "encoding": ("format", "cannot be encoded as a file name"),
    "deep": ("value", "needs more new folders than one call makes"),
    "relative": ("pattern", "is not absolute"),
}
"""Reasons of malformed paths as violations report them; `parent` has error codes of its own."""
Step: TypeAlias = Literal["find", "read", "lock", "journal", "stage", "backup", "place", "sync"]


class FileFault(PicklableError):
    """The base of all faults of files.

    Args:
        path: The file as the caller named it; None if the fault concerns no single file.
        effect: Whether the disk was changed: `applied` and `unknown` only once the first file was being replaced.
    """

    def __init__(self, path: str | None, *, effect: Effect = "none") -> None:
        super().__init__(path)
        self.path = path
        self.effect: Effect = effect
        self.backups: dict[str, str] = {}
        """Backups that exist now, by the path of their file; empty where nothing was changed."""


class BadSpelling(FileFault):
    """The path is malformed; detected before the disk is accessed."""

    def __init__(self, path: str, *, reason: SpellingReason) -> None:
        super().__init__(path)
        self.reason: SpellingReason = reason


class OutsideRoots(FileFault):
    """The path, or a link on the way, leads out of the allowed folders or to what is off limits within them."""


class SeveralNames(OutsideRoots):
    """The file has several hard links, so it may also be outside of the allowed folders.

    The link count is checked once the file is open. A link that is added and removed at that moment is missed; but only
    users who may read a file, and so could copy it, may link to it.
    """


class NotARegularFile(FileFault):
    """The path leads to something other than a regular file.

    Args:
        path: As the caller named it.
        kind: `folder`, `pipe`, `socket` or `device`.
    """

    def __init__(self, path: str, *, kind: str) -> None:
        super().__init__(path)
        self.kind = kind


class TooLarge(FileFault):
    """The file is larger than the limit."""

    def __init__(self, path: str, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(path)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class ChangedOnDisk(FileFault):
    """The file was changed by another program during the call."""


class SameFileTwice(FileFault):
    """Two paths of one transaction lead to the same file."""

    def __init__(self, path: str, *, other: str) -> None:
        super().__init__(path)
        self.other = other


class LockWaitExceeded(FileFault):
    """Another call held the lock of the file for longer than the time limit."""

    def __init__(self, path: str | None, *, waited_s: float) -> None:
        super().__init__(path)
        self.waited_s = waited_s


class GivenUp(FileFault):
    """The call was cancelled before anything was changed."""


class UnfinishedTransaction(FileFault):
    """A crashed transaction involves this file, and it also names files that this process cannot access."""


class DiskFault(FileFault):
    """The operating system reported an error; `__cause__` is the `OSError`.

    Args:
        path: The file as the caller named it; None if the fault concerns no single file.
        errno: The number of the `OSError`.
        step: The step that failed: `find` (walking the path), `read`, `lock`, `journal`, `stage` (the temporary file),
            `backup`, `place` (the rename), `sync` (the folder, after the rename).
        effect: Whether the disk was changed.
    """

    def __init__(self, path: str | None, *, errno: int, step: Step, effect: Effect = "none") -> None:
        super().__init__(path, effect=effect)
        self.errno = errno
        self.step: Step = step

    def __str__(self) -> str:
        return f"{self.step}: {os.strerror(self.errno)}: {self.path}"

"""What can go wrong with a file, as plain facts. Each toolset turns them into its own coded errors, in one place."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from failsoft.framework.errors import Effect

__all__ = [
    "BadSpelling",
    "ChangedOnDisk",
    "DiskFault",
    "FileFault",
    "GivenUp",
    "LockTimeout",
    "NotARegularFile",
    "OutsideRoots",
    "SameFileTwice",
    "SeveralNames",
    "SpellingReason",
    "Step",
    "TooLarge",
    "UnfinishedTransaction",
]

SpellingReason: TypeAlias = Literal["empty", "nul", "relative", "parent", "long", "encoding", "deep"]
Step: TypeAlias = Literal["find", "read", "lock", "journal", "stage", "backup", "place", "sync"]


class FileFault(Exception):
    """Something went wrong with a file.

    Args:
        path: The file as the caller named it; None where no single file is to blame.
        effect: Whether the disk was changed: `applied` and `unknown` only once the first file was being replaced.
    """

    def __init__(self, path: str | None, *, effect: Effect = "none") -> None:
        super().__init__(path)
        self.path = path
        self.effect: Effect = effect
        self.backups: dict[str, str] = {}
        """Backups that exist now, by the path of their file; empty where nothing was changed."""


class BadSpelling(FileFault):
    """The path cannot name a file here, wherever it would lead. Known before the disk is touched."""

    def __init__(self, path: str, *, reason: SpellingReason) -> None:
        super().__init__(path)
        self.reason: SpellingReason = reason


class OutsideRoots(FileFault):
    """The path, or a link on the way, leads out of the allowed folders or to what is off limits within them."""


class SeveralNames(OutsideRoots):
    """The file has another name, and nobody can tell where: hard links do not say what else leads to a file.

    That is asked once the file is open. Whoever gives a file a name here and takes it away in that very moment goes
    unseen; but the system lets only those make a hard link who may read the file, and so could have copied it.
    """


class NotARegularFile(FileFault):
    """There is something, but no regular file.

    Args:
        path: As the caller named it.
        kind: `folder`, `pipe`, `socket` or `device`.
    """

    def __init__(self, path: str, *, kind: str) -> None:
        super().__init__(path)
        self.kind = kind


class TooLarge(FileFault):
    """The file has more bytes than may be read."""

    def __init__(self, path: str, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(path)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class ChangedOnDisk(FileFault):
    """Somebody else changed the file while we worked on it."""


class SameFileTwice(FileFault):
    """Two paths of one transaction lead to the same file."""

    def __init__(self, path: str, *, other: str) -> None:
        super().__init__(path)
        self.other = other


class LockTimeout(FileFault):
    """Another call held the file for longer than we may wait."""

    def __init__(self, path: str | None, *, waited_s: float) -> None:
        super().__init__(path)
        self.waited_s = waited_s


class GivenUp(FileFault):
    """Nobody waits for the result any more, so nothing was begun."""


class UnfinishedTransaction(FileFault):
    """A transaction that crashed holds this file, and it names others that this process may not or cannot touch."""


class DiskFault(FileFault):
    """The operating system refused something; `__cause__` is what it said.

    Args:
        path: The file as the caller named it, if one is to blame.
        errno: The operating system's number.
        step: What was being done: `find` (walking the path), `read`, `lock`, `journal`, `stage` (the temporary file),
            `backup`, `place` (the rename), `sync` (the folder, after the rename).
        effect: Whether the disk was changed.
    """

    def __init__(self, path: str | None, *, errno: int, step: Step, effect: Effect = "none") -> None:
        super().__init__(path, effect=effect)
        self.errno = errno
        self.step: Step = step

    def __str__(self) -> str:
        return f"{self.step}: {os.strerror(self.errno)}: {self.path}"

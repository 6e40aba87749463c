"""Faults of file operations, without error codes, and the errors of files that several toolsets raise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, Self, TypeAlias

from failsoft.framework.errors import Conflict, Effect, NotFound, Public, Unsupported
from failsoft.framework.errors.violations import Reason
from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import enumerated, quoted

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


RE_READ = "Re-read the file to see its current content before retrying"
"""The hint for an edit or a patch that was made from another content."""
_NAMED_AT_MOST = 5


class FileNotFound(NotFound, FileNotFoundError):
    """There is no file at the path.

    Raised when: the path leads to nothing, or through something that is not a folder.
    Caller: correct the path.
    Operator: nothing to do, unless the file should be there.
    """

    file_path: Public[str | None] = None
    code = "FILE_NOT_FOUND"
    message = "There is no file at this path."
    hints = ("Check the path", "List the folder to see which files there are")

    @classmethod
    def named(cls, paths: Sequence[str], *, closest: Sequence[str] = (), advice: str = "") -> Self:
        """Return the error for one or several missing files.

        Args:
            paths: The missing files as the caller named them; the first one is `file_path`.
            closest: Files that exist and are spelled alike, best first.
            advice: A sentence on what to do, with its full stop.
        """
        listed = enumerated(paths, _NAMED_AT_MOST, write=quoted)
        near = f"; closest: {', '.join(quoted(path) for path in closest)}" if closest else ""
        sentence = f"{'No file' if len(paths) == 1 else 'No files'} {listed}{near}."
        return cls(
            message=f"{sentence} {advice}".rstrip(),
            file_path=paths[0] if paths else None,
            suggestions=closest,
        )


class HashMismatch(Conflict):
    """The file has changed since the caller read it.

    Raised when: `expected_hash` is not the SHA-256 of the file, or the file changed while the call worked on it.
    Caller: read the file again, redo the change for its current content, and send its current hash.
    """

    file_path: Public[str | None] = None
    file_index: Public[int | None] = None
    expected_hash: Public[str | None] = None
    actual_hash: Public[str | None] = None
    code = "HASH_MISMATCH"
    message = "Nothing was changed: the file is not the one that was read."
    hints = (
        RE_READ,
        "If the same change was sent before, check whether it is in the file already",
    )


class InvalidEncoding(Unsupported):
    """The file is not UTF-8 text.

    Raised when: its bytes cannot be decoded as UTF-8, with or without a byte order mark.
    Caller: use another server for this file.
    Operator: convert the file to UTF-8 if it should be used here.
    """

    file_path: Public[str | None] = None
    position: Public[int | None] = None
    code = "INVALID_ENCODING"
    message = "The file is not UTF-8 text (byte {position} cannot be decoded)."
    hints = ("This server handles UTF-8 text only",)


class FileTooLarge(Unsupported):
    """The file is larger than this server accepts.

    Raised when: its size, before or after the change, exceeds the limit.
    Caller: use another server for this file.
    Operator: raise the toolset's limit: `FAILSOFT_EDIT_MAX_FILE_BYTES` or `FAILSOFT_WORKSPACE_MAX_FILE_BYTES`.
    """

    file_path: Public[str | None] = None
    size_bytes: Public[int]
    limit_bytes: Public[int]
    code = "FILE_TOO_LARGE"
    message = "The file has {size_bytes} bytes; this server accepts files of at most {limit_bytes} bytes."
    hints = ("This server does not handle files above its size limit",)
    actor = "operator"


class LockTimeout(Conflict):
    """Another call held the file's lock for as long as this call could wait.

    Raised when: the file's lock is not free within the limit.
    Caller: call again after the wait that the answer gives.
    Operator: look for calls that hang, or raise `FAILSOFT_EDIT_LOCK_TIMEOUT_S` (edit).
    """

    file_path: Public[str | None] = None
    waited_s: Public[float] = 0.0
    code = "LOCK_TIMEOUT"
    message = "Another call kept the file locked for more than {waited_s:g} seconds."
    hints = ("The file may have changed by then: re-read it if the change depends on that",)
    retry = "after_delay"
    actor = "framework"

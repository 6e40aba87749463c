"""How a file can fail: one fault, by kind; the table of a toolset's errors; and the errors that all toolsets share."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

from failsoft.framework.errors import Conflict, Effect, NextStep, NotFound, Public, ToolError, Unsupported
from failsoft.framework.errors.violations import Reason
from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.text import enumerated, quoted

Step: TypeAlias = Literal["find", "read", "lock", "journal", "stage", "backup", "rename", "sync"]
"""A step on the disk: `find` walks the path, `stage` writes the temporary file, `sync` flushes the folder."""

FaultKind: TypeAlias = Literal[
    # The path is malformed; detected before the disk is accessed.
    "empty", "nul", "relative", "parent", "long", "encoding", "deep",
    # The path, or a link on the way, leads out of the allowed folders or to what is off limits in them; or the file has
    # several hard links, of which one may lie outside.
    "outside", "several_names",
    # What is there cannot be used: `what` (`file`, `folder`, `pipe`, `socket`, `device`); `size_bytes`, `limit_bytes`.
    "not_regular", "too_large",
    # Another program changed the file during the call; two paths (`other`) lead to one file.
    "changed", "same_file",
    # Another call held the lock for `waited_s`; the call was cancelled before anything was changed; a crashed
    # transaction involves this file and others that this process cannot access.
    "locked", "given_up", "unfinished",
    # The operating system refused a step: `errno`, `step`; `__cause__` is the `OSError`.
    "missing", "not_a_folder", "vanished", "denied", "disk_full", "read_only", "link_loop", "name_too_long", "bad_name",
    "exists", "replaced", "broken", "backup", "state_folder", "failed",
]  # fmt: skip

SPELLING: dict[FaultKind, tuple[Reason, str]] = {
    "empty": ("length", "is empty"),
    "nul": ("format", "contains a NUL character"),
    "long": ("length", "is longer than the operating system accepts"),
    "encoding": ("format", "cannot be encoded as a file name"),
    "deep": ("value", "needs more new folders than one call makes"),
    "relative": ("pattern", "is not absolute"),
}
"""Kinds of malformed paths as violations report them; `parent` has error codes of its own."""

_BY_STEP: dict[Step, FaultKind] = {"backup": "backup", "lock": "state_folder", "journal": "state_folder"}
_BY_ERRNO: dict[int, FaultKind] = {
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EFBIG: "disk_full",
    errno.EROFS: "read_only",
    errno.ELOOP: "link_loop",
    errno.EAGAIN: "replaced",
    **dict.fromkeys((errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENODEV), "broken"),
}
_OF_NAMES: dict[int, tuple[FaultKind, frozenset[Step], FaultKind]] = {
    errno.ENOENT: ("missing", frozenset({"find"}), "vanished"),
    errno.ENOTDIR: ("not_a_folder", frozenset({"find"}), "vanished"),
    errno.ENAMETOOLONG: ("name_too_long", frozenset({"find", "read", "rename"}), "failed"),
    errno.EINVAL: ("bad_name", frozenset({"find", "read"}), "failed"),
    errno.EEXIST: ("exists", frozenset({"rename"}), "failed"),
}
"""The kind in the steps where the name is to blame, and in all others."""


def kind_of(number: int, step: Step) -> FaultKind:
    """Return the kind of fault of an `errno` in a step. A step in the server's own folder, or of a backup, decides."""
    if step in _BY_STEP:
        return _BY_STEP[step]
    if number in _OF_NAMES:
        kind, steps, otherwise = _OF_NAMES[number]
        return kind if step in steps else otherwise
    return _BY_ERRNO.get(number, "failed")


class FileFault(PicklableError):
    """How an operation on a file failed, without an error code; each toolset has a `FaultTable` of its own errors.

    Args:
        path: The file as the caller named it; None if the fault concerns no single file.
        kind: What happened.
        effect: Whether the disk was changed: `applied` and `unknown` only once the first file was being replaced.
        facts: What the kind adds; see `FaultKind`.
    """

    def __init__(self, path: str | None, kind: FaultKind, *, effect: Effect = "none", **facts: Any) -> None:
        super().__init__(path, kind)
        self.kind: FaultKind = kind
        self.path = path
        self.effect: Effect = effect
        self.facts = facts
        self.backups: dict[str, str] = {}
        """Backups that exist now, by the path of their file; empty where nothing was changed."""

    @classmethod
    def from_os(cls, error: OSError | int, path: str | None, *, step: Step) -> Self:
        """Return the fault of a step that the operating system refused, by its error or `errno`."""
        number = error if isinstance(error, int) else error.errno or 0
        return cls(path, kind_of(number, step), errno=number, step=step)

    @property
    def errno(self) -> int | None:
        """The number of the operating system's error; None if it reported none."""
        return self.facts.get("errno")

    @property
    def step(self) -> Step | None:
        """The step that the operating system refused."""
        return self.facts.get("step")

    @property
    def os_reason(self) -> str:
        """What the operating system said, in lower case; empty if it reported nothing."""
        return "" if self.errno is None else os.strerror(self.errno).lower()

    @property
    def is_misspelt(self) -> bool:
        """Whether no file can have this path."""
        return self.kind == "parent" or self.kind in SPELLING

    @property
    def is_outside(self) -> bool:
        """Whether the file lies, or may lie, outside the allowed folders."""
        return self.kind in {"outside", "several_names"}

    def __str__(self) -> str:
        return f"{self.kind}: {self.path}" if self.step is None else f"{self.step}: {self.os_reason}: {self.path}"


SubjectT = TypeVar("SubjectT")


class FaultTable(Generic[SubjectT]):
    """The errors of a toolset, by the kind of fault.

    Args:
        rows: For each kind, what makes its error of the fault and of the call's own facts.
        otherwise: The same for every other kind.
    """

    def __init__(
        self,
        rows: Mapping[FaultKind, Callable[[FileFault, SubjectT], ToolError]],
        *,
        otherwise: Callable[[FileFault, SubjectT], ToolError],
    ) -> None:
        self._rows = rows
        self._otherwise = otherwise

    def to_error(self, fault: FileFault, subject: SubjectT) -> ToolError:
        """Return the error of a fault, with its effect.

        Args:
            fault: What happened.
            subject: What the rows need to know of the call.
        """
        error = self._rows.get(fault.kind, self._otherwise)(fault, subject)
        error.effect = fault.effect
        return error


RE_READ = "Re-read the file to see its current content before retrying"
"""The hint for an edit or a patch that was made from another content."""
_NAMED_AT_MOST = 5


class FileNotFound(NotFound, FileNotFoundError):
    """There is no file at the path.

    Raised when: the path leads to nothing, or through something that is not a folder.
    Caller: correct the path; the answer names files with a similar path.
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

    @classmethod
    def of(
        cls,
        path: str | None,
        *,
        name: str = "",
        advice: str = "; expected_hash must be its current sha256.",
        expected_hash: str | None = None,
        actual_hash: str | None = None,
        next_step: NextStep | None = None,
        effect: Effect = "none",
    ) -> Self:
        """Return the error for a file that is not the one that was read.

        Args:
            path: The file as the caller named it.
            name: How the message calls it; by default its path.
            advice: The end of the sentence.
            expected_hash: What the caller sent, in lower case.
            actual_hash: The SHA-256 of the file; None if it changed during the call.
            next_step: The call that reads it again.
            effect: What the call has changed; more than nothing only where a rollback failed.
        """
        began = "Nothing was changed: " if effect == "none" else ""
        return cls(
            message=f"{began}{name or quoted(path or '')} has changed since it was read{advice}",
            file_path=path,
            expected_hash=expected_hash,
            actual_hash=actual_hash,
            next_step=next_step,
            effect=effect,
        )


class InvalidEncoding(Unsupported):
    """The file is not UTF-8 text.

    Raised when: its bytes cannot be decoded as UTF-8, with or without a byte order mark.
    Caller: use tools of another server for this file, or report it to the user.
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
    Caller: use tools of another server for this file, or report it to the user.
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
    Operator: look for calls that hang, or raise `FAILSOFT_EDIT_LOCK_TIMEOUT_S` (edit toolset).
    """

    file_path: Public[str | None] = None
    waited_s: Public[float] = 0.0
    code = "LOCK_TIMEOUT"
    message = "Another call kept the file locked for more than {waited_s:g} seconds."
    hints = ("The file may have changed by then: re-read it if the change depends on that",)
    retry = "after_delay"
    actor = "framework"

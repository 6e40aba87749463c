"""What can go wrong with an edit or a file whose arguments were in order (seed 000), each a code of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from failsoft.framework.errors import (
    Actor,
    Conflict,
    InvalidArgument,
    NotFound,
    Public,
    RetryWhen,
    StorageError,
    Unsupported,
)

__all__ = [
    "AmbiguousMatch",
    "BackupFailed",
    "DiskFull",
    "FileNotFound",
    "FileTooLarge",
    "HashMismatch",
    "InvalidEncoding",
    "LockTimeout",
    "MatchNotFound",
    "ReadOnlyFs",
    "SymlinkLoop",
    "WriteFailed",
]

_RE_READ = "Re-read the file to see its current content before retrying"


class MatchNotFound(Conflict):
    """The text that an edit looks for is not in the file.

    Raised when: `old_string` does not stand in the file as the edits before it left it.
    Caller: look at the context in the answer, read the file again, and correct `old_string`.
    Operator: nothing to do.
    Example:
        >>> code_of(MatchNotFound(edit_number=1, edits=1))
        'MATCH_NOT_FOUND'
    """

    edit_number: int
    edits: int
    file_path: Public[str | None] = None
    file_index: Public[int | None] = None
    edit_index: Public[int | None] = None
    context: Public[Mapping[str, Any] | None] = None
    edit_status: Public[Sequence[Mapping[str, Any]] | None] = None
    code: ClassVar[str] = "MATCH_NOT_FOUND"
    message: str = "Edit {edit_number} of {edits} failed: its old_string was not found in the file."
    hints: ClassVar[tuple[str, ...]] = (
        "Check for whitespace differences between old_string and the file content",
        _RE_READ,
    )
    since: ClassVar[str] = "0.1.0"


class AmbiguousMatch(InvalidArgument):
    """The text that an edit looks for stands at several places.

    Raised when: `old_string` matches more than once and `replace_all` is not set; places that overlap count as several.
    Caller: include more of the surroundings in `old_string`, or set `replace_all` to change every place.
    Operator: nothing to do.
    Example:
        >>> code_of(AmbiguousMatch(edit_number=1, edits=1, matches=2))
        'AMBIGUOUS_MATCH'
    """

    edit_number: int
    edits: int
    matches: int
    file_path: Public[str | None] = None
    file_index: Public[int | None] = None
    edit_index: Public[int | None] = None
    context: Public[Mapping[str, Any] | None] = None
    edit_status: Public[Sequence[Mapping[str, Any]] | None] = None
    code: ClassVar[str] = "AMBIGUOUS_MATCH"
    message: str = "Edit {edit_number} of {edits} failed: its old_string matches {matches} places in the file."
    hints: ClassVar[tuple[str, ...]] = (
        "Include more surrounding text in old_string so that it matches one place only",
        "Use replace_all if every place is meant",
        _RE_READ,
    )
    since: ClassVar[str] = "0.1.0"


class HashMismatch(Conflict):
    """The file is not the one that the edits were made for.

    Raised when: `expected_hash` is not the SHA-256 of the file, or the file was changed while it was being edited.
    Caller: read the file again, make the edits for what it holds now, and send its present hash.
    Operator: nothing to do.
    Example:
        >>> code_of(HashMismatch())
        'HASH_MISMATCH'
    """

    file_path: Public[str | None] = None
    file_index: Public[int | None] = None
    expected_hash: Public[str | None] = None
    actual_hash: Public[str | None] = None
    code: ClassVar[str] = "HASH_MISMATCH"
    message: str = (
        "The file has changed since it was read, so nothing was edited; a dry run shows what the edits would do now."
    )
    hints: ClassVar[tuple[str, ...]] = (
        _RE_READ,
        "If the same edits were sent before, check whether they are in the file already",
    )
    since: ClassVar[str] = "0.1.0"


class FileNotFound(NotFound, FileNotFoundError):
    """There is no file at the path.

    Raised when: the path leads to nothing, or through something that is no folder.
    Caller: correct the path.
    Operator: nothing to do, unless the file should be there.
    Example:
        >>> code_of(FileNotFound())
        'FILE_NOT_FOUND'
    """

    file_path: Public[str | None] = None
    code: ClassVar[str] = "FILE_NOT_FOUND"
    message: str = "The file does not exist."
    hints: ClassVar[tuple[str, ...]] = ("Check the path", "List the folder to see which files there are")
    since: ClassVar[str] = "0.1.0"


class InvalidEncoding(Unsupported):
    """The file is not UTF-8 text.

    Raised when: its bytes cannot be decoded as UTF-8, with or without a byte order mark.
    Caller: use another tool for this file.
    Operator: convert the file to UTF-8 if it should be edited here.
    Example:
        >>> code_of(InvalidEncoding(position=3))
        'INVALID_ENCODING'
    """

    file_path: Public[str | None] = None
    position: Public[int | None] = None
    code: ClassVar[str] = "INVALID_ENCODING"
    message: str = "The file is not UTF-8 text (byte {position} cannot be decoded)."
    hints: ClassVar[tuple[str, ...]] = ("Only UTF-8 files can be edited here",)
    since: ClassVar[str] = "0.1.0"


class FileTooLarge(Unsupported):
    """The file is larger than this server edits.

    Raised when: its size, before or after the edits, exceeds the limit.
    Caller: use another tool for this file.
    Operator: raise `FAILSOFT_EDIT_MAX_FILE_BYTES` if such files should be edited here.
    Example:
        >>> code_of(FileTooLarge(size_bytes=11, limit_bytes=10))
        'FILE_TOO_LARGE'
    """

    file_path: Public[str | None] = None
    size_bytes: Public[int]
    limit_bytes: Public[int]
    code: ClassVar[str] = "FILE_TOO_LARGE"
    message: str = "The file has {size_bytes} bytes, and at most {limit_bytes} are edited here."
    hints: ClassVar[tuple[str, ...]] = ("Files above the size limit cannot be edited here",)
    since: ClassVar[str] = "0.1.0"
    actor: ClassVar[Actor] = "operator"


class LockTimeout(Conflict):
    """Another call was editing the file all the time that this one could wait.

    Raised when: the file's lock is not free within the limit.
    Caller: call again after the wait that the answer gives.
    Operator: look for calls that hang, or raise `FAILSOFT_EDIT_LOCK_TIMEOUT_S`.
    Example:
        >>> code_of(LockTimeout(waited_s=10.0))
        'LOCK_TIMEOUT'
    """

    file_path: Public[str | None] = None
    waited_s: Public[float] = 0.0
    code: ClassVar[str] = "LOCK_TIMEOUT"
    message: str = "Another call was editing the file for more than {waited_s:g} seconds."
    hints: ClassVar[tuple[str, ...]] = ("The file may have changed by then: re-read it if the edits depend on that",)
    since: ClassVar[str] = "0.1.0"
    retry: ClassVar[RetryWhen] = "after_delay"
    actor: ClassVar[Actor] = "framework"


class SymlinkLoop(InvalidArgument):
    """The links on the way to the file lead back to themselves.

    Raised when: the path does not end after following as many symbolic links as the system allows.
    Caller: use another path, or tell the person you work for.
    Operator: repair the links.
    Example:
        >>> code_of(SymlinkLoop())
        'SYMLINK_LOOP'
    """

    file_path: Public[str | None] = None
    code: ClassVar[str] = "SYMLINK_LOOP"
    message: str = "The symbolic links of the path go round in a circle."
    hints: ClassVar[tuple[str, ...]] = ("Tell the person you work for that the links have to be repaired",)
    since: ClassVar[str] = "0.1.0"
    retry: ClassVar[RetryWhen] = "never"
    actor: ClassVar[Actor] = "operator"


class DiskFull(StorageError):
    """The disk has no room for the new content.

    Raised when: the file system, or the quota on it, is full.
    Caller: do not repeat the call; tell the person you work for.
    Operator: free space. The old content is still needed while the new one is written.
    Example:
        >>> code_of(DiskFull())
        'DISK_FULL'
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    code: ClassVar[str] = "DISK_FULL"
    message: str = "The disk has no room for the new content."
    hints: ClassVar[tuple[str, ...]] = ("Tell the person you work for that the disk is full",)
    since: ClassVar[str] = "0.1.0"


class ReadOnlyFs(StorageError):
    """The disk is mounted read-only.

    Raised when: the operating system refuses every change on the file system.
    Caller: do not repeat the call; tell the person you work for.
    Operator: mount it writable if files on it should be edited.
    Example:
        >>> code_of(ReadOnlyFs())
        'READ_ONLY_FS'
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    code: ClassVar[str] = "READ_ONLY_FS"
    message: str = "The file is on a disk that cannot be written."
    hints: ClassVar[tuple[str, ...]] = ("Tell the person you work for that the disk is read-only",)
    since: ClassVar[str] = "0.1.0"


class BackupFailed(StorageError):
    """The backup could not be made, so nothing was changed.

    Raised when: `backup` was asked for and the copy beside the file cannot be written.
    Caller: call again without `backup` only if the person you work for can do without.
    Operator: find the error id in the log; the system's own reason is there.
    Example:
        >>> code_of(BackupFailed(reason="the name is too long"))
        'BACKUP_FAILED'
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    reason: Public[str] = "the operating system refused it"
    code: ClassVar[str] = "BACKUP_FAILED"
    message: str = "The backup could not be made: {reason}."
    hints: ClassVar[tuple[str, ...]] = ("Tell the person you work for that no backup can be made",)
    since: ClassVar[str] = "0.1.0"


class WriteFailed(StorageError):
    """The new content could not be written.

    Raised when: the operating system refuses a step of the change for a reason that has no code of its own.
    Caller: do not repeat the call; tell the person you work for, with the error id.
    Operator: find the error id in the log; the system's own reason is there.
    Example:
        >>> code_of(WriteFailed(reason="input/output error"))
        'WRITE_FAILED'
    """

    file_path: Public[str | None] = None
    backup_path: Public[str | None] = None
    reason: Public[str] = "the operating system refused it"
    code: ClassVar[str] = "WRITE_FAILED"
    message: str = "The change could not be written: {reason}."
    hints: ClassVar[tuple[str, ...]] = ("Tell the person you work for that the file could not be written",)
    since: ClassVar[str] = "0.1.0"

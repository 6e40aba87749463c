"""What can go wrong with a file whose path was in order (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import AlreadyExists, Public, StorageError

__all__ = ["FileAlreadyExists", "FileReadFailed", "FileWriteFailed"]


class FileAlreadyExists(AlreadyExists):
    """There is a file where a new one should be made.

    Raised when: `write_file` is called without `expected_hash`, and something stands at the path.
    Caller: read the file, and pass its `sha256` as `expected_hash` to replace it; or choose another path.
    Operator: nothing to do.
    Example:
        >>> code_of(FileAlreadyExists(path="a.md"))
        'FILE_ALREADY_EXISTS'
    """

    path: Public[str]
    code: ClassVar[str] = "FILE_ALREADY_EXISTS"
    message: str = "There is a file at '{path}' already."
    hints: ClassVar[tuple[str, ...]] = ("To replace it, pass the sha256 that read_file returns as expected_hash",)
    since: ClassVar[str] = "0.1.0"


class FileReadFailed(StorageError):
    """The operating system did not let the server read.

    Raised when: the rights, the links or the disk stand against it.
    Caller: do not repeat the call; tell the person you work for, with the error id.
    Operator: mend what the reason names.
    Example:
        >>> code_of(FileReadFailed(reason="permission denied"))
        'FILE_READ_FAILED'
    """

    reason: Public[str]
    code: ClassVar[str] = "FILE_READ_FAILED"
    message: str = "It could not be read: {reason}."
    since: ClassVar[str] = "0.1.0"


class FileWriteFailed(StorageError):
    """The operating system did not let the server write.

    Raised when: the rights, the links or the disk stand against it, or an earlier call that a crash interrupted holds
    the file.
    Caller: do not repeat the call; tell the person you work for, with the error id.
    Operator: mend what the reason names: the rights, the room on the disk, or the state folder of failsoft.
    Example:
        >>> code_of(FileWriteFailed(reason="no space left on device"))
        'FILE_WRITE_FAILED'
    """

    reason: Public[str]
    code: ClassVar[str] = "FILE_WRITE_FAILED"
    message: str = "It could not be written: {reason}."
    since: ClassVar[str] = "0.1.0"

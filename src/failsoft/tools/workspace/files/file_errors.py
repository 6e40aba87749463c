"""Errors of reading and writing a file (seed 001, section 2)."""

from __future__ import annotations

from failsoft.framework.errors import AlreadyExists, Public, StorageError, Words


class FileAlreadyExists(AlreadyExists):
    """The file exists already.

    Raised when: `write_file` is called without `expected_hash`, and the path exists.
    Caller: read the file, and pass its `sha256` as `expected_hash` to replace it; or choose another path.
    """

    path: Public[str]
    code = "FILE_ALREADY_EXISTS"
    message = "The file {path} exists."
    hints = ("To replace it, pass the sha256 that read_file returns as expected_hash",)


class FileReadFailed(StorageError):
    """The operating system refused to read.

    Raised when: permissions, links or the disk do not allow it.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names.
    """

    reason: Public[Words]
    code = "FILE_READ_FAILED"
    message = "The file could not be read: {reason}."


class FileWriteFailed(StorageError):
    """The operating system refused to write.

    Raised when: permissions, links or the disk do not allow it, or an earlier call that a crash interrupted holds
    the file.
    Caller: do not repeat the call; report the error id to the user.
    Operator: correct what the reason names: permissions, free space, or the state folder of failsoft.
    """

    reason: Public[Words]
    code = "FILE_WRITE_FAILED"
    message = "The file could not be written: {reason}."

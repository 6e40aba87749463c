"""Errors of files that several toolsets raise: missing, too large, changed, locked, or not UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from failsoft.framework.errors import Conflict, NotFound, Public, Unsupported
from failsoft.framework.text import enumerated, quoted

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

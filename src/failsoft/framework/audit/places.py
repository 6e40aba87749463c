"""What stands beside a log: its key and its head, in the user's state folder outside workspaces, and its lock.

The head of a log is named after the log's path. So every server of this user knows all logs of this user, and tools of
one server cannot write the log of another, see `is_known_log`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from failsoft.framework.audit.chain import BadLine, Head, KeyUnusable, LogUnusable, Seal
from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.files import OPEN_FLAGS, opened_regular, other_writers, state_folder

if sys.platform != "win32":
    import fcntl

STATE = "state:"
"""Value of FAILSOFT_AUDIT_HEAD_PATH that selects the default."""
_KEY_BYTES = 32
_KEY_FILE_BYTES_AT_MOST = 4_096
_SHORTEST_KEY = 16
_SEGMENT = re.compile(r"\.\d{12,}$")
_LENGTH = 256
_READ_WITHIN_S = 2.0
_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.02
_HELD = "another process holds it"
_NOT_OURS = "it is not what was written there, or was sealed with another key"
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of disk space is used up",
    errno.EFBIG: "the file may not grow any more",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "access is denied",
    errno.EPERM: "access is denied",
    errno.ENOENT: "its folder does not exist",
    errno.ENOTDIR: "its folder does not exist",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "it is a link",
    errno.EIO: "the disk has failed",
    errno.EINVAL: "it is not a regular file",
}


def default_key_file() -> Path:
    """Return the file of the generated key, which is used if no setting names one."""
    return state_folder() / "audit" / "key"


def key_from(file: Path | None, *, make: bool = True) -> bytes:
    """Return the key in a file.

    Args:
        file: The file; None for the default one.
        make: Whether the default key may be generated.

    Raises:
        KeyUnusable: There is no key, and none can be generated.
    """
    try:
        key = made_key() if file is None and make else read_key(file or default_key_file())
    except OSError as error:
        msg = f"its key cannot be read or made ({error.strerror or error})"
        raise KeyUnusable(msg) from error
    except ValueError as error:
        msg = f"its key is not usable: {error}"
        raise KeyUnusable(msg) from error
    if key is None:
        msg = "the file of its key does not exist"
        raise KeyUnusable(msg)
    return key


def made_key(file: Path | None = None) -> bytes:
    """Return the key in a file; generated once per user, readable only by that user.

    Args:
        file: The file; None for the default one.

    Raises:
        OSError: It can be neither read nor created.
        ValueError: The file has no usable key.
    """
    file = file or default_key_file()
    key = read_key(file)
    if key is not None:
        return key
    make_private(file.parent)
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o600)
    try:
        try:
            os.write(descriptor, secrets.token_hex(_KEY_BYTES).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with suppress(FileExistsError):  # another process created one meanwhile; that one is used
            os.link(fresh, file)
    finally:
        fresh.unlink()
    made = read_key(file)
    if made is None:
        raise FileNotFoundError(file)
    return made


def read_key(file: Path) -> bytes | None:
    """Return the key in a file, stripped of white space; None if there is no file.

    Raises:
        OSError: It cannot be read, or is not a regular file.
        ValueError: It is shorter than 16 bytes, or others than its owner may write it.
    """
    try:
        descriptor = opened_regular(file)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        if others := other_writers(descriptor, file):
            raise ValueError(others)
        key = stream.read(_KEY_FILE_BYTES_AT_MOST).strip()
    if len(key) < _SHORTEST_KEY:
        msg = f"a key has at least {_SHORTEST_KEY} bytes"
        raise ValueError(msg)
    return key


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700."""
    missing = [folder, *folder.parents]
    for one in reversed(missing[: next(number for number, one in enumerate(missing) if one.exists())]):
        one.mkdir(mode=0o700, exist_ok=True)


def default_head(path: Path) -> Path:
    """Return the default head file of a log."""
    real = os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - a string is wanted
    return Path(_head_of(real))


def is_known_log(real_path: str) -> bool:
    """Return whether a file is an audit log of this user, or a segment of one.

    Args:
        real_path: Absolute and without links.
    """
    return os.path.exists(_head_of(_SEGMENT.sub("", real_path)))  # noqa: PTH110 - False where access is refused, too


def _head_of(real_path: str) -> str:
    name = hashlib.sha256(real_path.encode(errors="surrogateescape")).hexdigest()
    return f"{state_folder()}/audit/heads/{name}"  # text: on the way of every file operation


class HeadFile:
    """The stored head of one log.

    Args:
        path: The file, in a folder that users with write access to the log cannot write.
        seal: The log's seal; without the key a head cannot be forged.
    """

    def __init__(self, path: Path, seal: Seal) -> None:
        self.path = path
        self._seal = seal
        self._written: tuple[bytes, Head] | None = None

    def read(self) -> Head | None:
        """Return the head as last written; None if there is none.

        Raises:
            BadLine: It was changed, or sealed with another key, or others than its owner may write it.
            NotWritten: Another process held the lock until the time limit.
            OSError: The file exists and cannot be read.
        """
        try:
            fd = opened_regular(self.path)
        except FileNotFoundError:
            return None
        try:
            _require_private(fd, self.path)
            lock(fd, time.monotonic() + _READ_WITHIN_S, shared=True)
            return self._open(os.pread(fd, _LENGTH, 0))
        finally:
            os.close(fd)

    def advance(self, head: Head, until: float) -> None:
        """Write the head, unless the file has a later one.

        Raises:
            BadLine: The present content is not a valid head, or others than its owner may write the file.
            NotWritten: Another process held the lock until the time limit.
            OSError: It cannot be written.
        """
        if self._written is None:
            make_private(self.path.parent)
        fd = opened_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            _require_private(fd, self.path)
            lock(fd, until)
            found = os.pread(fd, _LENGTH, 0)
            last, known = self._written or (b"", None)
            if found != last:
                known = self._open(found)
            if known is None or known.seq < head.seq:
                line = self._line(head)
                os.pwrite(fd, line, 0)
                self._written = line, head
        finally:
            os.close(fd)  # releases the lock

    def _line(self, head: Head) -> bytes:
        seal = self._seal.digest(b"head %d %s" % (head.seq, head.hash.encode()))
        text = b'{"hash":"%s","seal":"%s","seq":%d}' % (head.hash.encode(), seal.encode(), head.seq)
        return text.ljust(_LENGTH - 1) + b"\n"

    def _open(self, data: bytes) -> Head | None:
        if not data:
            return None
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            found = json.loads(data)
            head = Head(found["seq"], found["hash"])
            if self._line(head) == data:
                return head
        raise BadLine(_NOT_OURS)


def _require_private(descriptor: int, path: Path) -> None:
    if others := other_writers(descriptor, path):
        raise BadLine(others)


class NotWritten(PicklableError):
    """Entries could not be written; the text is a reason that fits into a sentence.

    Args:
        reason: `the disk is full`.
        is_locked: Another process held the lock until the time limit.
    """

    def __init__(self, reason: str, *, is_locked: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_locked = is_locked


@contextmanager
def refusing() -> Iterator[None]:
    """Turn OSError, an unusable key and a newer format into `NotWritten`."""
    try:
        yield
    except LogUnusable as error:
        raise NotWritten(str(error)) from error
    except OSError as error:
        raise NotWritten(reason_of(error)) from error


def lock(fd: int, until: float, *, shared: bool = False) -> None:
    """Lock an open file, trying again until the monotonic clock says `until`, and at least once.

    Raises:
        NotWritten: Another process held the lock until the time limit.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    pause = _FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() + pause > until:
                raise NotWritten(_HELD, is_locked=True) from None
        else:
            return
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter, not cryptography
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def unlock(fd: int) -> None:
    """Release the lock."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def reason_of(error: OSError) -> str:
    """Return why a file could not be written, by errno and without a path."""
    return _REASONS.get(error.errno or 0) or f"the system says {errno.errorcode.get(error.errno or 0, 'error')}"


def is_at(path: str, fd: int) -> bool:
    """Return whether the path still refers to the open file."""
    try:
        there = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - with every batch: a Path costs twice as much
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def sync_folder(path: Path) -> None:
    """Sync a folder after a rename or creation, where the system supports it."""
    with suppress(OSError):
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

"""The folder of captures: one private file for each failed call, bounded in number, bytes and age, oldest first."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from failsoft.framework.files import OPEN_FLAGS, opened_regular, state_folder

_NAME = re.compile(r"[0-9a-f]{16}\.json")
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.\d+")
_UNFINISHED_AT_MOST_S = 60.0
_LARGE = 100_000
"""Bytes of a capture after which there is always a look at what is too much."""
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)


def captures_folder() -> Path:
    """Return the folder of captures, which need not exist."""
    return state_folder() / "captures"


def is_error_id(text: str) -> bool:
    """Return whether a text is the id of an error, and so the name of a file."""
    return _NAME.fullmatch(f"{text}.json") is not None


class _CaptureFacts(NamedTuple):
    """When a capture was written, in seconds since the epoch, and its size in bytes."""

    at: float
    size: int


class CaptureFolder:
    """Writes captures, and removes the oldest ones, also those of other processes. Thread-safe.

    Args:
        folder: Made with mode 0700 at the first capture. A link, and a folder of another user, are refused.
        count: How many captures are kept.
        bytes_at_most: How many bytes they have in all.
        keep_s: For how long each is kept, in seconds.
    """

    def __init__(self, folder: Path, *, count: int, bytes_at_most: int, keep_s: float) -> None:
        self.folder = folder
        self.count = count
        self._bytes_at_most, self._keep_s = bytes_at_most, keep_s
        self._lock = threading.Lock()
        self._kept: dict[str, _CaptureFacts] = {}
        """The captures by name, the oldest first."""

    def write(self, error_id: str, content: bytes, *, is_last: bool = True) -> None:
        """Write a capture whole, then remove what is too old or too much, unless others follow at once.

        Raises:
            OSError: The folder or the file cannot be made, or the capture is larger than all may be.
        """
        if len(content) > self._bytes_at_most:
            raise OSError(errno.EFBIG, "it is larger than all captures together may be")
        with self._lock:
            self._require_folder()
            name = f"{error_id}.json"
            self._put(name, content)
            self._kept[name] = _CaptureFacts(time.time(), len(content))
            if is_last or len(content) > _LARGE:
                self._look()
                self._remove_oldest(name)

    def _require_folder(self) -> None:
        """Make the folder if need be."""
        try:
            found = os.lstat(self.folder)
        except FileNotFoundError:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            found = os.lstat(self.folder)
        if not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.ENOTDIR, "it is a link or a file, not a folder", str(self.folder))
        if hasattr(os, "geteuid"):
            if found.st_uid != os.geteuid():
                raise OSError(errno.EPERM, "another user owns the folder", str(self.folder))
            if found.st_mode & 0o077:
                self.folder.chmod(0o700)

    def _put(self, name: str, content: bytes) -> None:
        fresh = f"{self.folder}/.{name.removesuffix('.json')}.{os.getpid()}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | OPEN_FLAGS, 0o600)
        try:
            try:
                written = 0
                while written < len(content):
                    written += os.write(descriptor, content[written:])
            finally:
                os.close(descriptor)
            os.replace(fresh, f"{self.folder}/{name}")  # noqa: PTH105 - text, at a fifth of the cost of paths
        except BaseException:
            Path(fresh).unlink(missing_ok=True)
            raise

    def _look(self) -> None:
        """Take notice of what other processes have written and removed; only of new files the facts are asked for."""
        names = set(os.listdir(self.folder))  # noqa: PTH208 - names alone, at a third of the cost
        known = self._kept.keys()
        if names == known:
            return
        for name in known - names:
            del self._kept[name]
        for name in names - known:
            self._notice(name)
        self._kept = dict(sorted(self._kept.items(), key=lambda item: item[1].at))

    def _notice(self, name: str) -> None:
        """Add a capture; remove what a process that died has left unfinished."""
        file = self.folder / name
        with suppress(FileNotFoundError):
            if _NAME.fullmatch(name):
                facts = file.lstat()
                self._kept[name] = _CaptureFacts(facts.st_mtime, facts.st_size)
            elif _UNFINISHED.fullmatch(name) and time.time() - file.lstat().st_mtime > _UNFINISHED_AT_MOST_S:
                file.unlink()

    def _remove_oldest(self, newest: str) -> None:
        since, size = time.time() - self._keep_s, sum(kept.size for kept in self._kept.values())
        for name, kept in list(self._kept.items()):
            if len(self._kept) <= self.count and size <= self._bytes_at_most and kept.at >= since:
                break
            if name != newest:
                with suppress(OSError):  # such as a folder of that name: the others are removed nevertheless
                    (self.folder / name).unlink(missing_ok=True)
                del self._kept[name]
                size -= kept.size


def read_file(folder: Path, error_id: str, bytes_at_most: int) -> bytes:
    """Return the content of a capture.

    Raises:
        FileNotFoundError: There is none.
        OSError: It cannot be read, it is a link, or others than this user may have written it.
    """
    file = folder / f"{error_id}.json"
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise OSError(errno.ENOTDIR, "its folder is a link or a file", str(folder))
    with os.fdopen(opened_regular(file, os.O_RDONLY | _NO_LINK), "rb") as stream:
        facts = os.fstat(stream.fileno())
        if hasattr(os, "geteuid") and (facts.st_uid != os.geteuid() or facts.st_mode & 0o022):
            raise OSError(errno.EPERM, "another user owns it or may write it, so that it proves nothing", str(file))
        content = stream.read(bytes_at_most + 1)
    if len(content) > bytes_at_most:
        raise OSError(errno.EFBIG, "it is larger than a capture can be", str(file))
    return content

"""Read a consistent version of a file, and detect later changes."""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from functools import cached_property

from failsoft.tools.files.faults import FileFault
from failsoft.tools.files.resolving import ResolvedPath

_TRIES = 5
_CHUNK_BYTES = 1 << 20
_COMPARED_BYTES = 1 << 16
"""Small enough for the allocator to reuse; larger chunks are mapped anew each time."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without O_NONBLOCK, opening a pipe without a writer blocks forever."""

Identity = tuple[int, int, int, int, int, int, int]


@dataclass(frozen=True)
class Content:
    """The content of a file and its metadata.

    Args:
        data: All its bytes.
        facts: The result of `fstat` after reading.
    """

    data: bytes
    facts: os.stat_result

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the bytes, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def identity(self) -> Identity:
        """A value that changes when the file is written or replaced."""
        return identity_of(self.facts)


def identity_of(facts: os.stat_result) -> Identity:
    """Return what changes when the file is written or replaced, or its mode or owner changes.

    Without ctime, which a hard link changes, too.
    """
    return (
        *(facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size),
        *(facts.st_mode, facts.st_uid, facts.st_gid),
    )


def read(resolved: ResolvedPath, *, bytes_at_most: int, several_names: bool = True) -> Content:
    """Return one consistent version of the file.

    Args:
        resolved: Where it is.
        bytes_at_most: Above this size it is not read.
        several_names: Whether it may have other names, hard links, which may lie anywhere.

    Raises:
        FileFault: The disk: There is no such file (step `find`), or it cannot be read (step `read`).
        FileFault: `not_regular`: It is a folder, a pipe, a socket or a device.
        FileFault: `several_names`: It has several hard links; nothing was read.
        FileFault: `too_large`: It has more bytes.
        FileFault: `changed`: It was written during each attempt to read it.
        FileFault: `outside`: It is a hard link to a protected file of the server.
    """
    resolved.require_regular(resolved.require_found())
    try:
        for _ in range(_TRIES):
            content = _read_once(resolved, bytes_at_most, several_names=several_names)
            if content is not None:
                return content
    except OSError as error:
        is_missing = error.errno == errno.ENOENT
        raise FileFault.from_os(error, resolved.path, step="find" if is_missing else "read") from error
    raise FileFault(resolved.path, "changed")


def sha256_of(file: int, bytes_at_most: int) -> str:
    """Return the SHA-256 of the rest of an open file, in hexadecimal; of about so many bytes if it is longer."""
    digest = hashlib.sha256()
    left = bytes_at_most + 1
    while left > 0 and (chunk := os.read(file, _COMPARED_BYTES)):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest()


def holds(file: int, data: bytes) -> bool:
    """Return whether the open file has exactly these bytes."""
    offset = 0
    while chunk := os.read(file, _COMPARED_BYTES):
        if data[offset : offset + len(chunk)] != chunk:  # bytes: a view would be compared number by number
            return False
        offset += len(chunk)
    return offset == len(data)


def _read_once(resolved: ResolvedPath, limit: int, *, several_names: bool) -> Content | None:
    """Return the content; None if the file changed meanwhile, or was replaced by a link."""
    try:
        file = os.open(resolved.name, _OPEN, dir_fd=resolved.folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
    try:
        before = os.fstat(file)
        resolved.require_regular(before)
        if before.st_nlink > 1 and not several_names:
            raise FileFault(resolved.path, "several_names")
        if before.st_nlink > 1:
            resolved.require_unprotected()
        if before.st_size > limit:
            raise FileFault(resolved.path, "too_large", size_bytes=before.st_size, limit_bytes=limit)
        data = _read_all(file, before.st_size, limit)
        after = os.fstat(file)
    finally:
        os.close(file)
    if len(data) > limit:
        raise FileFault(resolved.path, "too_large", size_bytes=max(len(data), after.st_size), limit_bytes=limit)
    return Content(data, after) if identity_of(before) == identity_of(after) else None


def _read_all(file: int, size: int, limit: int) -> bytes:
    """Return all bytes, or slightly more than the limit; the size is unreliable for growing files and for procfs."""
    chunks: list[bytes] = []
    total = 0
    while total <= limit and (chunk := os.read(file, min(max(size + 1 - total, 4096), _CHUNK_BYTES))):
        chunks.append(chunk)
        total += len(chunk)
    return b"".join(chunks)

"""Opens regular files only: a FIFO, a socket or a device is refused without blocking."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def opened_regular(file: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
    """
    descriptor = os.open(file, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        msg = "not a regular file"
        raise OSError(msg)
    return descriptor


def others_may_write(file: int | Path) -> bool:
    """Return whether the group of a file or other users may write it, so that its content proves nothing.

    Args:
        file: The path, or the descriptor of the open file.

    Raises:
        OSError: There is no such file, or it cannot be examined.
    """
    return bool(os.stat(file).st_mode & (stat.S_IWGRP | stat.S_IWOTH))  # noqa: PTH116 - of a descriptor, too


def read_regular(file: Path, bytes_at_most: int) -> bytes:
    """Return the first bytes of a regular file.

    Raises:
        OSError: It cannot be read, or is not a regular file.
    """
    with open(opened_regular(file), "rb") as stream:
        return stream.read(bytes_at_most)

"""Replace a file only if it is the expected one: exchange two names in one step, look at what came out, undo if not.

Between the last comparison of a file and `rename(2)` another program can replace or change it, and its version would be
lost without a trace.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cache

from failsoft.tools.files.reading import Identity, identity_of

_EXCHANGE = 2
"""`RENAME_EXCHANGE` of `renameat2(2)`."""
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_TRIES = 20


def replaced(folder: int, source: str, target: str, expected: Identity) -> bool:
    """Rename `source` to `target`, and return whether `target` was the expected file; if not, it is there again.

    What was replaced has the name `source` then. Where the system cannot exchange names, `source` is renamed over
    whatever is there.

    Args:
        folder: The descriptor of the folder of both.
        source: The name of the new file.
        target: The name of the file to replace.
        expected: The identity of that file.

    Raises:
        OSError: The operating system refuses a step.
    """
    own = _identity(folder, source)
    if not exchanged(folder, source, target):
        os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    if _identity(folder, source) == expected:
        return True
    put = own
    for _ in range(_TRIES):
        # The latest version of another program has the name `source`: it goes back, until ours comes out.
        back = _identity(folder, source)
        exchanged(folder, source, target)
        if _identity(folder, source)[:2] in {put[:2], own[:2]}:
            return False
        put = back
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _identity(folder: int, name: str) -> Identity:
    return identity_of(os.stat(name, dir_fd=folder, follow_symlinks=False))


def exchanged(folder: int, one: str, other: str) -> bool:
    """Exchange two names; return False where the system cannot do that."""
    call = _renameat2()
    if call is None:
        return False
    number = call(folder, os.fsencode(one), os.fsencode(other))
    if number in _UNSUPPORTED:
        return False
    if number:
        raise OSError(number, os.strerror(number))
    return True


@cache
def _renameat2() -> Callable[[int, bytes, bytes], int] | None:
    """Return the system call with this flag, which returns an `errno` or 0; None on a system without it."""
    import ctypes  # noqa: PLC0415 - no server needs it to start

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]

    def call(folder: int, one: bytes, other: bytes) -> int:
        return ctypes.get_errno() if function(folder, one, folder, other, _EXCHANGE) else 0

    return call

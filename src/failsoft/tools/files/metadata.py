"""Copy the metadata of a file: owner, mode, access lists and extended attributes."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_NOT_COPIED = frozenset({"security.capability", "security.ima", "security.evm"})
"""They certify the content; the kernel removes them on every write, too."""
_SERIOUS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


def copy_metadata(source: int, target: int) -> None:
    """Copy the metadata of the open file `source` to the open file `target`, as far as permitted.

    The mode is set last, since a change of owner clears its set-id bits; without the same owner they are not set.

    Raises:
        OSError: Not even the mode can be set, or the disk fails.
    """
    facts = os.fstat(source)
    is_same_owner = _copy_owner(facts, target)
    _copy_attributes(source, target)
    mode = stat.S_IMODE(facts.st_mode)
    os.fchmod(target, mode if is_same_owner else mode & ~(stat.S_ISUID | stat.S_ISGID))


def _copy_owner(facts: os.stat_result, target: int) -> bool:
    wanted = (facts.st_uid, facts.st_gid)
    for owner in (facts.st_uid, -1):
        now = os.fstat(target)
        if (now.st_uid, now.st_gid) == wanted:
            break
        with contextlib.suppress(PermissionError):
            os.fchown(target, owner, facts.st_gid)
    now = os.fstat(target)
    return (now.st_uid, now.st_gid) == wanted


def _copy_attributes(source: int, target: int) -> None:
    """Copy the permitted attributes, and remove those that `target` inherited from its folder (access lists)."""
    if not hasattr(os, "listxattr"):
        return
    wanted = _attributes(source)
    for name in _attributes(target) - wanted:
        with _where_permitted():
            os.removexattr(target, name)
    for name in sorted(wanted - _NOT_COPIED):
        with _where_permitted():
            os.setxattr(target, name, os.getxattr(source, name))


def _attributes(file: int) -> set[str]:
    found: set[str] = set()
    with _where_permitted():
        found.update(os.listxattr(file))
    return found


@contextmanager
def _where_permitted() -> Iterator[None]:
    """Ignore missing permission and unsupported attributes, but not a full or failing disk."""
    try:
        yield
    except OSError as error:
        if error.errno in _SERIOUS:
            raise

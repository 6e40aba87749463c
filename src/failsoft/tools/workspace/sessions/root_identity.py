"""Which folder a path leads to, as the operating system knows it: a folder put in its place is another one."""

from __future__ import annotations

import errno
import platform

from failsoft.tools.files import DiskFault, OutsideRoots, Roots

__all__ = ["is_same_root", "root_identity"]

_ELSEWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


def root_identity(roots: Roots, folder: str) -> str:
    """Return the identity of a folder: machine, device, number. Empty if no folder is at this path any more.

    Args:
        roots: What may be touched.
        folder: Its absolute path; what is a link by now is not followed.

    Raises:
        DiskFault: The operating system does not say.
    """
    try:
        with roots.place(folder, follow=False) as place:
            facts = place.facts()
    except OutsideRoots:
        return ""
    except DiskFault as fault:
        if fault.errno in _ELSEWHERE:
            return ""
        raise
    return "" if facts is None else f"{platform.node()}/{facts.st_dev}/{facts.st_ino}"


def is_same_root(noted: str, now: str) -> bool:
    """Return whether two identities are of one folder.

    Each machine numbers devices in its own way, so between two that share a disk only the folder's own number counts.
    """
    if noted == now:
        return bool(now)
    machine, _, number = noted.partition("/")
    other, _, its_number = now.partition("/")
    return bool(now) and machine != other and number.rpartition("/")[2] == its_number.rpartition("/")[2]

"""Identity of a folder by device and inode, which detects that it was replaced."""

from __future__ import annotations

import platform

from failsoft.tools.files import FileFault, Roots

_ELSEWHERE = frozenset({"outside", "missing", "not_a_folder", "link_loop"})


def root_identity(roots: Roots, folder: str) -> str:
    """Return the identity of a folder: machine, device, inode. Empty if the folder no longer exists.

    Args:
        roots: The allowed folders.
        folder: Its absolute path; links are not followed.

    Raises:
        FileFault: The operating system reports an error.
    """
    try:
        with roots.resolve(folder, follow=False) as place:
            facts = place.facts()
    except FileFault as fault:
        if fault.kind in _ELSEWHERE:
            return ""
        raise
    return "" if facts is None else f"{platform.node()}/{facts.st_dev}/{facts.st_ino}"


def is_same_root(recorded: str, now: str) -> bool:
    """Return whether two identities are of one folder.

    Machines number devices differently, so between two machines that share a disk only the inode is compared.
    """
    if recorded == now:
        return bool(now)
    machine, _, number = recorded.partition("/")
    other, _, its_number = now.partition("/")
    return bool(now) and machine != other and number.rpartition("/")[2] == its_number.rpartition("/")[2]

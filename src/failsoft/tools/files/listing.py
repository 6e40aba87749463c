"""What is in a folder, as far as it may be touched. Links are named, never followed."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import Literal, TypeAlias

from failsoft.tools.files.faults import DiskFault
from failsoft.tools.files.place import LIST_FLAGS
from failsoft.tools.files.roots import Roots

__all__ = ["EntryKind", "Listed", "listed"]

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class Listed:
    """One name in a folder.

    Args:
        name: As it is on the disk; what is no UTF-8 in it is replaced.
        kind: `file`, `folder`, `link` or `other`.
        bytes: The size of a file; 0 for everything else.
    """

    name: str
    kind: EntryKind
    bytes: int


def listed(roots: Roots, path: str, *, at_most: int) -> tuple[list[Listed], int]:
    """Return the first names in a folder, sorted, and how many there are; what is off limits is not among them.

    Args:
        roots: What may be touched.
        path: The folder, as the caller wrote it.
        at_most: How many names to tell about.

    Raises:
        BadSpelling, OutsideRoots: It leads nowhere we may go.
        NotARegularFile: It is no folder; the kind of a regular file is `file`.
        DiskFault: It does not exist (step `find`), or cannot be read.
    """
    with roots.place(path) as place:
        facts = place.facts()
        if facts is None:
            raise DiskFault(path, errno=errno.ENOENT, step="find")
        place.require_folder(facts)
        try:
            folder = os.open(place.name, LIST_FLAGS, dir_fd=place.folder)
            try:
                with os.scandir(folder) as found:
                    names = sorted(one.name for one in found if roots.allows(f"{place.real_path}/{one.name}"))
                return [_listed(folder, name) for name in names[:at_most]], len(names)
            finally:
                os.close(folder)
        except OSError as error:
            raise DiskFault(path, errno=error.errno or 0, step="read") from error


def _listed(folder: int, name: str) -> Listed:
    shown = os.fsencode(name).decode(errors="replace")
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # it went while we looked
        return Listed(shown, "other", 0)
    if stat.S_ISREG(facts.st_mode):
        return Listed(shown, "file", facts.st_size)
    kind: EntryKind = "folder" if stat.S_ISDIR(facts.st_mode) else "link" if stat.S_ISLNK(facts.st_mode) else "other"
    return Listed(shown, kind, 0)

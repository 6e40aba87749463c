"""List a folder, and find file names similar to a missing one. Links are listed, never followed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Literal, TypeAlias

from failsoft.framework.errors.corrections import near_names
from failsoft.tools.files.faults import DiskFault, FileFault
from failsoft.tools.files.paths.resolved_path import LIST_FLAGS
from failsoft.tools.files.paths.roots import Roots

_COMPARED_AT_MOST = 500
_SIMILARITY = 75

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder.

    Args:
        name: As it is on the disk; bytes that are not UTF-8 are replaced.
        kind: `file`, `folder`, `link` or `other`.
        bytes: The size of a file; 0 for everything else.
    """

    name: str
    kind: EntryKind
    bytes: int


def listed(roots: Roots, path: str, *, at_most: int) -> tuple[list[FolderEntry], int]:
    """Return the first names in a folder, sorted, and the number of names; both without those that are off limits.

    Args:
        roots: The allowed folders.
        path: The folder, as the caller wrote it.
        at_most: How many names to return.

    Raises:
        BadSpelling, OutsideRoots: It cannot be resolved within the roots.
        NotARegularFile: It is not a folder; the kind of a regular file is `file`.
        DiskFault: It does not exist (step `find`), or cannot be read.
    """
    with roots.place(path) as place:
        place.require_folder(place.require_found())
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


def similar_files(roots: Roots, path: str, *, kind: EntryKind = "file") -> list[str]:
    """Return up to three files in the folder of a missing one whose names are spelled alike, the closest first.

    They are written as the path is. Empty where the folder cannot be listed.

    Args:
        roots: The allowed folders.
        path: The missing file, as the caller wrote it.
        kind: `folder` for folders instead; links count as both.
    """
    folder, slash, name = path.rpartition("/")
    try:
        found, _ = listed(roots, folder or slash or ".", at_most=_COMPARED_AT_MOST)
    except FileFault:
        return []
    names = [one.name for one in found if one.kind in {kind, "link"}]
    return [f"{folder}{slash}{near}" for near in near_names(name, names, at_least=_SIMILARITY)]


def _listed(folder: int, name: str) -> FolderEntry:
    shown = os.fsencode(name).decode(errors="replace")
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # removed meanwhile
        return FolderEntry(shown, "other", 0)
    if stat.S_ISREG(facts.st_mode):
        return FolderEntry(shown, "file", facts.st_size)
    kind: EntryKind = "folder" if stat.S_ISDIR(facts.st_mode) else "link" if stat.S_ISLNK(facts.st_mode) else "other"
    return FolderEntry(shown, kind, 0)

"""`ResolvedPath`: a name in an open folder, which prevents TOCTOU races between check and use."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass

from failsoft.framework.files import folded, protected_files
from failsoft.tools.files.faults import ChangedOnDisk, DiskFault, NotARegularFile, OutsideRoots

FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""With O_PATH, folders without read permission can be traversed."""
LIST_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Listing a folder needs read permission, unlike traversing it."""

_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


@dataclass(slots=True)
class ResolvedPath:
    """A name in an open folder, resolved without links.

    Args:
        path: The path as the caller wrote it.
        root: The allowed folder that contains it, without links.
        names: The names from there, links resolved.
        name: The name within the folder: the last one, or `.` if the path leads to the folder itself.
        folder: The descriptor of that folder.
    """

    path: str
    root: str
    names: tuple[str, ...]
    name: str
    folder: int

    @property
    def key(self) -> str:
        """The same for every path that leads here; unlike the inode number it survives a replacement of the file."""
        facts = os.fstat(self.folder)
        return f"{facts.st_dev}:{facts.st_ino}:{hashlib.sha256(folded(self.name).encode()).hexdigest()[:32]}"

    @property
    def real_folder(self) -> str:
        """The folder's path without links."""
        return os.path.join(self.root, *self.names[:-1])  # noqa: PTH118 - a string is wanted, for a journal

    @property
    def real_path(self) -> str:
        """The file's path without links."""
        return os.path.join(self.root, *self.names)  # noqa: PTH118 - a string is wanted, for a journal

    def facts(self) -> os.stat_result | None:
        """Return the status of the file; None if it does not exist.

        Raises:
            DiskFault: The operating system reports an error.
        """
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.fault(error) from error

    def require_found(self) -> os.stat_result:
        """Return the status of the file.

        Raises:
            DiskFault: It does not exist (step `find`), or the operating system reports an error.
        """
        facts = self.facts()
        if facts is None:
            raise DiskFault(self.path, errno=errno.ENOENT, step="find")
        return facts

    def require_regular(self, facts: os.stat_result) -> None:
        """Raise unless this is the status of a regular file.

        Raises:
            NotARegularFile: It is not.
            ChangedOnDisk: It has been replaced by a link since the path was resolved.
        """
        if stat.S_ISLNK(facts.st_mode):
            raise ChangedOnDisk(self.path)
        if not stat.S_ISREG(facts.st_mode):
            raise NotARegularFile(self.path, kind=_KINDS.get(stat.S_IFMT(facts.st_mode), "device"))

    def require_folder(self, facts: os.stat_result) -> None:
        """Raise unless this is the status of a folder.

        Raises:
            NotARegularFile: It is not; the kind of a regular file is `file`.
            ChangedOnDisk: It has been replaced by a link since the path was resolved.
        """
        if stat.S_ISREG(facts.st_mode):
            raise NotARegularFile(self.path, kind="file")
        if not stat.S_ISDIR(facts.st_mode):
            self.require_regular(facts)

    def require_unprotected(self, name: str | None = None) -> None:
        """Raise if this is a protected file of the server, under any of its names.

        Args:
            name: Another name in the same folder, such as that of a backup.

        Raises:
            OutsideRoots: It is.
            DiskFault: The operating system reports an error.
        """
        try:
            is_protected = protected_files.forbids_at(self.folder, name or self.name)
        except OSError as error:
            raise self.fault(error) from error
        if is_protected:
            raise OutsideRoots(self.path)

    def fault(self, error: OSError) -> DiskFault:
        """Return the fault for an error that occurred while looking up this file."""
        return DiskFault(self.path, errno=error.errno or 0, step="find")

    def close(self) -> None:
        """Close the folder's descriptor."""
        os.close(self.folder)


def sync_folder(folder: int) -> bool:
    """Fsync the folder's entries, and return whether that was possible.

    It is not if the folder may be traversed and written, but not read.

    Raises:
        OSError: The disk reports an error.
    """
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return False
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True

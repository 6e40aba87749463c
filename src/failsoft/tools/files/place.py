"""Where a path led: a name in a folder that is held open. What was checked is therefore what is used."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field

from failsoft.tools.files.faults import ChangedOnDisk, DiskFault, NotARegularFile
from failsoft.tools.files.spelling import folded

__all__ = ["FOLDER_FLAGS", "LIST_FLAGS", "Place", "sync_folder"]

FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""With O_PATH a folder can be walked that may not be listed."""
LIST_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Unlike walking through a folder, this needs the right to read it."""

_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


@dataclass(slots=True)
class Place:
    """A name in an open folder. It is no link, nor was any name on the way when it was walked.

    Args:
        path: The path as the caller wrote it.
        root: The allowed folder that it lies in, without links.
        names: The names from there, links resolved.
        name: The name within the folder: the last one, or `.` if the path leads to the folder itself.
        folder: The descriptor of that folder.
    """

    path: str
    root: str
    names: tuple[str, ...]
    name: str
    folder: int
    key: str = field(init=False)
    """The same for every path that leads here, and unlike the file's own number it outlives a replacement."""

    def __post_init__(self) -> None:
        facts = os.fstat(self.folder)
        self.key = f"{facts.st_dev}:{facts.st_ino}:{hashlib.sha256(folded(self.name).encode()).hexdigest()[:32]}"

    @property
    def real_folder(self) -> str:
        """The folder's path without links."""
        return os.path.join(self.root, *self.names[:-1])  # noqa: PTH118 - a string is wanted, for a journal

    @property
    def real_path(self) -> str:
        """The file's path without links."""
        return os.path.join(self.root, *self.names)  # noqa: PTH118 - a string is wanted, for a journal

    def facts(self) -> os.stat_result | None:
        """Return what is there now; None if nothing is.

        Raises:
            DiskFault: The operating system does not say.
        """
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.fault(error) from error

    def require_regular(self, facts: os.stat_result) -> None:
        """Raise unless these are the facts of a regular file.

        Raises:
            NotARegularFile: They are not.
            ChangedOnDisk: They are those of a link, which this place was not when it was found.
        """
        if stat.S_ISLNK(facts.st_mode):
            raise ChangedOnDisk(self.path)
        if not stat.S_ISREG(facts.st_mode):
            raise NotARegularFile(self.path, kind=_KINDS.get(stat.S_IFMT(facts.st_mode), "device"))

    def require_folder(self, facts: os.stat_result) -> None:
        """Raise unless these are the facts of a folder.

        Raises:
            NotARegularFile: They are not; the kind of a regular file is `file`.
            ChangedOnDisk: They are those of a link, which this place was not when it was found.
        """
        if stat.S_ISREG(facts.st_mode):
            raise NotARegularFile(self.path, kind="file")
        if not stat.S_ISDIR(facts.st_mode):
            self.require_regular(facts)

    def fault(self, error: OSError) -> DiskFault:
        """Return what the operating system said while it looked for this file."""
        return DiskFault(self.path, errno=error.errno or 0, step="find")

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self.folder)


def sync_folder(folder: int) -> bool:
    """Make the folder's entries durable, and return whether that was possible.

    It is not where the folder may be walked and written, but not opened for reading.

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

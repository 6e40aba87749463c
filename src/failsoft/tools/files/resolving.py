"""Resolve the text of a path to a name in an open folder, link by link, never by the kernel."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from failsoft.framework.files import folded, protected_files
from failsoft.tools.files.faults import FileFault

Enter: TypeAlias = Callable[[tuple[str, ...], str], tuple[str, Sequence[str]]]
"""Returns the root that the names of a path lie in, and the names from there; faults have the path as it is written."""

PATH_BYTES_AT_MOST = 4096

FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""With O_PATH, folders without read permission can be traversed."""
LIST_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Listing a folder needs read permission, unlike traversing it."""

_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}

_LINKS_AT_MOST = 40
_STEPS_AT_MOST = 20_000
"""Each `..` of a link restarts at the root, so a few crafted links could take minutes to resolve."""
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})
"""Errors of opening a link as a folder, depending on the system."""


def names_of(path: str, *, relative: bool = False) -> tuple[str, ...]:
    """Split a path into names; the last is `.` if the path ends in a slash, so that it must be a folder.

    `..` is always refused: with links in the path, its target cannot be known from the text.

    Args:
        path: As the caller wrote it.
        relative: Whether relative paths are accepted.

    Raises:
        FileFault: A malformed path: The path is malformed.
    """
    if not path:
        raise FileFault(path, "empty")
    if "\0" in path:
        raise FileFault(path, "nul")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise FileFault(path, "encoding") from None
    if size >= PATH_BYTES_AT_MOST:
        raise FileFault(path, "long")
    if not relative and not path.startswith("/"):
        raise FileFault(path, "relative")
    parts = path.split("/")
    if ".." in parts:
        raise FileFault(path, "parent")
    names = [part for part in parts if part not in {"", "."}]
    if parts[-1] in {"", "."}:
        names.append(".")
    return tuple(names)


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
            FileFault: The disk: The operating system reports an error.
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
            FileFault: The disk: It does not exist (step `find`), or the operating system reports an error.
        """
        facts = self.facts()
        if facts is None:
            raise FileFault.from_os(errno.ENOENT, self.path, step="find")
        return facts

    def require_regular(self, facts: os.stat_result) -> None:
        """Raise unless this is the status of a regular file.

        Raises:
            FileFault: `not_regular`: It is not.
            FileFault: `changed`: It has been replaced by a link since the path was resolved.
        """
        if stat.S_ISLNK(facts.st_mode):
            raise FileFault(self.path, "changed")
        if not stat.S_ISREG(facts.st_mode):
            raise FileFault(self.path, "not_regular", what=_KINDS.get(stat.S_IFMT(facts.st_mode), "device"))

    def require_folder(self, facts: os.stat_result) -> None:
        """Raise unless this is the status of a folder.

        Raises:
            FileFault: `not_regular`: It is not; `what` of a regular file is `file`.
            FileFault: `changed`: It has been replaced by a link since the path was resolved.
        """
        if stat.S_ISREG(facts.st_mode):
            raise FileFault(self.path, "not_regular", what="file")
        if not stat.S_ISDIR(facts.st_mode):
            self.require_regular(facts)

    def require_unprotected(self, name: str | None = None) -> None:
        """Raise if this is a protected file of the server, under any of its names.

        Args:
            name: Another name in the same folder, such as that of a backup.

        Raises:
            FileFault: `outside`: It is.
            FileFault: The disk: The operating system reports an error.
        """
        try:
            is_protected = protected_files.forbids_at(self.folder, name or self.name)
        except OSError as error:
            raise self.fault(error) from error
        if is_protected:
            raise FileFault(self.path, "outside")

    def fault(self, error: OSError) -> FileFault:
        """Return the fault for an error that occurred while looking up this file."""
        return FileFault.from_os(error, self.path, step="find")

    def close(self) -> None:
        """Close the folder's descriptor."""
        os.close(self.folder)


class SwappedError(Exception):
    """The file was replaced between two system calls."""


class Walk:
    """The resolution of one path: its present folder, and how many links it may still follow."""

    def __init__(self, enter: Enter, path: str, *, follow: bool) -> None:
        self.enter = enter
        self.path = path
        self.follow = follow
        self.links = _LINKS_AT_MOST if follow else 0
        self.steps = _STEPS_AT_MOST
        self.folder = -1
        self.root = ""
        self.names: list[str] = []

    def to(self, names: tuple[str, ...]) -> ResolvedPath:
        """Return the resolved path of these names; the caller must close it."""
        try:
            last = self._descend(names)
        except BaseException:
            self._leave()
            raise
        names = (*self.names, last) if last else tuple(self.names)
        return ResolvedPath(self.path, self.root, names, last or ".", self.folder)

    def _descend(self, names: tuple[str, ...]) -> str:
        """Open the folder of the last name, and return that name, which is not a link and may not exist."""
        pending = self._begin(*self.enter(names, self.path))
        while pending:
            name = pending.pop()
            if name == "..":
                self._climb()
            elif name == ".":
                continue
            elif (target := self._step(name, is_last=not pending)) is not None:
                pending.extend(self._follow(target))
            elif not pending:
                return name
        return ""

    def _begin(self, root: str, names: Sequence[str]) -> list[str]:
        """Open the root, and return the remaining names in reverse order."""
        self._leave()
        # The operator controls the path of the root, so links in it are followed.
        self.folder = os.open(root, FOLDER_FLAGS & ~os.O_NOFOLLOW)
        self.root = root
        self.names = []
        return list(reversed(names))

    def _step(self, name: str, *, is_last: bool) -> str | None:
        """Open the folder, unless it is the last name; return the target instead if the name is a link."""
        self.steps -= 1
        if self.steps < 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if is_last:
            return self._target(name, None) if self.follow and self._is_link(name) else None
        try:
            folder = os.open(name, FOLDER_FLAGS, dir_fd=self.folder)
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                raise
            return self._target(name, error)
        self._leave()
        self.folder = folder
        self.names.append(name)
        return None

    def _is_link(self, name: str) -> bool:
        try:
            return stat.S_ISLNK(os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False

    def _target(self, name: str, refusal: OSError | None) -> str:
        """Return the target of the link; if it is not a link, raise `refusal`, or `SwappedError` if replaced."""
        try:
            target = os.readlink(name, dir_fd=self.folder)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            if refusal is not None and not stat.S_ISDIR(
                os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_mode
            ):
                raise refusal from None
            raise SwappedError from None
        if not self.links:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self.links -= 1
        return target

    def _follow(self, target: str) -> list[str]:
        """Return the names in a link's target; an absolute target restarts at the root that contains it."""
        names = split_names(target)
        if target.startswith("/"):
            return self._begin(*self.enter(names, self.path))
        return list(reversed(names))

    def _climb(self) -> None:
        """Resolve the parent from the root again, since `..` of a descriptor changes when its folder is moved."""
        if not self.names and self.root != "/":
            raise FileFault(self.path, "outside")
        for name in reversed(self._begin(self.root, self.names[:-1])):
            if self._step(name, is_last=False) is not None:
                raise SwappedError

    def _leave(self) -> None:
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1


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


def split_names(path: str) -> tuple[str, ...]:
    """Return the names in a path, without empty ones and `.`."""
    return tuple(name for name in path.split("/") if name and name != ".")

"""The server's own files: protected from the tools, read only if they are regular, and where its state lies.

Audit logs, their heads and keys, the recovery file, locks and journals add themselves to a registry, so that file
operations of tools cannot access them. Two checks use it: paths are compared by name when a tool resolves one, and once
more by identity (device and inode) right before a commit, which also covers hard links, bind mounts and file systems
that ignore case.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
import unicodedata
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

if sys.platform != "win32":
    import grp
    import pwd

Protection: TypeAlias = Literal["file", "family", "tree"]
"""A file; a file and all names beside it that begin with its own (a log, its segments); a folder and all in it."""
_PARENTS_AT_MOST = 256
OPEN_FLAGS: int = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
"""How a file is opened without waiting for the other end of a pipe; not every system has each."""


def folded(name: str) -> str:
    """Fold a name so that spellings which some file systems treat as equal (case, composition) are equal."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@dataclass(frozen=True, slots=True)
class _ProtectedFile:
    path: str
    kind: Protection
    shape: tuple[str, ...]

    def covers(self, shape: tuple[str, ...]) -> bool:
        depth = len(self.shape)
        if self.kind != "family":
            return shape[:depth] == self.shape
        return len(shape) >= depth and shape[: depth - 1] == self.shape[:-1] and self.covers_name(shape[depth - 1])

    def covers_name(self, name: str) -> bool:
        """Return whether a folded name in the entry's own folder is covered."""
        return name.startswith(self.shape[-1]) if self.kind == "family" else name == self.shape[-1]


class ProtectedFiles:
    """The registry. Entries live as long as their owner; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_owner: weakref.WeakKeyDictionary[Any, tuple[_ProtectedFile, ...]] = weakref.WeakKeyDictionary()

    def add(self, owner: Any, *paths: str | os.PathLike[str], kind: Protection = "file") -> None:
        """Protect files for as long as their owner lives. They need not exist.

        Args:
            owner: What uses them; hashable and weakly referable.
            paths: The files. Of a link, both the link and what it leads to are protected.
            kind: How much a path covers.
        """
        entries = tuple(_ProtectedFile(path, kind, shape_of(path)) for given in paths for path in _resolved(given))
        with self._lock:
            self._by_owner[owner] = (*self._by_owner.get(owner, ()), *entries)

    def paths(self) -> list[str]:
        """Return what is protected now, absolute and without links, sorted."""
        return sorted({entry.path for entry in self._entries()})

    def forbids(self, shape: tuple[str, ...]) -> bool:
        """Return whether a path is protected, by its names alone.

        Args:
            shape: The `shape_of` an absolute path without links.
        """
        return any(entry.covers(shape) for entry in self._entries())

    def forbids_at(self, folder: int, name: str) -> bool:
        """Return whether a name in an open folder is protected, by the identity of the folder and of the file.

        Args:
            folder: The descriptor of a folder; `O_PATH` will do.
            name: A name in it, which need not exist.

        Raises:
            OSError: The folder or file cannot be examined.
        """
        entries = self._entries()
        if not entries:
            return False
        here, there = os.fstat(folder), _facts(name, folder)
        shape = folded(name)
        parents = _parents(folder) if any(entry.kind == "tree" for entry in entries) else frozenset()
        return any(
            (entry.covers_name(shape) and _is_same(_facts(os.path.dirname(entry.path)), here))  # noqa: PTH120 - hot
            or _is_itself(entry, there)
            or (entry.kind == "tree" and _key(_facts(entry.path)) in parents)
            for entry in entries
        )

    def _entries(self) -> list[_ProtectedFile]:
        with self._lock:
            return [entry for entries in self._by_owner.values() for entry in entries]


protected_files = ProtectedFiles()
"""The registry of this process."""


def shape_of(path: str) -> tuple[str, ...]:
    """Return the folded names of an absolute path."""
    return tuple(folded(name) for name in path.split("/") if name and name != ".")


def _resolved(path: str | os.PathLike[str]) -> Iterator[str]:
    given = Path(path).absolute()
    by_folder = os.path.join(os.path.realpath(given.parent), given.name)  # noqa: PTH118 - as in the walk of tools/files
    yield by_folder
    if (target := os.path.realpath(given)) != by_folder:
        yield target


def _facts(path: str, folder: int | None = None) -> os.stat_result | None:
    """Return the facts of a file or folder; None if it does not exist or cannot be reached."""
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _is_same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    return one is not None and other is not None and os.path.samestat(one, other)


def _is_itself(entry: _ProtectedFile, there: os.stat_result | None) -> bool:
    """Return whether the file is the protected one under another name; a family is listed only for hard links."""
    if there is None:
        return False
    if _is_same(_facts(entry.path), there):
        return True
    if entry.kind != "family" or there.st_nlink < 2:  # noqa: PLR2004 - a second name
        return False
    try:
        with os.scandir(os.path.dirname(entry.path)) as found:  # noqa: PTH120 - on the way of every write
            return any(
                entry.covers_name(folded(one.name)) and _is_same(_facts(one.path), there)
                for one in found
                if one.inode() == there.st_ino
            )
    except OSError:
        return False


def _key(facts: os.stat_result | None) -> tuple[int, int] | None:
    return None if facts is None else (facts.st_dev, facts.st_ino)


def _parents(folder: int) -> frozenset[tuple[int, int] | None]:
    """Return device and inode of a folder and of all folders above it."""
    flags = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
    found: list[tuple[int, int] | None] = []
    current = os.open(".", flags, dir_fd=folder)
    try:
        for _ in range(_PARENTS_AT_MOST):
            key = _key(os.fstat(current))
            if found and found[-1] == key:  # the root is its own parent
                break
            found.append(key)
            above = os.open("..", flags, dir_fd=current)
            os.close(current)
            current = above
    finally:
        os.close(current)
    return frozenset(found)


def require_posix(what: str) -> None:
    """Raise CONFIG_ERROR on Windows, for a part that needs locks, owners, modes and open folders of POSIX.

    Args:
        what: The part and `needs`, as the sentence begins.
    """
    if sys.platform == "win32":
        from failsoft.framework.errors import ConfigurationError  # noqa: PLC0415 - every error class comes with it

        raise ConfigurationError(
            issue=f"{what} a POSIX system such as Linux, and this is Windows",
            resolution="use WSL or a container",
            details={"system": sys.platform},
        )


def opened_regular(file: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
    """
    descriptor = os.open(file, flags | OPEN_FLAGS, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(file))
    return descriptor


def give_to_folder_owner(descriptor: int, path: Path) -> None:
    """Give an empty file that root has made to the owner of its folder: the server there, which has to write it."""
    made, folder = os.fstat(descriptor), path.parent.stat()
    if made.st_uid == 0 != folder.st_uid and made.st_size == 0 and made.st_nlink == 1:
        os.fchown(descriptor, folder.st_uid, folder.st_gid)


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def other_writers(file: int | Path, path: Path) -> str:
    """Return who besides its owner may change a file, and what to do; empty if nobody may, so that it can be relied on.

    Windows has no owner and no mode that say so, so that no file can be relied on there.

    Args:
        file: The path, or the descriptor of the open file.
        path: Where it lies. Those who may write its folder may replace it, unless the folder is sticky. A folder that
            is a mount point is not asked for: container runtimes mount volumes that everybody may write.

    Raises:
        OSError: There is no such file, or it cannot be examined.
    """
    found = os.stat(file)  # noqa: PTH116 - of a descriptor, too
    if sys.platform == "win32":
        return "Windows does not say who may write it, so that it proves nothing: use a POSIX system"
    if found.st_mode & _OTHERS_WRITE:
        return "its group or other users may write it, so that it proves nothing: `chmod go-w` it"
    if os.geteuid() not in {0, found.st_uid} and found.st_uid != 0:
        return "another user owns it, so that it proves nothing: `chown` it"
    folder = path.parent.stat()
    is_theirs = folder.st_mode & stat.S_IWOTH or (folder.st_mode & stat.S_IWGRP and _has_others(folder.st_gid))
    if is_theirs and not folder.st_mode & stat.S_ISVTX and not os.path.ismount(path.parent):
        return "its group or other users may write its folder and replace it: `chmod go-w` the folder"
    return ""


def _has_others(group: int) -> bool:
    """Return whether a group has members besides this user, as far as the system's list of groups says.

    A user's own group, and a number without a name, as `fsGroup` gives in a container, have none.
    """
    try:
        found = grp.getgrgid(group)
    except KeyError:
        return False
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = ""
    return found.gr_name != name or not {*found.gr_mem} <= {name}


def read_regular(file: Path, bytes_at_most: int) -> bytes:
    """Return the first bytes of a regular file.

    Raises:
        OSError: It cannot be read, or is not a regular file.
    """
    with open(opened_regular(file), "rb") as stream:
        content: bytes | None = stream.read(bytes_at_most)
    if content is None:
        raise OSError(errno.EAGAIN, "it has no content yet, as some files of the kernel", str(file))
    return content


def state_folder() -> Path:
    """Return the folder, which need not exist yet: `$XDG_STATE_HOME/failsoft`, or the platform's equivalent."""
    return _of(os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=8)
def _of(_state_home: str | None, _home: str | None) -> Path:
    from platformdirs import user_state_path  # noqa: PLC0415 - `import failsoft` does not need it

    return user_state_path("failsoft")

"""Allowed folders, and TOCTOU-safe resolution of paths in them, name by name with open descriptors.

A check of the path's text is not enough: links may lead elsewhere, and a folder may be replaced by a link between the
check and the use. So the kernel never follows a link here: links are read and followed in this module.
"""

from __future__ import annotations

import copy
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

from failsoft.framework.audit.places import is_known_log
from failsoft.framework.files import folded, protected_files
from failsoft.tools.files.faults import BadSpelling, DiskFault, OutsideRoots
from failsoft.tools.files.paths.path_syntax import names_of
from failsoft.tools.files.paths.resolved_path import FOLDER_FLAGS, LIST_FLAGS, ResolvedPath, sync_folder

CLOSED_FOLDER = ".failsoft"
"""The server's own folder in a workspace, which toolsets close to tools at any depth."""

_LINKS_AT_MOST = 40
_SWAPS_AT_MOST = 20
_STEPS_AT_MOST = 20_000
"""Each `..` of a link restarts at the root, so a few crafted links could take minutes to resolve."""
_MADE_AT_MOST = 32
"""Folders created for one path; each stays open until the call ends."""
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})
"""Errors of opening a link as a folder, depending on the system."""


class _Way(NamedTuple):
    """A prefix of absolute paths into a root, and where it leads."""

    spelling: tuple[str, ...]
    root: str
    names: tuple[str, ...]


class _SwappedError(Exception):
    """The file was replaced between two system calls."""


class Roots:
    """One or several allowed folders.

    Args:
        folders: The folders; one within another is dropped, since its parent could be replaced through the outer one.
        relative: Whether paths may also be relative, to the first folder.
        off_limits: Files and folders within that stay out of reach, besides those of `protected_files`.

    Raises:
        OSError: A folder does not exist, or is not a folder.
    """

    def __init__(
        self, folders: Sequence[str | os.PathLike[str]], *, relative: bool = False, off_limits: Sequence[Path] = ()
    ) -> None:
        self.relative = relative
        given = [os.path.abspath(folder) for folder in folders]  # noqa: PTH100 - resolve() would lose the spelling
        real = [os.path.realpath(folder, strict=True) for folder in given]
        for folder in real:
            os.close(os.open(folder, FOLDER_FLAGS))
        self.folders = tuple(dict.fromkeys(one for one in real if not any(_is_within(one, other) for other in real)))
        """The allowed folders, without links and without those that lie in another."""
        self._ways = [way for pair in zip(given, real, strict=True) for way in self._ways_to(*pair)]
        self._first = real[0]
        self._off_limits = _shapes(off_limits)
        self._confined: tuple[str, ...] = ()
        self._closed: frozenset[str] = frozenset()

    def _ways_to(self, given: str, real: str) -> list[_Way]:
        root = next(root for root in self.folders if real == root or _is_within(real, root))
        names = _names(real)[len(_names(root)) :]
        return [_Way(_names(spelling), root, names) for spelling in (given, real)]

    @classmethod
    def anywhere(cls, *, off_limits: Sequence[Path] = ()) -> Self:
        """Return the roots of a server without a root: every absolute path."""
        return cls(["/"], off_limits=off_limits)

    def closing(self, *names: str) -> Roots:
        """Return the same roots, with every file and folder of these names off limits at any depth."""
        other = copy.copy(self)
        other._closed = self._closed.union(map(folded, names))  # noqa: SLF001 - a copy of ourselves
        return other

    def beneath(self, folder: str) -> Roots:
        """Return the same roots, confined to a folder in them; paths may also be relative to it.

        The path is still resolved from the root, name by name, so replacing the folder by a link has no effect.

        Args:
            folder: Its path without links, as `folder` returns it.
        """
        other = copy.copy(self)
        other.relative = True
        other._first, other._confined = folder, _names(folder)  # noqa: SLF001 - a copy of ourselves
        return other

    @contextmanager
    def place(self, path: str, *, follow: bool = True) -> Iterator[ResolvedPath]:
        """Resolve a path and keep its folder open, whether or not the file exists.

        Args:
            path: As the caller wrote it.
            follow: False for paths that were resolved before: a link on the way is an error, and a link at the end
                is not followed.

        Raises:
            BadSpelling: No file can have this path here.
            OutsideRoots: It leads out of the roots, or to what is off limits.
            DiskFault: A folder on the way is missing or no folder, links go in circles, the access is refused.
        """
        place = self.find(path, follow=follow)
        try:
            yield place
        finally:
            place.close()

    def find(self, path: str, *, follow: bool = True) -> ResolvedPath:
        """Return the resolved path as `place` does; the caller must close it."""
        names = names_of(path, relative=self.relative)
        if not path.startswith("/"):
            names = (*_names(self._first), *names)
        try:
            for _ in range(_SWAPS_AT_MOST):
                try:
                    return _Walk(self, path, follow=follow).to(names)
                except _SwappedError:
                    continue
        except OSError as error:
            raise DiskFault(path, errno=error.errno or 0, step="find") from error
        raise DiskFault(path, errno=errno.EAGAIN, step="find")

    def folder(self, path: str) -> str:
        """Return the path of a folder without links.

        Raises:
            BadSpelling: No folder can have this path here.
            OutsideRoots: It leads out of the roots, or to what is off limits.
            NotARegularFile: It is a pipe, a socket or a device, or a regular file (kind `file`).
            DiskFault: It does not exist, or may not be read.
        """
        with self.place(path) as place:
            place.require_folder(place.require_found())
            try:
                os.close(os.open(place.name, LIST_FLAGS, dir_fd=place.folder))
            except OSError as error:
                raise place.fault(error) from error
            return place.real_path

    def enter(self, names: tuple[str, ...], path: str) -> tuple[str, tuple[str, ...]]:
        """Return the root that an absolute path lies in, and the names from there.

        Raises:
            OutsideRoots: It lies in none.
        """
        for way in self._ways:
            if names[: len(way.spelling)] == way.spelling:
                rest = (*way.names, *names[len(way.spelling) :])
                if not self._confined or (*_names(way.root), *rest)[: len(self._confined)] == self._confined:
                    return way.root, rest
        raise OutsideRoots(path)

    def guard(self, place: ResolvedPath) -> None:
        """Raise if the path is off limits.

        Raises:
            OutsideRoots: It is off limits.
        """
        if not self.allows(place.real_path):
            raise OutsideRoots(place.path)

    def allows(self, real_path: str) -> bool:
        """Return whether a path in the roots, absolute and without links, is not off limits."""
        names = _names(real_path)
        if names[: len(self._confined)] != self._confined:
            return False
        shape = _shape(names)
        return not (
            not self._closed.isdisjoint(shape)
            or any(shape[: len(limit)] == limit for limit in self._off_limits)
            or protected_files.forbids(shape)
            or is_known_log(real_path)
        )

    @contextmanager
    def parents(self, path: str) -> Iterator[None]:
        """Create the missing folders of a path, durably; remove them again if the block fails.

        Raises:
            BadSpelling: No file can have this path here, or (`deep`) it lacks too many folders.
            OutsideRoots: The path leads out of the roots, or to what is off limits.
            DiskFault: A folder cannot be made.
        """
        folders = self._lacking(path)
        with ExitStack() as held:
            made: list[ResolvedPath] = []
            try:
                for folder in folders:
                    place = held.enter_context(self.place(folder))
                    if place.facts() is None:
                        _make(place, path, made)
                yield
            except BaseException:
                for place in reversed(made):
                    with suppress(OSError):  # it is no longer empty
                        os.rmdir(place.name, dir_fd=place.folder)
                raise

    def _lacking(self, path: str) -> list[str]:
        """Return the folders on the way to a path that do not exist, the outermost first."""
        names = names_of(path, relative=self.relative)[:-1]
        beginning = "/" if path.startswith("/") else ""
        lacking: list[str] = []
        for count in range(len(names), 0, -1):
            folder = beginning + "/".join(names[:count])
            try:
                with self.place(folder) as place:
                    if place.facts() is not None:
                        break
            except DiskFault as fault:
                if fault.errno != errno.ENOENT:
                    raise
            lacking.append(folder)
            if len(lacking) > _MADE_AT_MOST:
                raise BadSpelling(path, reason="deep")
        return lacking[::-1]


class _Walk:
    """The resolution of one path: its present folder, and how many links it may still follow."""

    def __init__(self, roots: Roots, path: str, *, follow: bool) -> None:
        self.roots = roots
        self.path = path
        self.follow = follow
        self.links = _LINKS_AT_MOST if follow else 0
        self.steps = _STEPS_AT_MOST
        self.folder = -1
        self.root = ""
        self.names: list[str] = []

    def to(self, names: tuple[str, ...]) -> ResolvedPath:
        try:
            last = self._descend(names)
            names = (*self.names, last) if last else tuple(self.names)
            place = ResolvedPath(self.path, self.root, names, last or ".", self.folder)
            self.roots.guard(place)
        except BaseException:
            self._leave()
            raise
        return place

    def _descend(self, names: tuple[str, ...]) -> str:
        """Open the folder of the last name, and return that name, which is not a link and may not exist."""
        pending = self._begin(*self.roots.enter(names, self.path))
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
        """Return the target of the link; if it is not a link, raise `refusal`, or `_SwappedError` if replaced."""
        try:
            target = os.readlink(name, dir_fd=self.folder)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            if refusal is not None and not stat.S_ISDIR(
                os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_mode
            ):
                raise refusal from None
            raise _SwappedError from None
        if not self.links:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self.links -= 1
        return target

    def _follow(self, target: str) -> list[str]:
        """Return the names in a link's target; an absolute target restarts at the root that contains it."""
        names = _names(target)
        if target.startswith("/"):
            return self._begin(*self.roots.enter(names, self.path))
        return list(reversed(names))

    def _climb(self) -> None:
        """Resolve the parent from the root again, since `..` of a descriptor changes when its folder is moved."""
        if not self.names and self.root != "/":
            raise OutsideRoots(self.path)
        for name in reversed(self._begin(self.root, self.names[:-1])):
            if self._step(name, is_last=False) is not None:
                raise _SwappedError

    def _leave(self) -> None:
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name and name != ".")


def _make(place: ResolvedPath, path: str, made: list[ResolvedPath]) -> None:
    """Create a folder unless it exists by now, and append it to `made`."""
    place.require_unprotected()
    try:
        os.mkdir(place.name, dir_fd=place.folder)
        made.append(place)
        sync_folder(place.folder)
    except FileExistsError:
        return
    except OSError as error:
        raise DiskFault(path, errno=error.errno or 0, step="place") from error


def _is_within(path: str, folder: str) -> bool:
    return path != folder and _names(path)[: len(_names(folder))] == _names(folder)


def _shapes(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    return [_shape(_names(os.path.realpath(path))) for path in paths]


def _shape(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(folded, names))

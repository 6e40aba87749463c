"""Allowed folders, and TOCTOU-safe resolution of paths in them, name by name with open descriptors.

A check of the path's text is not enough: links may lead elsewhere, and a folder may be replaced by a link between the
check and the use. So the kernel never follows a link here: links are read and followed in `resolving`.
"""

from __future__ import annotations

import copy
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from failsoft.framework.audit.places import is_known_log
from failsoft.framework.files import folded, protected_files
from failsoft.tools.files.faults import FileFault
from failsoft.tools.files.resolving import (
    FOLDER_FLAGS,
    LIST_FLAGS,
    ResolvedPath,
    SwappedError,
    Walk,
    names_of,
    split_names,
    sync_folder,
)

CLOSED_FOLDER = ".failsoft"
"""The server's own folder in a workspace, which toolsets close to tools at any depth."""

_SWAPS_AT_MOST = 20
_MADE_AT_MOST = 32
"""Folders created for one path; each stays open until the call ends."""
_LACKING_AT_MOST = 33
"""Names at the end of a path that need not exist: the folders that one call creates, and the file."""


class _Way(NamedTuple):
    """A prefix of absolute paths into a root, and where it leads."""

    spelling: tuple[str, ...]
    root: str
    names: tuple[str, ...]


class Nearest(NamedTuple):
    """The longest beginning of a path that resolves: its folder is there, and its last name may be missing.

    Args:
        real_path: Where it leads, without links.
        is_there: Whether something is there.
        rest: The names after it, of which none is there.
    """

    real_path: str
    is_there: bool
    rest: tuple[str, ...]

    @property
    def destination(self) -> str:
        """The absolute path without links of the whole path, for a file that would be written."""
        return "/".join((self.real_path, *self.rest))


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
        names = split_names(real)[len(split_names(root)) :]
        return [_Way(split_names(spelling), root, names) for spelling in (given, real)]

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
        other._first, other._confined = folder, split_names(folder)  # noqa: SLF001 - a copy of ourselves
        return other

    @contextmanager
    def resolve(self, path: str, *, follow: bool = True) -> Iterator[ResolvedPath]:
        """Resolve a path and keep its folder open, whether or not the file exists.

        Args:
            path: As the caller wrote it.
            follow: False for paths that were resolved before: a link on the way is an error, and a link at the end
                is not followed.

        Raises:
            FileFault: A malformed path: No file can have this path here.
            FileFault: `outside`: It leads out of the roots, or to what is off limits.
            FileFault: The disk: A folder on the way is missing or no folder, links go in circles, access is refused.
        """
        resolved = self._resolved(path, follow=follow)
        try:
            yield resolved
        finally:
            resolved.close()

    def _resolved(self, path: str, *, follow: bool = True) -> ResolvedPath:
        """Return the resolved path as `resolve` does; the caller must close it."""
        names = names_of(path, relative=self.relative)
        if not path.startswith("/"):
            names = (*split_names(self._first), *names)
        try:
            for _ in range(_SWAPS_AT_MOST):
                with suppress(SwappedError):
                    return self._guarded(Walk(self.enter, path, follow=follow).to(names))
        except OSError as error:
            raise FileFault.from_os(error, path, step="find") from error
        raise FileFault.from_os(errno.EAGAIN, path, step="find")

    def _guarded(self, resolved: ResolvedPath) -> ResolvedPath:
        """Return the path unless it is off limits; it is closed then."""
        with ExitStack() as opened:
            opened.callback(resolved.close)
            if not self.allows(resolved.real_path):
                raise FileFault(resolved.path, "outside")
            opened.pop_all()
        return resolved

    def folder(self, path: str) -> str:
        """Return the path of a folder without links.

        Raises:
            FileFault: A malformed path: No folder can have this path here.
            FileFault: `outside`: It leads out of the roots, or to what is off limits.
            FileFault: `not_regular`: It is a pipe, a socket or a device, or a regular file (`what` is `file`).
            FileFault: The disk: It does not exist, or may not be read.
        """
        with self.resolve(path) as resolved:
            resolved.require_folder(resolved.require_found())
            try:
                os.close(os.open(resolved.name, LIST_FLAGS, dir_fd=resolved.folder))
            except OSError as error:
                raise resolved.fault(error) from error
            return resolved.real_path

    def enter(self, names: tuple[str, ...], path: str) -> tuple[str, tuple[str, ...]]:
        """Return the root that an absolute path lies in, and the names from there.

        Raises:
            FileFault: `outside`: It lies in none.
        """
        for way in self._ways:
            if names[: len(way.spelling)] == way.spelling:
                rest = (*way.names, *names[len(way.spelling) :])
                if not self._confined or (*split_names(way.root), *rest)[: len(self._confined)] == self._confined:
                    return way.root, rest
        raise FileFault(path, "outside")

    def allows(self, real_path: str) -> bool:
        """Return whether a path in the roots, absolute and without links, is not off limits."""
        names = split_names(real_path)
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
            FileFault: A malformed path: No file can have this path here, or (`deep`) it lacks too many folders.
            FileFault: `outside`: The path leads out of the roots, or to what is off limits.
            FileFault: The disk: A folder cannot be made.
        """
        folders = self._lacking(path)
        with ExitStack() as held:
            made: list[ResolvedPath] = []
            try:
                for folder in folders:
                    resolved = held.enter_context(self.resolve(folder))
                    if resolved.facts() is None:
                        _make(resolved, path, made)
                yield
            except BaseException:
                for resolved in reversed(made):
                    with suppress(OSError):  # it is no longer empty
                        os.rmdir(resolved.name, dir_fd=resolved.folder)
                raise

    def nearest(self, path: str) -> Nearest:
        """Return the longest beginning of a path that resolves.

        Raises:
            FileFault: A malformed path: No file can have this path here, or (`deep`) it lacks too many folders.
            FileFault: `outside`: It leads out of the roots, or to what is off limits.
            FileFault: The disk: The operating system reports an error.
        """
        names = names_of(path, relative=self.relative)
        beginning = "/" if path.startswith("/") else ""
        for count in range(len(names), max(0, len(names) - _LACKING_AT_MOST - 1), -1):
            try:
                with self.resolve(beginning + "/".join(names[:count])) as resolved:
                    return Nearest(resolved.real_path, resolved.facts() is not None, names[count:])
            except FileFault as fault:
                if fault.errno is None:
                    raise
                if fault.errno != errno.ENOENT or count == 1:
                    raise FileFault(path, fault.kind, **fault.facts) from fault
        raise FileFault(path, "deep")

    def _lacking(self, path: str) -> list[str]:
        """Return the folders on the way to a path that do not exist, the outermost first."""
        names = names_of(path, relative=self.relative)[:-1]
        if not names:
            return []
        beginning = "/" if path.startswith("/") else ""
        near = self.nearest(beginning + "/".join(names))
        count = len(near.rest) + (not near.is_there)
        if count > _MADE_AT_MOST:
            raise FileFault(path, "deep")
        return [beginning + "/".join(names[:end]) for end in range(len(names) - count + 1, len(names) + 1)]


def _make(resolved: ResolvedPath, path: str, made: list[ResolvedPath]) -> None:
    """Create a folder unless it exists by now, and append it to `made`."""
    resolved.require_unprotected()
    try:
        os.mkdir(resolved.name, dir_fd=resolved.folder)
        made.append(resolved)
        sync_folder(resolved.folder)
    except FileExistsError:
        return
    except OSError as error:
        raise FileFault.from_os(error, path, step="rename") from error


def _is_within(path: str, folder: str) -> bool:
    return path != folder and split_names(path)[: len(split_names(folder))] == split_names(folder)


def _shapes(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    return [_shape(split_names(os.path.realpath(path))) for path in paths]


def _shape(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(folded, names))


def name_within(roots: Roots, path: str, folder: str) -> str:
    """Return a path as it was named, relative to a folder: without empty names and `.`, and with links as they are.

    Args:
        roots: The allowed folders.
        path: As the caller wrote it.
        folder: The folder that relative paths are relative to, without links.

    Raises:
        FileFault: A malformed path: No file can have this path here.
        FileFault: `outside`: It is absolute, and does not lie in the folder.
    """
    names = names_of(path, relative=roots.relative)
    if not path.startswith("/"):
        return str(PurePosixPath(*names))
    root, rest = roots.enter(names, path)
    return str(PurePosixPath(root, *rest).relative_to(folder))

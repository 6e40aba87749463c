"""The only way to the disk: every name is opened beneath the folder before it, and no link is followed by the kernel.

A path that was judged by its spelling can still be led astray by links, and by whoever swaps a folder for a link
between the check and the use. So links are read and followed here, and each folder is held open until the next name
in it was opened: what was checked is what is used.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

from failsoft.framework.errors import ConfigurationError, DocumentLoadError, DocumentNotFound, PermissionDenied
from failsoft.framework.text import bounded
from failsoft.tools.docs.spelling import DEPTH_AT_MOST, is_document, is_visible

__all__ = ["DOCUMENT_BYTES_AT_MOST", "OPEN_FOLDER", "DocumentRoot", "Place", "SwappedError"]

DOCUMENT_BYTES_AT_MOST = 2_000_000
_LINKS_AT_MOST = 40
_SWAPS_AT_MOST = 5
_CHUNK_BYTES = 1 << 20

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever."""

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL})
_REFUSED = frozenset({errno.EACCES, errno.EPERM})
_SWAPPED = frozenset({errno.ELOOP, errno.ENOTDIR})
_BROKEN = frozenset({errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENODEV})


class Place(NamedTuple):
    """Where a path led: a name in a folder that is held open, and what is there. It is never a link."""

    folder: int
    name: str
    facts: os.stat_result


class SwappedError(Exception):
    """What was looked at a moment ago is something else by now."""


class DocumentRoot:
    """The folder that is served, and the documents beneath it.

    Args:
        root: The folder. It may itself be a link, which is followed anew on each call.
        document_bytes_at_most: The size above which a document is not read.
    """

    def __init__(self, root: Path, *, document_bytes_at_most: int = DOCUMENT_BYTES_AT_MOST) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would freeze the link that the root may be
        self.document_bytes_at_most = document_bytes_at_most

    def read(self, names: Sequence[str]) -> bytes:
        """Return the bytes of a document.

        Args:
            names: The names that lead to it, from `spelling.names_of`.

        Raises:
            DOC_NOT_FOUND: There is no such document; hidden files and files of other kinds count as none.
            PERMISSION_DENIED: A link leads out of the root, or the operating system refuses to read.
            DOC_LOAD_ERROR: It is no regular file, too large, its links lead in a circle, or the disk fails.
            CONFIG_ERROR: The root itself cannot be opened.
        """
        path = "/".join(names)
        if not names or not is_document(names[-1]) or not all(map(is_visible, names)):
            raise DocumentNotFound(path=path)
        try:
            for _ in range(_SWAPS_AT_MOST):
                try:
                    with self.place(names) as place:
                        return self._read_at(place, path)
                except SwappedError:
                    continue
        except (OSError, UnicodeEncodeError) as error:
            _raise_for(error, path)
        raise DocumentLoadError(path=path, reason="it is being replaced again and again")

    def holds(self, path: str) -> bool:
        """Return whether a document is there now. It takes well-formed paths: for a caller's, ask `names_of` first."""
        names = path.split("/")
        if not is_document(path) or not all(map(is_visible, names)):
            return False
        try:
            with self.place(names) as place:
                return stat.S_ISREG(place.facts.st_mode)
        except (OSError, UnicodeEncodeError, PermissionDenied, SwappedError):
            return False

    @contextmanager
    def place(self, names: Sequence[str]) -> Iterator[Place]:
        """Hold the place open that the names lead to, links within the root followed.

        Raises:
            OSError: As the operating system says, for each name.
            PERMISSION_DENIED: A link leads out of the root.
        """
        folders = [self._open_root()]
        try:
            yield self._descend(folders, names)
        finally:
            for folder in folders:
                os.close(folder)

    def _open_root(self) -> int:
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in _MISSING | _REFUSED:
                raise
            raise ConfigurationError(
                issue="the documentation folder does not exist or cannot be opened",
                resolution="serve a folder that exists and that the server may read",
                operator_hint=f"The documentation root is {self.root}: {os.strerror(error.errno or 0)}.",
            ) from error

    def _descend(self, folders: list[int], names: Sequence[str]) -> Place:
        """Follow the names, keeping the folders on the way open in `folders`, so that `..` in a link is a step back."""
        pending = list(reversed(names))
        links = 0
        while pending:
            name = pending.pop()
            if name == "..":
                if len(folders) == 1:
                    _refuse_outside(names)
                os.close(folders.pop())
                continue
            facts = os.stat(name, dir_fd=folders[-1], follow_symlinks=False)
            if stat.S_ISLNK(facts.st_mode):
                links += 1
                if links > _LINKS_AT_MOST:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                pending.extend(reversed(self._follow(name, folders, names)))
            elif not pending:
                return Place(folders[-1], name, facts)
            else:
                folders.append(_open_folder(name, folders, facts))
        return Place(folders[-1], ".", os.fstat(folders[-1]))

    def _follow(self, link: str, folders: list[int], names: Sequence[str]) -> list[str]:
        """Return the names that a link stands for; one that is absolute and inside starts again from the root."""
        try:
            target = os.readlink(link, dir_fd=folders[-1])
        except OSError as error:
            raise (SwappedError() if error.errno == errno.EINVAL else error) from None
        if target.startswith("/"):
            base = next((base for base in self._spellings() if f"{target}/".startswith(f"{base}/")), None)
            if base is None:
                _refuse_outside(names)
            target = target[len(base) :]
            while len(folders) > 1:
                os.close(folders.pop())
        return [name for name in target.split("/") if name not in {"", "."}]

    def _spellings(self) -> tuple[str, str]:
        return str(self.root), os.path.realpath(self.root)

    def _read_at(self, place: Place, path: str) -> bytes:
        if stat.S_ISDIR(place.facts.st_mode):
            raise DocumentNotFound(path=path)
        _require_regular(place.facts, path)
        try:
            file = os.open(place.name, _OPEN_FILE, dir_fd=place.folder)
        except OSError as error:
            raise (SwappedError() if error.errno in _SWAPPED else error) from None
        try:
            facts = os.fstat(file)
            _require_regular(facts, path)
            return self._read_all(file, facts.st_size, path)
        finally:
            os.close(file)

    def _read_all(self, file: int, size: int, path: str) -> bytes:
        """Return all bytes, bounded by what is really read: a file may grow, and some say they are empty."""
        limit = self.document_bytes_at_most
        if size > limit:
            raise _too_large(path, limit)
        chunks: list[bytes] = []
        total = 0
        while chunk := os.read(file, min(max(size + 1 - total, 4096), _CHUNK_BYTES)):
            chunks.append(chunk)
            total += len(chunk)
            if total > limit:
                raise _too_large(path, limit)
        return b"".join(chunks)


def _open_folder(name: str, folders: list[int], facts: os.stat_result) -> int:
    if not stat.S_ISDIR(facts.st_mode):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if len(folders) > DEPTH_AT_MOST:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=folders[-1])
    except OSError as error:
        raise (SwappedError() if error.errno in _SWAPPED else error) from None


def _require_regular(facts: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise DocumentLoadError(path=path, reason="it is not a regular file")


def _too_large(path: str, limit: int) -> DocumentLoadError:
    return DocumentLoadError(path=path, reason=f"it is larger than {limit} bytes")


def _refuse_outside(names: Sequence[str]) -> NoReturn:
    path = bounded("/".join(names))
    raise PermissionDenied(message=f"Access to {path} was refused: it leads out of the documentation root.")


def _raise_for(error: OSError | UnicodeEncodeError, path: str) -> NoReturn:
    """Raise what the operating system said, in our terms; what is not about this document passes through."""
    number = getattr(error, "errno", None)
    if isinstance(error, UnicodeEncodeError) or number in _MISSING:
        raise DocumentNotFound(path=path) from error
    if number in _REFUSED:
        raise PermissionDenied(message=f"The server may not read {bounded(path)}.") from error
    if number == errno.ELOOP:
        raise DocumentLoadError(path=path, reason="its links lead in a circle") from error
    if number in _BROKEN:
        raise DocumentLoadError(path=path, reason=f"the disk reports {errno.errorcode[number]}") from error
    raise error

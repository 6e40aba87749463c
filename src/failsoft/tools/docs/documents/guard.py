"""TOCTOU-safe access to documents: each name is opened relative to its open folder, and links are followed here.

A check of the path's text is not enough: links may lead elsewhere, and a folder may be replaced by a link between the
check and the use. So links are read and followed in this module, and each folder stays open until the next name in it
has been opened.
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
from failsoft.framework.services.protected_files import protected_files
from failsoft.framework.text import bounded
from failsoft.tools.docs.suggestions.spelling import DEPTH_AT_MOST, is_document, is_visible
from failsoft.tools.files import Roots

__all__ = ["DOCUMENT_BYTES_AT_MOST", "OPEN_FOLDER", "DocumentRoot", "OpenName", "SwappedError"]

DOCUMENT_BYTES_AT_MOST = 2_000_000
_LINKS_AT_MOST = 40
_SWAPS_AT_MOST = 5
_CHUNK_BYTES = 1 << 20

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without O_NONBLOCK, opening a pipe without a writer blocks forever."""

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL})
_REFUSED = frozenset({errno.EACCES, errno.EPERM})
_SWAPPED = frozenset({errno.ELOOP, errno.ENOTDIR})
_BROKEN = frozenset({errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENODEV})


class OpenName(NamedTuple):
    """A resolved path: a name in an open folder, and its status. It is never a link."""

    folder: int
    name: str
    facts: os.stat_result


class SwappedError(Exception):
    """The file was replaced between two system calls."""


class DocumentRoot:
    """The served folder and the documents in it.

    Args:
        root: The folder. It may be a link, which is resolved on each call.
        document_bytes_at_most: The size above which a document is not read.
        below: A folder that the root has to lie in on each call; the root is then its path without links.
        hard_links: Whether documents may have several names, one of which may lie outside the root.
    """

    def __init__(
        self,
        root: Path,
        *,
        document_bytes_at_most: int = DOCUMENT_BYTES_AT_MOST,
        below: Path | None = None,
        hard_links: bool = True,
    ) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would freeze the link that the root may be
        self.document_bytes_at_most = document_bytes_at_most
        self.hard_links = hard_links
        self._below = self.root if below is None else below
        self._way = () if below is None else self.root.relative_to(os.path.realpath(below)).parts

    def as_roots(self) -> Roots:
        """Return the root for operations that write, resolved likewise; paths are relative to it."""
        roots = Roots([self._below], relative=True)
        return roots.beneath(str(Path(roots.folders[0], *self._way))) if self._way else roots

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

    def exists(self, names: Sequence[str]) -> bool:
        """Return whether the document exists, even if it cannot be read."""
        if not names or not is_document(names[-1]) or not all(map(is_visible, names)):
            return False
        try:
            with self.place(names) as place:
                return not stat.S_ISDIR(place.facts.st_mode)
        except PermissionDenied:
            return True
        except (OSError, UnicodeEncodeError) as error:
            return getattr(error, "errno", errno.ENOENT) not in _MISSING
        except SwappedError:
            return True

    @contextmanager
    def place(self, names: Sequence[str]) -> Iterator[OpenName]:
        """Resolve the names and keep the folder open; links within the root are followed.

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
        folder = -1
        try:
            folder = os.open(self._below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for name in self._way:
                above, folder = folder, os.open(name, OPEN_FOLDER, dir_fd=folder)
                os.close(above)
        except OSError as error:
            if folder >= 0:
                os.close(folder)
            if error.errno not in _MISSING | _REFUSED | _SWAPPED:
                raise
            raise ConfigurationError(
                issue="the documentation folder does not exist or cannot be opened",
                resolution="serve a folder that exists and that the server may read",
                operator_hint=f"The documentation root is {self.root}: {os.strerror(error.errno or 0)}.",
            ) from error
        return folder

    def _descend(self, folders: list[int], names: Sequence[str]) -> OpenName:
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
                return OpenName(folders[-1], name, facts)
            else:
                folders.append(_open_folder(name, folders, facts))
        return OpenName(folders[-1], ".", os.fstat(folders[-1]))

    def _follow(self, link: str, folders: list[int], names: Sequence[str]) -> list[str]:
        """Return the names in a link's target; an absolute target inside restarts at the root."""
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

    def _read_at(self, place: OpenName, path: str) -> bytes:
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
            self._require_readable(place, facts, path)
            return self._read_all(file, facts.st_size, path)
        finally:
            os.close(file)

    def _require_readable(self, place: OpenName, facts: os.stat_result, path: str) -> None:
        if protected_files.forbids_at(place.folder, place.name):
            raise PermissionDenied(message=f"Access to {bounded(path)} was refused: the server itself relies on it.")
        if facts.st_nlink > 1 and not self.hard_links:
            raise PermissionDenied(
                message=f"Access to {bounded(path)} was refused: it has several names, and one may lie outside.",
                operator_hint="FAILSOFT_DOCS_HARD_LINKS=true allows documents that have several names (hard links).",
            )

    def _read_all(self, file: int, size: int, path: str) -> bytes:
        """Return all bytes, bounded by what is read, since the size is unreliable for growing files and for procfs."""
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
    """Raise the typed error for an error of the operating system; others are raised unchanged."""
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

"""`DocumentRoot`: the folder of the documents, read and listed with the errors of the docs toolset."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from failsoft.framework.errors import (
    ConfigurationError,
    DocumentLoadError,
    DocumentNotFound,
    PermissionDenied,
    ToolError,
)
from failsoft.framework.normalize import normalize
from failsoft.framework.text import bounded
from failsoft.tools.docs.documents.paths import (
    is_document,
    is_visible,
)
from failsoft.tools.files import FaultKind, FaultTable, FileFault, Roots
from failsoft.tools.files.reading import read
from failsoft.tools.files.resolving import LIST_FLAGS

DOCUMENT_BYTES_AT_MOST = 2_000_000
ENTRIES_AT_MOST = 50_000
_TRIES = 5
_REPLACED = "it is being replaced again and again"

_MISSING: tuple[FaultKind, ...] = ("missing", "not_a_folder", "vanished", "name_too_long", "bad_name")


class DocumentRoot:
    """The served folder and the documents in it.

    Args:
        root: The folder. It may be a link, which is resolved on each call.
        document_bytes_at_most: The size above which a document is not read.
        below: A folder that the root has to lie in on each call; the root is then its path without links.
        hard_links: Whether documents may have several names, one of which may lie outside the root.
        entries_at_most: How many documents, folders and links there may be beneath the root.
    """

    def __init__(
        self,
        root: Path,
        *,
        document_bytes_at_most: int = DOCUMENT_BYTES_AT_MOST,
        below: Path | None = None,
        hard_links: bool = True,
        entries_at_most: int = ENTRIES_AT_MOST,
    ) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would freeze the link that the root may be
        self.document_bytes_at_most = document_bytes_at_most
        self.hard_links = hard_links
        self.entries_at_most = entries_at_most
        self._base = self.root if below is None else below
        self._names = () if below is None else self.root.relative_to(os.path.realpath(below)).parts
        self._roots: Roots | None = None

    def roots(self) -> Roots:
        """Return the folder for operations of `tools.files`; paths are relative to it.

        Raises:
            CONFIG_ERROR: It does not exist, or cannot be opened.
        """
        roots = self._roots
        if roots is None or not _leads_to(self._base, roots.folders[0]):
            try:
                roots = Roots([self._base], relative=True)
            except OSError as error:
                raise self._unusable(error.errno or 0) from error
            self._roots = roots = roots.beneath(str(Path(roots.folders[0], *self._names))) if self._names else roots
        return roots

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
        if not _may_be_served(names):
            raise DocumentNotFound(path=path)
        for _ in range(_TRIES):
            try:
                with self.roots().resolve(path) as place:
                    return read(place, bytes_at_most=self.document_bytes_at_most, several_names=self.hard_links).data
            except FileFault as fault:
                if fault.kind == "changed":
                    continue
                if fault.kind in _MISSING or fault.is_outside:
                    self._require_root()
                raise _ERRORS.to_error(fault, path) from fault
        raise DocumentLoadError(path=path, reason=_REPLACED)

    def holds(self, path: str) -> bool:
        """Return whether a document is there now. It takes well-formed paths: for a caller's, ask `names_of` first."""
        if not _may_be_served(path.split("/")):
            return False
        facts = self.facts(path)
        return facts is not None and stat.S_ISREG(facts.st_mode)

    def facts(self, path: str) -> os.stat_result | None:
        """Return the status of what is there now; None if there is nothing, or nothing that may be read.

        Raises:
            CONFIG_ERROR: The root itself cannot be opened.
        """
        try:
            with self.roots().resolve(path) as place:
                return place.facts()
        except FileFault:
            return None

    def exists(self, names: Sequence[str]) -> bool:
        """Return whether the document exists, even if it cannot be read.

        Raises:
            CONFIG_ERROR: The root itself cannot be opened.
        """
        if not _may_be_served(names):
            return False
        try:
            with self.roots().resolve("/".join(names)) as place:
                facts = place.facts()
            is_there = facts is not None and not stat.S_ISDIR(facts.st_mode)
        except FileFault as fault:
            is_there = not (fault.is_misspelt or fault.kind in _MISSING)
        if not is_there:
            self._require_root()
        return is_there

    def names(self, folder: str) -> frozenset[str]:
        """Return the visible names in a folder; none if it cannot be listed.

        Args:
            folder: Relative to the root; empty for the root itself.
        """
        with suppress(FileFault, OSError), ExitStack() as stack:
            listed = self._open_folder(folder or ".")
            stack.callback(os.close, listed)
            return frozenset(filter(is_visible, os.listdir(listed)))  # noqa: PTH208 - of an open folder
        return frozenset()

    @contextmanager
    def opened(self) -> Generator[int]:
        """Open the root for listing.

        Raises:
            CONFIG_ERROR: It cannot be opened.
        """
        try:
            folder = self._open_folder(".")
        except (FileFault, OSError) as error:
            raise self._unusable(getattr(error, "errno", None) or errno.ENOENT) from error
        try:
            yield folder
        finally:
            os.close(folder)

    def _open_folder(self, path: str) -> int:
        with self.roots().resolve(path) as place:
            return os.open(place.name, LIST_FLAGS, dir_fd=place.folder)

    def _require_root(self) -> None:
        with self.opened():
            pass

    def _unusable(self, number: int) -> ConfigurationError:
        return ConfigurationError(
            issue="the documentation folder does not exist or cannot be opened",
            resolution="serve a folder that exists and that the server may read",
            operator_hint=f"The documentation root is {self.root}: {os.strerror(number)}.",
        )


def _leads_to(path: Path, folder: str) -> bool:
    if str(path) == folder:
        return True  # `Roots` opens it by its path each time
    try:
        return path.samefile(folder)
    except OSError:
        return False


def _may_be_served(names: Sequence[str]) -> bool:
    return bool(names) and is_document(names[-1]) and all(map(is_visible, names))


def _refused(_: FileFault, path: str) -> PermissionDenied:
    return PermissionDenied(
        message=f"Access to {bounded(path)} was refused: it leads out of the documentation root, or to a file that the "
        "server itself relies on."
    )


def _several_names(_: FileFault, path: str) -> PermissionDenied:
    return PermissionDenied(
        message=f"Access to {bounded(path)} was refused: it has several names, and one may lie outside.",
        operator_hint="FAILSOFT_DOCS_HARD_LINKS=true allows documents that have several names (hard links).",
    )


def _not_regular(fault: FileFault, path: str) -> ToolError:
    if fault.facts["what"] == "folder":
        return DocumentNotFound(path=path)
    return DocumentLoadError(path=path, reason="it is not a regular file")


def _broken(fault: FileFault, path: str) -> ToolError:
    return DocumentLoadError(path=path, reason=f"the disk reports {errno.errorcode[fault.errno or 0]}")


def _otherwise(fault: FileFault, path: str) -> ToolError:
    return DocumentNotFound(path=path) if fault.errno is None else normalize(fault.__cause__ or fault)


_ERRORS: FaultTable[str] = FaultTable(
    {
        **dict.fromkeys(_MISSING, lambda _, path: DocumentNotFound(path=path)),
        "outside": _refused,
        "several_names": _several_names,
        "not_regular": _not_regular,
        "too_large": lambda fault, path: DocumentLoadError(
            path=path, reason=f"it is larger than {fault.facts['limit_bytes']} bytes"
        ),
        "denied": lambda _, path: PermissionDenied(message=f"The server may not read {bounded(path)}."),
        "link_loop": lambda _, path: DocumentLoadError(path=path, reason="its links lead in a circle"),
        "replaced": lambda _, path: DocumentLoadError(path=path, reason=_REPLACED),
        "broken": _broken,
    },
    otherwise=_otherwise,
)

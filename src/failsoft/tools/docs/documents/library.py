"""All documents beneath a root, as its folders list them, without opening one."""

from __future__ import annotations

import os
import stat
from collections import deque
from typing import NamedTuple

from failsoft.framework.errors import ConfigurationError
from failsoft.tools.docs.documents.paths import (
    DEPTH_AT_MOST,
    PATH_CHARACTERS_AT_MOST,
    is_document,
    is_visible,
)
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.files import FileFault
from failsoft.tools.files.resolving import LIST_FLAGS


class LibraryEntry(NamedTuple):
    """A document's file, as the folder lists it. It was not opened.

    Args:
        path: Relative to the root.
        changed_ns: When the file was changed last, by the operating system's own record (ctime), which no program can
            set back.
        size: In bytes.
    """

    path: str
    changed_ns: int
    size: int


def entry_of(root: DocumentRoot, path: str) -> LibraryEntry | None:
    """Return the entry of one document as it is now, or None if there is none."""
    facts = root.facts(path)
    if facts is None or not stat.S_ISREG(facts.st_mode):
        return None
    return LibraryEntry(path, facts.st_ctime_ns, facts.st_size)


def walk(root: DocumentRoot) -> list[LibraryEntry]:
    """Return all documents beneath the root, sorted by path. Folders that cannot be read are left out.

    Raises:
        CONFIG_ERROR: The root itself cannot be opened, or has more beneath it than it may.
    """
    return _LibraryWalk(root).run()


class _LibraryWalk:
    """One pass over the tree. Links are resolved after all real names, so that no document is listed twice."""

    def __init__(self, root: DocumentRoot) -> None:
        self._root = root
        self._entries: list[LibraryEntry] = []
        self._folders: set[tuple[int, int]] = set()
        self._files: set[tuple[int, int]] = set()
        self._links: deque[str] = deque()
        self._left = root.entries_at_most

    def run(self) -> list[LibraryEntry]:
        with self._root.opened() as folder:
            self._folder(folder, "", 1)
        while self._links:
            self._link(self._links.popleft())
        self._entries.sort()
        return self._entries

    def _folder(self, folder: int, prefix: str, depth: int) -> None:
        facts = os.fstat(folder)
        identity = (facts.st_dev, facts.st_ino)
        if identity in self._folders or depth > DEPTH_AT_MOST or len(prefix) >= PATH_CHARACTERS_AT_MOST:
            return
        self._folders.add(identity)
        with os.scandir(folder) as listing:
            for item in listing:
                if not is_visible(item.name):
                    continue
                if item.is_symlink():
                    self._count()
                    self._links.append(prefix + item.name)
                elif item.is_dir(follow_symlinks=False):
                    self._count()
                    self._subfolder(folder, item.name, f"{prefix}{item.name}/", depth + 1)
                elif is_document(item.name):
                    self._count()
                    self._file(prefix + item.name, item)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            most = self._root.entries_at_most
            raise ConfigurationError(
                issue=f"the documentation folder has more than {most} documents, folders and links",
                resolution="serve a smaller folder, or raise FAILSOFT_DOCS_MAX_ENTRIES",
            )

    def _subfolder(self, folder: int, name: str, prefix: str, depth: int) -> None:
        try:
            inner = os.open(name, LIST_FLAGS, dir_fd=folder)
        except OSError:
            return
        try:
            self._folder(inner, prefix, depth)
        except OSError:
            return
        finally:
            os.close(inner)

    def _file(self, path: str, item: os.DirEntry[str]) -> None:
        try:
            facts = item.stat(follow_symlinks=False)
        except OSError:
            return
        self._add(path, facts)

    def _add(self, path: str, facts: os.stat_result) -> None:
        if stat.S_ISREG(facts.st_mode) and len(path) <= PATH_CHARACTERS_AT_MOST:
            self._files.add((facts.st_dev, facts.st_ino))
            self._entries.append(LibraryEntry(path, facts.st_ctime_ns, facts.st_size))

    def _link(self, path: str) -> None:
        try:
            with self._root.roots().resolve(path) as place:
                facts = place.facts()
                if facts is None:
                    return
                if stat.S_ISDIR(facts.st_mode):
                    self._subfolder(place.folder, place.name, f"{path}/", path.count("/") + 2)
                elif is_document(path) and (facts.st_dev, facts.st_ino) not in self._files:
                    self._add(path, facts)
        except FileFault:
            return

"""The documents that a site's addresses and the links of its pages lead to."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from failsoft.tools.docs.documents.markdown import targets
from failsoft.tools.docs.documents.paths import (
    DOCUMENT_ENDINGS,
    PATH_CHARACTERS_AT_MOST,
    folded,
    is_document,
    without_ending,
)
from failsoft.tools.docs.documents.root import DocumentRoot

_LINKS_AT_MOST = 100
_FOLDERS_AT_MOST = 1_000
"""Listed for one page; of a larger tree the links into the rest are missing."""
_INDEXES = ("index.md", "index.mdx", "README.md", "README.mdx")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_SHOWN_ENDING = re.compile(r"\.html?$", re.IGNORECASE)
_NUMBER = re.compile(r"^\d{1,4}[-_.](?=.)")
_GROUP = re.compile(r"\(.+\)")


class SitePages:
    """The documents below a root by the addresses of the site that is built of them. Each folder is listed once.

    An address has no ending, or `.html`; it may end with a slash, and begin with the name of the documentation folder.
    A site leaves out numbers that order files (`01-app`), and folders in parentheses.

    Args:
        root: The documents.
        any_case: Whether names count that differ in case only.
    """

    def __init__(self, root: DocumentRoot, *, any_case: bool = False) -> None:
        self._root = root
        self._any_case = any_case
        self._bases = {root.root.name, "docs"}
        self._listed: dict[str, frozenset[str]] = {}

    def links(self, path: str, content: str) -> list[str]:
        """Return the documents that a page links to, each once, in the order of the page.

        Links to other sites, to the page itself and to documents that do not exist are left out.

        Args:
            path: The page's own path.
            content: Its text.
        """
        found: dict[str, None] = {}
        asked: set[str] = set()
        for target in targets(content):
            bare = target.split("#", 1)[0].split("?", 1)[0]
            if bare in asked:
                continue
            asked.add(bare)
            other = self.find(bare, path)
            if other is not None and other != path:
                found.setdefault(other)
            if len(found) == _LINKS_AT_MOST or len(asked) == _LINKS_AT_MOST * 5:
                break
        return list(found)

    def find(self, target: str, page: str = "") -> str | None:
        """Return the document that a link without query and anchor leads to, or None.

        Args:
            target: As written: relative to the page's folder, or from the root of the site.
            page: The page that it is written in.
        """
        if not target or len(target) > PATH_CHARACTERS_AT_MOST or _SCHEME.match(target):
            return None
        bare = unquote(target)
        base = "" if bare.startswith("/") else posixpath.dirname(page)
        joined = posixpath.normpath(posixpath.join(base, bare.lstrip("/")))
        names = [name for name in joined.split("/") if name != "."]
        if names[:1] == [".."] or "\0" in joined:
            return None
        found = self._below("", names, is_folder=bare.endswith("/"))
        if found is None and bare.startswith("/") and names[:1] and names[0] in self._bases:
            found = self._below("", names[1:], is_folder=bare.endswith("/"))
        return found if found is not None and self._root.holds(found) else None

    def _below(self, folder: str, names: list[str], *, is_folder: bool) -> str | None:
        """Return the document of these names: by the names on the disk, by those of the site, then in route groups."""
        listed = self._names(folder)
        if not names:
            return next((folder + name for name in _INDEXES if name in listed), None)
        name, *rest = names
        others = [other for other in listed if _site_name(other) == name]
        if self._any_case:
            others += [other for other in listed if folded(without_ending(other)) == folded(without_ending(name))]
        for known in [name, *sorted(others)]:
            tries = [self._file(folder, known, listed) if not rest else None]
            if known in listed and not is_document(known):
                tries.append(self._below(f"{folder}{known}/", rest, is_folder=is_folder))
            for found in reversed(tries) if is_folder else tries:
                if found is not None:
                    return found
        groups = (f"{folder}{other}/" for other in sorted(listed) if _GROUP.fullmatch(other))
        within = (self._below(group, names, is_folder=is_folder) for group in groups)
        return next((found for found in within if found is not None), None)

    def _file(self, folder: str, name: str, listed: frozenset[str]) -> str | None:
        if is_document(name):
            return folder + name if name in listed else None
        stem = _SHOWN_ENDING.sub("", name)
        return next((folder + stem + ending for ending in DOCUMENT_ENDINGS if stem + ending in listed), None)

    def _names(self, folder: str) -> frozenset[str]:
        known = self._listed.get(folder)
        if known is None:
            known = self._root.names(folder) if len(self._listed) < _FOLDERS_AT_MOST else frozenset[str]()
            self._listed[folder] = known
        return known


def _site_name(name: str) -> str:
    """Return what a site calls a file or folder; empty where that is its own name."""
    bare = _NUMBER.sub("", name)
    if bare == name:
        return ""
    return posixpath.splitext(bare)[0] if is_document(bare) else bare

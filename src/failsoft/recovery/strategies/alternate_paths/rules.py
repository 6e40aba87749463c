"""Rules that propose alternate paths for a missing document."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.call.call import Call

Rule: TypeAlias = Literal["extension", "folder", "case", "alias", "git_rename", "parent_index"]
"""`extension`: .md and .mdx swapped. `folder`: the index of the very folder that was asked for. `case`: the same path
in other case. `alias`: another document claims the path in its front matter. `git_rename`: the history of the git work
tree says that the document was renamed. `parent_index`: the index of the folder above, which is another document, and
so only a suggestion unless `folder_index=True`."""

_SWAP = {".md": ".mdx", ".mdx": ".md"}
_INDEX_NAMES = ("index.md", "index.mdx", "README.md")


@dataclass(frozen=True, slots=True)
class Alternate:
    """An alternate path, relative to the same root, and the rule that proposed it."""

    path: str
    rule: Rule

    @property
    def is_same_document(self) -> bool:
        """Whether the rule finds the requested document itself, not just a related one."""
        return self.rule != "parent_index"


@runtime_checkable
class PathSource(Protocol):
    """A toolset that can list existing alternates. For others, `spelled_alternates` are tried one by one."""

    def alternate_paths(self, path: str, call: Call) -> list[Alternate]:
        """Return the existing alternates of a path, exact ones first; empty if the path exists.

        Args:
            path: As given by the caller.
            call: The failed call, whose other arguments may narrow the search.
        """


def spelled_alternates(path: str) -> list[Alternate]:
    """Return the alternates that follow from the spelling, existing or not, in the order of the rules.

    Source: seed 004, `recoverFromNotFound`; narrowed so that only the same document counts as exact.
    """
    bare = path.rstrip("/")
    stem, extension = posixpath.splitext(bare)
    found: list[Alternate] = []
    if extension in _SWAP:
        found.append(Alternate(stem + _SWAP[extension], "extension"))
    else:
        found += [Alternate(bare + ending, "extension") for ending in _SWAP]
        found += [Alternate(posixpath.join(bare, name), "folder") for name in _INDEX_NAMES]
    parent = posixpath.dirname(bare)
    found += [Alternate(posixpath.join(parent, name), "parent_index") for name in _INDEX_NAMES]
    return [alternate for alternate in found if alternate.path != path]

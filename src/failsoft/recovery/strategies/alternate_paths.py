"""`AlternatePaths`: serves a missing document from another path if exactly one path leads to it."""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import RecoveryResult
from failsoft.framework.errors import InvalidArgument, NotFound, ToolError
from failsoft.framework.normalize import normalize
from failsoft.framework.text import file_name
from failsoft.recovery.strategy import strategy

Rule: TypeAlias = Literal["extension", "folder", "case", "alias", "git_rename", "parent_index"]
"""`extension`: .md and .mdx swapped. `folder`: the index of the very folder that was asked for. `case`: the same path
in other case. `alias`: another document claims the path in its front matter. `git_rename`: the history of the git work
tree says that the document was renamed. `parent_index`: the index of the folder above, which is another document, and
so only a suggestion unless `folder_index=True`."""

_SWAP = {".md": ".mdx", ".mdx": ".md"}
_INDEX_NAMES = ("index.md", "index.mdx", "README.md")


@dataclass(frozen=True, slots=True)
class Alternate:
    """An alternate path, relative to the same root, and the rule that proposed it.

    Examples:
        >>> Alternate("guides/start.md", "renamed").path
        'guides/start.md'
    """

    path: str
    rule: Rule

    @property
    def is_same_document(self) -> bool:
        """Whether the rule finds the requested document itself, not just a related one."""
        return self.rule != "parent_index"


@runtime_checkable
class PathSource(Protocol):
    """A toolset that can list existing alternates. For others, `spelled_alternates` are tried one by one.

    Examples:
        >>> class Pages(BaseTool):
        ...     async def alternate_paths(self, path: str, call: Call) -> list[Alternate]:
        ...         return [Alternate(f"archive/{path}", "archive")]
        ...     @operation(read_only=True, recovery=[AlternatePaths("path")])
        ...     async def page(self, path: str) -> str: "Return a page."
        >>> isinstance(Pages(), PathSource)
        True
    """

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


@strategy
class AlternatePaths:
    """Serves a missing document from another path of the same document.

    The rules: `.md` and `.mdx` swapped, the index of the requested folder, other case, aliases in front matter, and
    renames in the history of a git work tree. A single match is served, and the receipt names its path and the rule;
    several become suggestions. It applies to read-only operations only, and to errors of the category `not_found`. A
    list of paths is served if each missing path has exactly one match.

    Args:
        parameter: The parameter that holds the path or the list of paths.
        folder_index: Also serve the index of the folder above a missing page. It is another document, so
            this is off by default and the index is only a suggestion.

    Examples:
        >>> RecoveryManager({DocumentNotFound: AlternatePaths("path")}).describe()
        ['alternate_path']
    """

    name: ClassVar[str] = "alternate_path"
    parameter: str = "path"
    _: KW_ONLY
    folder_index: bool = False

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return the document at its alternate path, or raise the error with the candidates as suggestions."""
        given = call.arguments.get(self.parameter)
        if not call.bound.read_only or error.category != NotFound.category:
            return None
        source: PathSource = call.toolset
        lists_paths = hasattr(source, "alternate_paths")  # isinstance with a protocol takes twenty times as long
        if isinstance(given, str):
            if not lists_paths:
                return await self._spelled(error, call, given)
            return await self._known(error, call, await _found(source, given, call))
        if isinstance(given, list) and given and lists_paths:
            return await self._several(error, call, source, given)
        return None

    async def _known(self, error: ToolError, call: Call, found: Sequence[Alternate]) -> RecoveryResult | None:
        """Serve the only exact alternate that the toolset found."""
        certain = self._certain(found)
        if len(certain) == 1:
            return self._served(certain[0], await call.retry(**{self.parameter: certain[0].path}))
        if found:
            first, last = ([item.path for item in some] for some in _sorted(found))
            raise _with_candidates(error, first, last)
        return None

    async def _several(
        self, error: ToolError, call: Call, source: PathSource, paths: Sequence[str]
    ) -> RecoveryResult | None:
        """Serve a list of paths in which every missing path has one alternate."""
        changed, rules = list(paths), []
        for index, path in enumerate(paths):
            found = await _found(source, path, call)
            certain = self._certain(found)
            if len(certain) == 1:
                changed[index] = certain[0].path
                rules.append(certain[0].rule)
            elif certain:
                raise _with_candidates(error, [item.path for item in certain])
        if not rules:
            return None
        moved = ", ".join(file_name(new) for old, new in zip(paths, changed, strict=True) if old != new)
        value = await call.retry(**{self.parameter: changed})
        message = f"Found documents at alternative paths: {moved}"
        return RecoveryResult(value, message, {self.parameter: changed}, rule=", ".join(dict.fromkeys(rules)))

    async def _spelled(self, error: ToolError, call: Call, path: str) -> RecoveryResult | None:
        """Try every spelled alternate and serve the only one that works."""
        certain, above = _sorted(spelled_alternates(path))
        hits = await self._tried(certain, call)
        if not hits and self.folder_index:
            hits = await self._tried(above, call)
        if len(hits) == 1:
            return self._served(*hits[0])
        if hits:
            raise _with_candidates(error, [candidate.path for candidate, _ in hits])
        return None

    async def _tried(self, candidates: Sequence[Alternate], call: Call) -> list[tuple[Alternate, Any]]:
        """Return the candidates that exist, each with its document."""
        hits: list[tuple[Alternate, Any]] = []
        for candidate in candidates:
            try:
                hits.append((candidate, await call.retry(**{self.parameter: candidate.path})))
            except Exception as missing:
                if not isinstance(normalize(missing), (NotFound, InvalidArgument)):
                    raise
        return hits

    def _certain(self, found: Sequence[Alternate]) -> list[Alternate]:
        """Return the alternates that may be served."""
        certain, above = _sorted(found)
        return above if self.folder_index and not certain else certain

    def _served(self, alternate: Alternate, value: Any) -> RecoveryResult:
        message = f"Found document at alternative path: {file_name(alternate.path)}"
        return RecoveryResult(value, message, {self.parameter: alternate.path}, rule=alternate.rule)


async def _found(source: PathSource, path: str, call: Call) -> list[Alternate]:
    return await call.bound.threads.run(lambda: source.alternate_paths(path, call))


def _sorted(found: Sequence[Alternate]) -> tuple[list[Alternate], list[Alternate]]:
    """Return the alternates of the same document and those of the parent folder, without duplicates."""
    first: dict[str, Alternate] = {}
    for alternate in found:
        first.setdefault(alternate.path, alternate)
    same = [item for item in first.values() if item.is_same_document]
    return same, [item for item in first.values() if not item.is_same_document]


def _with_candidates(error: ToolError, first: Sequence[str], last: Sequence[str] = ()) -> ToolError:
    """Return a copy of the error with suggestions before and after its own."""
    improved = copy.copy(error)
    improved.suggestions = tuple(dict.fromkeys((*first, *error.suggestions, *last)))
    return improved

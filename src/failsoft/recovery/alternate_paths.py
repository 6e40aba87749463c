"""`AlternatePaths`: the same document under another path, served only if there is no doubt which one it is."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from failsoft.framework.context import CallContext
from failsoft.framework.errors import InvalidArgument, NotFound, ToolError
from failsoft.framework.normalize import normalize
from failsoft.framework.recovery_port import RecoveryResult
from failsoft.recovery.alternates import Alternate, PathSource, spelled_alternates

__all__ = ["AlternatePaths"]


class AlternatePaths:
    """Looks for the document that was asked for under the paths that lead to the same one.

    The rules: `.md` and `.mdx` swapped, the index of the folder that was asked for, other case, and the aliases that
    documents claim in their front matter. Exactly one hit is served, and the receipt names its path; several become
    suggestions. Only read-only operations are helped: nobody wants a delete to find another victim.

    Args:
        parameter: The parameter that holds the path.
        folder_index: Also serve the index of the folder above a missing page (seed 004). It is another document, so
            this is off by default and the index is only suggested.
    """

    name = "alternate_path"

    def __init__(self, parameter: str = "path", *, folder_index: bool = False) -> None:
        self._parameter = parameter
        self._folder_index = folder_index

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult | None:
        """Return the document at its other path, or raise the error anew with the candidates as suggestions."""
        path = call.arguments.get(self._parameter)
        if not isinstance(path, str) or not call.bound.read_only:
            return None
        source = call.toolset
        if isinstance(source, PathSource):
            return await self._known(error, call, await call.bound.threads.run(lambda: source.alternate_paths(path)))
        return await self._spelled(error, call, path)

    async def _known(self, error: ToolError, call: CallContext, found: Sequence[Alternate]) -> RecoveryResult | None:
        """Serve from what the toolset says exists."""
        certain, above = _sorted(found)
        if not certain and self._folder_index:
            certain = above
        if len(certain) == 1:
            return self._served(certain[0], await call.retry(**{self._parameter: certain[0]}))
        candidates = list(dict.fromkeys(alternate.path for alternate in found))
        if candidates:
            raise _with_candidates(error, candidates)
        return None

    async def _spelled(self, error: ToolError, call: CallContext, path: str) -> RecoveryResult | None:
        """Try what the spelling suggests one by one; only one that works is certain, since a second might too."""
        certain, above = _sorted(spelled_alternates(path))
        hits = await self._tried(certain, error, call)
        if not hits and self._folder_index:
            hits = await self._tried(above, error, call)
        if len(hits) == 1:
            return self._served(*hits[0])
        if hits:
            raise _with_candidates(error, [candidate for candidate, _ in hits])
        return None

    async def _tried(self, candidates: Sequence[str], error: ToolError, call: CallContext) -> list[tuple[str, Any]]:
        """Return the candidates that lead to a document, with it."""
        hits: list[tuple[str, Any]] = []
        for candidate in candidates:
            try:
                hits.append((candidate, await call.retry(**{self._parameter: candidate})))
            except Exception as missing:
                if not isinstance(normalize(missing), (type(error), NotFound, InvalidArgument)):
                    raise
        return hits

    def _served(self, path: str, value: Any) -> RecoveryResult:
        return RecoveryResult(value, f"Found document at alternative path: {path}", {self._parameter: path})


def _sorted(found: Sequence[Alternate]) -> tuple[list[str], list[str]]:
    """Return the paths that lead to the same document, and those of the folder above, each once."""
    certain = dict.fromkeys(alternate.path for alternate in found if alternate.is_same_document)
    above = dict.fromkeys(alternate.path for alternate in found if not alternate.is_same_document)
    return list(certain), list(above)


def _with_candidates(error: ToolError, candidates: list[str]) -> ToolError:
    """Return the error with these suggestions before its own."""
    improved = copy.copy(error)
    improved.suggestions = tuple(dict.fromkeys((*candidates, *error.suggestions)))
    return improved

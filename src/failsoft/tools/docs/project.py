"""`Project`: a folder of documents with its types, levels, external folders and search index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.errors import NextStep
from failsoft.tools.docs.config import DEFAULT_LEVELS, ProjectConfig
from failsoft.tools.docs.doc_types import DocTypes
from failsoft.tools.docs.documents.document import ParsedDocument
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.errors import ExternalDocsNotConfigured
from failsoft.tools.docs.git_history import GitHistory
from failsoft.tools.docs.reading import AskedDocument, asked
from failsoft.tools.docs.search.corrections import corrected_query, lacked, what_would_hit
from failsoft.tools.docs.search.index import DocumentIndex, IndexOptions
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.ranking import search
from failsoft.tools.docs.search.tables import IndexConnection, Scope
from failsoft.tools.docs.signatures import ExternalHit, ExternalResults, SearchResults

T = TypeVar("T")
EXTERNAL_PREFIX = "external:"
"""Paths of external documents: `external:NAME/guide/intro.md`."""


@dataclass(frozen=True, slots=True)
class ExternalFolder:
    """A folder of documentation by others."""

    name: str
    root: DocumentRoot
    index: DocumentIndex


@dataclass(frozen=True, slots=True)
class Project:
    """What the operations work on.

    Args:
        handle: What callers name it with.
        config: As configured; that of a folder without a config.json has only a name.
        root: The documents.
        index: The index over them.
        types: The document types; empty where any type goes.
        external: The external folders.
        history: The renames of documents, where the root lies in a git work tree.
    """

    handle: str
    config: ProjectConfig
    root: DocumentRoot
    index: DocumentIndex
    types: DocTypes = field(default_factory=DocTypes)
    external: tuple[ExternalFolder, ...] = ()
    history: GitHistory = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", GitHistory(self.root.root))

    @property
    def levels(self) -> tuple[str, ...]:
        """The promotion levels, lowest first."""
        return self.config.promotion_levels

    def external_folder(self, path: str) -> tuple[ExternalFolder, str] | None:
        """Return the external folder that a path of an external result leads to, and the path in it; else None."""
        if not path.startswith(EXTERNAL_PREFIX):
            return None
        name, _, inner = path.removeprefix(EXTERNAL_PREFIX).partition("/")
        return next(((folder, inner) for folder in self.external if folder.name == name), None)

    def is_external(self, real_path: str) -> bool:
        """Return whether an absolute path without links lies in one of the external folders."""
        return any(Path(real_path).is_relative_to(folder.root.root) for folder in self.external)

    def asked(self, path: str) -> AskedDocument:
        """Return what a path asks for, in the project or in one of its external folders.

        Raises:
            INVALID_PARAM: The path is malformed.
        """
        external = self.external_folder(path)
        if external is None:
            return asked(path, self.root)
        folder, inner = external
        return asked(inner, folder.root, path[: len(path) - len(inner)])

    async def ask(self, call: Call, question: Callable[[IndexConnection], T]) -> T:
        """Return what a question finds in the index; its warnings go to the caller."""
        answer: T = await self.index.within(call, lambda: self.index.ask(question))
        for warning in self.index.take_warnings():
            call.warn(warning)
        return answer

    def close(self) -> None:
        """Close the indexes."""
        for index in (self.index, *(folder.index for folder in self.external)):
            index.close()


def index_options(config: ProjectConfig, types: DocTypes) -> IndexOptions:
    """Return how the documents of a project are indexed; projects that differ in it have indexes of their own."""
    levels = config.promotion_levels

    def classify(document: ParsedDocument) -> tuple[str, str]:
        return types.type_of(document.path, document.own_type), level_of(document.front_matter, levels)

    facts = [[item.name, *item.paths] for item in types.types]
    plain = not facts and levels == DEFAULT_LEVELS and config.search.language == "english"
    text = json.dumps([facts, levels, config.search.language])
    fingerprint = "" if plain else hashlib.sha256(text.encode()).hexdigest()[:8]
    return IndexOptions(classify=classify, language=config.search.language, fingerprint=fingerprint)


LEVEL_KEYS = ("promotion_level", "level")
"""The fields of front matter that say the level, the one that is written first."""


def level_of(front_matter: dict[str, object], levels: Sequence[str]) -> str:
    """Return the promotion level of a page: what its front matter says, else the lowest."""
    for name in LEVEL_KEYS:
        value = front_matter.get(name)
        if isinstance(value, str) and value in levels:
            return value
    return levels[0]


def search_words(index: DocumentIndex, query: Query, scope: Scope) -> tuple[SearchResults, list[str]]:
    """Return what a query finds, with words that no document has corrected, and what callers should know of it."""

    def find(connection: IndexConnection) -> tuple[SearchResults, list[str]]:
        better, corrections = corrected_query(connection, query)
        found = search(connection, better, scope)
        claims = [f'No document has "{word}"; searched for "{meant}".' for word, meant in corrections.replaced.items()]
        if found["matched"] == "any_word" and found["total"]:
            lacking = lacked(corrections.missing) or "all the words"
            claims.append(f"No document has {lacking}; these have some of the query's words.")
        return found, claims if found["results"] else claims + what_would_hit(connection, query, scope)

    found, claims = index.ask_current(find, lambda found: found[0]["results"], lambda found: bool(found[1]))
    return found, [] if index.is_behind else claims  # a document not yet indexed may have the words


def search_external(project: Project, query: Query, text: str, limit: int) -> ExternalResults:
    """Return the best matches of all external folders together.

    Raises:
        EXTERNAL_DOCS_NOT_CONFIGURED: The project has none.
    """
    if not project.external:
        raise ExternalDocsNotConfigured(next_step=NextStep("search_documents", {"query": text}))
    results: list[ExternalHit] = []
    total = 0
    for folder in project.external:
        found = folder.index.ask_current(
            lambda connection: search(connection, query, Scope(limit=limit)), lambda answer: answer["results"]
        )
        total += found["total"]
        results += [
            ExternalHit(
                path=f"{EXTERNAL_PREFIX}{folder.name}/{hit['path']}",
                title=hit["title"],
                source=folder.name,
                score=hit["score"],
                snippet=hit["snippet"],
            )
            for hit in found["results"]
        ]
    results.sort(key=lambda hit: (-hit["score"], hit["path"]))
    return ExternalResults(results=results[:limit], total=total)

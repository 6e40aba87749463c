"""`Project`: a folder of documents with its types, levels, external folders and search index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from failsoft.framework.errors import NextStep
from failsoft.tools.docs.config import DEFAULT_LEVELS, ProjectConfig
from failsoft.tools.docs.doc_types import DocTypes
from failsoft.tools.docs.documents.document import Document
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.errors import ExternalDocsNotConfigured
from failsoft.tools.docs.git_history import GitHistory
from failsoft.tools.docs.search.index import DocumentIndex, IndexOptions
from failsoft.tools.docs.search.query import Query
from failsoft.tools.docs.search.ranking import search
from failsoft.tools.docs.search.tables import Scope
from failsoft.tools.docs.signatures import ExternalHit, ExternalResults

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

    def is_external(self, path: str) -> bool:
        """Return whether a path of the project lies in one of the external folders."""
        if path.startswith(EXTERNAL_PREFIX):
            return True
        place = Path(self.root.root, path).resolve()
        return any(place.is_relative_to(folder.root.root.resolve()) for folder in self.external)

    def close(self) -> None:
        """Close the indexes."""
        for index in (self.index, *(folder.index for folder in self.external)):
            index.close()


def index_options(config: ProjectConfig, types: DocTypes) -> IndexOptions:
    """Return how the documents of a project are indexed; projects that differ in it have indexes of their own."""
    levels = config.promotion_levels

    def classify(document: Document) -> tuple[str, str]:
        return types.type_of(document.path, document.own_type), level_of(document.front_matter, levels)

    facts = [[item.name, *item.paths] for item in types.types]
    plain = not facts and levels == DEFAULT_LEVELS and config.search.language == "english"
    text = json.dumps([facts, levels, config.search.language])
    fingerprint = "" if plain else hashlib.sha256(text.encode()).hexdigest()[:8]
    return IndexOptions(classify=classify, language=config.search.language, fingerprint=fingerprint)


def level_of(front_matter: dict[str, object], levels: Sequence[str]) -> str:
    """Return the promotion level of a page: what its front matter says, else the lowest."""
    for name in ("promotion_level", "level"):
        value = front_matter.get(name)
        if isinstance(value, str) and value in levels:
            return value
    return levels[0]


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

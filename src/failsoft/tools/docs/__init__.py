"""The docs toolset: Markdown documents in a folder, read, listed and searched (seeds 003 and 004)."""

from failsoft.tools.docs.plain_words import PlainWords
from failsoft.tools.docs.results import (
    Documentation,
    DocumentList,
    DocumentText,
    ListedDocument,
    SearchHit,
    SearchResults,
)
from failsoft.tools.docs.toolset import Docs

__all__ = [
    "Docs",
    "DocumentList",
    "DocumentText",
    "Documentation",
    "ListedDocument",
    "PlainWords",
    "SearchHit",
    "SearchResults",
]

"""What the operations answer with."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

__all__ = ["DocumentList", "DocumentText", "Documentation", "ListedDocument", "SearchHit", "SearchResults"]


class DocumentText(TypedDict):
    """One document. `content` has no front matter in it, unless that could not be understood."""

    path: str
    title: str
    content: str
    front_matter: dict[str, Any]
    sha256: str


class Documentation(TypedDict):
    """The documents that a path led to."""

    documents: list[DocumentText]


class ListedDocument(TypedDict):
    """A document in a list."""

    path: str
    title: str
    doc_type: str
    size_bytes: int


class DocumentList(TypedDict):
    """Documents in the order of their paths. `total` counts all that fit; `documents` holds the first of them."""

    documents: list[ListedDocument]
    total: int


class SearchHit(TypedDict):
    """A document that a search found. A higher `score` is a better match within the same search."""

    path: str
    title: str
    doc_type: str
    snippet: str
    score: float


class SearchResults(TypedDict):
    """What a search found, best first. `total` counts all matches; `matched` says how many of the words each holds."""

    results: list[SearchHit]
    total: int
    matched: Literal["all_words", "any_word"]

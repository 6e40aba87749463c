"""Results of the docs operations."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class DocumentText(TypedDict):
    """One document, or a section or page of it. `content` is without front matter, unless that cannot be parsed.

    `links` are paths of other documents of the project that the page links to.
    """

    path: str
    title: str
    content: str
    front_matter: dict[str, Any]
    sha256: str
    links: list[str]


class Documentation(TypedDict):
    """The documents asked for. With `next_cursor` there is more: repeat the call with it as `cursor`."""

    documents: list[DocumentText]
    next_cursor: NotRequired[str]


class ListedDocument(TypedDict):
    """A document in a list."""

    path: str
    title: str
    doc_type: str
    level: str
    size_bytes: int


class DocumentList(TypedDict):
    """Documents in the order of their paths. `total` counts all that fit; with `next_cursor` there are more."""

    documents: list[ListedDocument]
    total: int
    next_cursor: NotRequired[str]


class ListedDocType(TypedDict):
    """A document type: how many documents have it, the globs of its pages, and whether it has a schema."""

    name: str
    documents: int
    paths: list[str]
    has_schema: bool


class DocTypeList(TypedDict):
    """The document types of a project."""

    doc_types: list[ListedDocType]


class SearchHit(TypedDict):
    """A document that a search found. A higher `score` is a better match within the same search."""

    path: str
    title: str
    doc_type: str
    score: float
    snippet: str


class SearchResults(TypedDict):
    """Documents that match a search, best first.

    `matched` says how many of the words they have, or that they were found by meaning; `mode` is the search's mode.
    """

    results: list[SearchHit]
    total: int
    matched: Literal["all_words", "any_word", "meaning"]
    mode: Literal["lexical", "semantic", "hybrid"]


class ExternalHit(TypedDict):
    """A document of an external folder that a search found."""

    path: str
    title: str
    source: str
    score: float
    snippet: str


class ExternalResults(TypedDict):
    """External documents that match a search, best first."""

    results: list[ExternalHit]
    total: int


class ActivatedProject(TypedDict):
    """An active project. Pass `project` to the other tools."""

    project: str
    name: str
    docs_root: str
    doc_types: list[str]
    promotion_levels: list[str]
    external_docs: list[str]
    documents: int


class ValidatedDocument(TypedDict):
    """A document whose front matter is valid. `has_schema` says whether its type has a schema to check it against."""

    path: str
    doc_type: str
    valid: bool
    has_schema: bool


class PromotedDocument(TypedDict):
    """A document at its new level; `changed` is false where it was there before."""

    path: str
    level: str
    previous_level: str
    sha256: str
    changed: bool

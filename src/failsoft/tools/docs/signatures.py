"""What operators set, callers pass, and answers hold: the signatures of the docs operations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, SecretStr
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Reference
from failsoft.framework.settings import ToolsetSettings
from failsoft.tools.docs.documents.paths import PATH_CHARACTERS_AT_MOST
from failsoft.tools.docs.documents.root import ENTRIES_AT_MOST
from failsoft.tools.docs.search.query import ACCEPTED, QUERY_CHARACTERS_AT_MOST


class DocsSettings(ToolsetSettings):
    """What an operator can set for the docs toolset."""

    embedding_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="Address of an embedding service with OpenAI's API (`POST /v1/embeddings`, as Ollama has it), such "
        "as `http://127.0.0.1:11434`, which needs no extra; unset: the model of the extra `semantic`.",
    )
    embedding_model: str = Field(
        default="nomic-embed-text", min_length=1, description="Model that the embedding service is asked for."
    )
    embedding_key: SecretStr | None = Field(
        default=None, description="Token that is sent to the embedding service as `Authorization: Bearer`."
    )
    embedding_timeout_s: float = Field(
        default=10.0, gt=0, le=600, description="Seconds that one request to the embedding service may take."
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="Address of a PostgreSQL database that keeps the search indexes in place of SQLite files, such as "
        "`postgresql://user:password@host/name` (extra `postgres`).",
    )
    hard_links: bool = Field(
        default=True,
        description="Read documents with several hard links, as package managers create them; one may lie outside.",
    )
    max_entries: int = Field(
        default=ENTRIES_AT_MOST,
        ge=1,
        description="Most documents, folders and links in a served or external folder; one with more is refused.",
    )
    page_bytes: int = Field(
        default=200_000, ge=1_000, le=10_000_000, description="Bytes of text in one page of a long document."
    )


_SPELLED = Reference(kind="spelled")
"""People spell these names, so a near one may be suggested. The handlers look them up in the project of the call."""
_PATH = Field(min_length=1, max_length=PATH_CHARACTERS_AT_MOST)
DocPath = Annotated[
    str,
    _PATH,
    _SPELLED,
    Field(description="Path of a .md or .mdx document in the project", examples=["guide/intro.md"]),
]
DocPaths = Annotated[
    Annotated[str, _PATH] | Annotated[list[Annotated[str, _PATH]], Field(min_length=1, max_length=20)],
    _SPELLED,
    Field(
        description="Path of a document in the project, or a list of paths; `path#anchor` is a section",
        examples=["guide/intro.md", "guide/intro.md#install"],
    ),
]
ConfigPath = Annotated[
    str,
    _PATH,
    _SPELLED,
    Field(description="Path of the project's config.json below {root}", examples=["handbook/config.json"]),
]
ProjectName = Annotated[
    str | None,
    _SPELLED,
    Field(max_length=64, description="The `project` that activate_project returned; left out, the current project"),
]
Prefix = Annotated[
    str,
    _SPELLED,
    Field(max_length=PATH_CHARACTERS_AT_MOST, description="Only documents whose path begins so", examples=["guide/"]),
]
QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=QUERY_CHARACTERS_AT_MOST,
        description=f"A question or key words: {ACCEPTED}",
        examples=["how to install offline", '"path guard" link*'],
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many to return at most")]
Cursor = Annotated[
    str | None,
    Reference(kind="handle"),
    Field(max_length=4096, description="`next_cursor` of the previous answer, for the next page"),
]
DocType = Annotated[
    str | None, _SPELLED, Field(max_length=64, description="Only documents of this type; list_doc_types names them")
]
DocTypes = Annotated[
    list[Annotated[str, Field(max_length=64)]] | None,
    _SPELLED,
    Field(min_length=1, max_length=20, description="Only documents of these types; list_doc_types names them"),
]
Level = Annotated[
    str,
    _SPELLED,
    Field(max_length=64, description="A promotion level of the project, by default standard, important or critical"),
]
MinScore = Annotated[float | None, Field(ge=0, description="Only results with at least this score")]
Mode = Annotated[
    Literal["lexical", "semantic", "hybrid"] | None,
    Field(description="By words, by meaning, or both; left out, the project's own mode"),
]
ExpectedHash = Annotated[
    str | None,
    Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the document as last read; refused if it changed since"),
]


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

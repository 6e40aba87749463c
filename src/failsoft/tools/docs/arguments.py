"""The parameters of the docs operations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from failsoft.framework.arguments.marks import Reference
from failsoft.tools.docs.documents.paths import PATH_CHARACTERS_AT_MOST
from failsoft.tools.docs.search.query import ACCEPTED, QUERY_CHARACTERS_AT_MOST

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
        examples=["how to install offline", '"path guard" AND link*'],
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

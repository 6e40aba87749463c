"""Settings of the docs toolset: `FAILSOFT_DOCS_...`."""

from __future__ import annotations

from pydantic import Field, SecretStr

from failsoft.framework.settings import ToolsetSettings


class DocsSettings(ToolsetSettings):
    """What an operator can set for the docs toolset."""

    embedding_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="Address of an embedding service in the request form of Ollama or OpenAI, such as "
        "`http://127.0.0.1:11434`; without it, the model of the extra `semantic` is used.",
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
        "`postgresql://user:password@host/name` (extra `postgres`; semantic search is faster with pgvector there).",
    )
    hard_links: bool = Field(
        default=True,
        description="Read documents that have several names, as package managers make them: one may lie outside.",
    )
    page_bytes: int = Field(
        default=200_000, ge=1_000, le=10_000_000, description="Bytes of text in one page of a long document."
    )

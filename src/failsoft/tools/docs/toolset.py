"""The docs toolset: documents in a folder, read, listed and searched."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated, Literal

from loguru import logger
from pydantic import Field

from failsoft.framework.arguments import Reference
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, DocumentNotFound, ResultTooLarge, ToolError
from failsoft.framework.operation import operation
from failsoft.framework.runtime import Runtime
from failsoft.framework.tool import BaseTool
from failsoft.recovery.alternates import Alternate
from failsoft.recovery.retry import Retry
from failsoft.tools.docs import lookup
from failsoft.tools.docs.alternates import alternate_paths, spelled_on_disk
from failsoft.tools.docs.documents import Document
from failsoft.tools.docs.guard import DOCUMENT_BYTES_AT_MOST, DocumentRoot
from failsoft.tools.docs.index import DocumentIndex
from failsoft.tools.docs.library import load_document
from failsoft.tools.docs.plain_words import PlainWords
from failsoft.tools.docs.query import ACCEPTED, QUERY_CHARACTERS_AT_MOST, parse_query
from failsoft.tools.docs.results import Documentation, DocumentList, DocumentText, SearchResults
from failsoft.tools.docs.search import search
from failsoft.tools.docs.spelling import PATH_CHARACTERS_AT_MOST, names_of
from failsoft.tools.docs.suggest import Advice, advise, search_step
from failsoft.tools.docs.type_filter import known_type, known_types

__all__ = ["Docs"]

DocPath = Annotated[
    str,
    Field(
        min_length=1,
        max_length=PATH_CHARACTERS_AT_MOST,
        description="Path of a .md or .mdx document, relative to the documentation root",
        examples=["guide/intro.md"],
    ),
]
Prefix = Annotated[
    str,
    Field(
        max_length=PATH_CHARACTERS_AT_MOST,
        description="What the paths begin with",
        examples=["guide/"],
    ),
]
QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=QUERY_CHARACTERS_AT_MOST,
        description=f"What to search for: {ACCEPTED}",
        examples=["install", '"path guard" AND link*'],
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many to return at most")]
DocType = Annotated[str | None, Reference(known_type), Field(description="Only documents of this type")]
DocTypes = Annotated[
    list[str] | None,
    Reference(known_types),
    Field(min_length=1, max_length=20, description="Only documents of these types"),
]


class Docs(BaseTool):
    """Documentation in a folder of Markdown files: read a document, list them, search them.

    Args:
        root: The folder; the current one if left out. Nothing outside it is ever read.
        runtime: The surroundings of its calls.
        cache_dir: Where the search index is kept; by default in the user's cache folder.
        document_bytes_at_most: The size above which a document is not read.

    Raises:
        CONFIG_ERROR: The folder does not exist.
    """

    name = "docs"

    def __init__(
        self,
        root: Path | None = None,
        *,
        runtime: Runtime | None = None,
        cache_dir: Path | None = None,
        document_bytes_at_most: int = DOCUMENT_BYTES_AT_MOST,
    ) -> None:
        super().__init__(runtime=runtime)
        folder = Path.cwd() if root is None else Path(root)
        if not folder.is_dir():
            raise ConfigurationError(
                issue="the documentation folder does not exist", resolution=f"{folder} is no folder; name one that is"
            )
        self.documents = DocumentRoot(folder, document_bytes_at_most=document_bytes_at_most)
        self.roots = (self.documents.root,)
        self.index = DocumentIndex(self.documents, cache_dir=cache_dir)

    @operation(read_only=True, open_world=False, title="Read a document")
    def get_documentation(self, call: CallContext, path: DocPath) -> Documentation:
        """Return a document: its text, title and front matter. Use list_documents or search_documents to find paths."""
        names = names_of(path, exists=self.documents.holds)
        try:
            found = load_document(self.documents, names)
        except DocumentNotFound as missing:
            raise self._not_found("/".join(names) or path) from missing
        _require_sendable(call, found)
        if found.warning:
            call.warn(f"{found.path}: {found.warning}")
        call.documents_processed = 1
        text = DocumentText(
            path=found.path,
            title=found.title,
            content=found.content,
            front_matter=found.front_matter,
            sha256=found.sha256,
        )
        return Documentation(documents=[text])

    @operation(read_only=True, open_world=False, title="List documents")
    def list_documents(
        self, call: CallContext, doc_type: DocType = None, prefix: Prefix = "", limit: Limit = 50
    ) -> DocumentList:
        """Return the documents in the order of their paths, with titles and types."""
        names = names_of(prefix, parameter="prefix")
        begin = "/".join(names) + ("/" if names and prefix.endswith("/") else "")
        listed: DocumentList = self.index.ask(
            lambda connection: lookup.list_documents(connection, doc_type, begin, limit)
        )
        self._report(call, len(listed["documents"]))
        return listed

    @operation(read_only=True, open_world=False, title="Search documents", recovery=[PlainWords(), Retry()])
    def search_documents(
        self,
        call: CallContext,
        query: QueryText,
        doc_types: DocTypes = None,
        limit: Limit = 10,
        mode: Literal["lexical"] = "lexical",  # noqa: ARG002 - the one mode there is so far
    ) -> SearchResults:
        """Return the documents that match best, with the passage that matched. Words side by side must all occur."""
        parsed = parse_query(query)
        found = self.index.ask(lambda connection: search(connection, parsed, doc_types, limit))
        if found["matched"] == "any_word" and found["total"]:
            call.warn("No document holds all the words; these hold some of them.")
        self._report(call, len(found["results"]))
        return found

    def alternate_paths(self, path: str) -> list[Alternate]:
        """Return the existing documents that are the missing one under another path; see `AlternatePaths`."""
        return alternate_paths(path, self.documents, self.index)

    async def startup(self) -> None:
        """Begin to build the search index, without waiting for it."""
        threading.Thread(target=self._warm_up, name="failsoft-docs-index", daemon=True).start()

    async def shutdown(self) -> None:
        """Close the search index."""
        await self.runtime.threads.run(self.index.close)

    def _warm_up(self) -> None:
        try:
            self.index.ask(lambda _: None)
        except ToolError as error:
            logger.opt(exception=error).warning("The search index could not be built at start-up.")

    def _not_found(self, path: str) -> DocumentNotFound:
        """Return the error with what the caller may have meant. A certain hit on the disk spares a search for more."""
        advice = Advice([item.path for item in spelled_on_disk(path, self.documents)], search_step(path))
        if not advice.suggestions:
            try:
                advice = self.index.ask(lambda connection: advise(connection, path))
            except ToolError as error:
                logger.opt(exception=error).warning("No suggestions for a missing document: the index does not work.")
        return DocumentNotFound(path=path, suggestions=advice.suggestions, next_step=advice.next_step)

    def _report(self, call: CallContext, documents: int) -> None:
        call.documents_processed = documents
        for warning in self.index.take_warnings():
            call.warn(warning)


def _require_sendable(call: CallContext, document: Document) -> None:
    """Refuse a document that no answer can hold, with the search that finds its passages.

    Raises:
        RESULT_TOO_LARGE: Its text, which an answer holds twice, is above the limit of the transport.
    """
    limit = call.scope.max_response_bytes
    size = 2 * len(document.content.encode())
    if limit is not None and size > limit:
        raise ResultTooLarge(size_bytes=size, limit_bytes=limit, next_step=search_step(document.path))

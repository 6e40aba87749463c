"""The docs toolset: projects of Markdown documents, read, listed, searched, validated and promoted."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.offers import ResourceContent, ResourcePage, completion, resource
from failsoft.framework.safe.author_reports import logger
from failsoft.recovery.strategies.alternate_paths import Alternate
from failsoft.recovery.strategies.retry import Retry
from failsoft.tools.docs import signatures as take
from failsoft.tools.docs.doc_types import known_level, listed_types, not_declared, require_types, validate
from failsoft.tools.docs.documents.paths import names_of
from failsoft.tools.docs.documents.root import DOCUMENT_BYTES_AT_MOST
from failsoft.tools.docs.missing import alternate_paths, with_document, with_documents
from failsoft.tools.docs.project import Project, search_external, search_words
from failsoft.tools.docs.projects import Projects
from failsoft.tools.docs.promotion import promote
from failsoft.tools.docs.reading import Position, next_cursor, next_from, read_page, split_anchor
from failsoft.tools.docs.resources import list_resources, matching_paths, read_resource
from failsoft.tools.docs.search import tables as lookup
from failsoft.tools.docs.search.database import PostgresDatabase
from failsoft.tools.docs.search.embedders import embedder_for
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.search.meaning import LexicalInstead, SemanticSearch
from failsoft.tools.docs.search.query import PlainWords, parse_query
from failsoft.tools.docs.search.tables import Scope
from failsoft.tools.docs.signatures import (
    ActivatedProject,
    DocsSettings,
    DocTypeList,
    Documentation,
    DocumentList,
    ExternalResults,
    PromotedDocument,
    SearchResults,
    ValidatedDocument,
)
from failsoft.tools.files import name_roots

_SHARE_OF_DATA = 2
"""The rest is for the escapes of JSON, and for the facts beside the text."""
_TURN_S = 0.1
_WARM_UP_AFTER_S = 0.5
"""The server answers its first requests before the index takes its time; a search meanwhile does not wait for this."""


class Docs(BaseTool):
    """Documentation: search it, read pages or sections, list what there is.

    Usual order: activate_project where no project is current; search_documents, or list_documents; get_documentation
    with a path that they return; validate_document before promote_document.

    Args:
        root: The served folder, which is a project by itself. Left out, projects below the current folder can be
            activated, and there is none before.
        runtime: The surroundings of its calls.
        settings: Its settings; by default read from `FAILSOFT_DOCS_...`.
        cache_dir: Where search indexes are kept; by default in the user's cache folder.
        state_folder: Where locks and journals of writes are kept; by default in the user's state folder.
        document_bytes_at_most: The size above which a document is not read.

    Raises:
        CONFIG_ERROR: The folder does not exist.

    Examples:
        >>> docs = Docs(root=".")
    """

    name = "docs"
    Settings = DocsSettings
    settings: DocsSettings

    def __init__(
        self,
        root: Path | None = None,
        *,
        runtime: Runtime | None = None,
        settings: DocsSettings | None = None,
        cache_dir: Path | None = None,
        state_folder: Path | None = None,
        document_bytes_at_most: int = DOCUMENT_BYTES_AT_MOST,
    ) -> None:
        super().__init__(runtime=runtime, settings=settings)
        folder = Path.cwd() if root is None else Path(root)
        if not folder.is_dir():
            raise ConfigurationError(
                issue="the documentation folder does not exist",
                resolution=f"{folder} is not a folder; name one that exists",
            )
        folder = folder.absolute()
        self.roots = (folder,)
        self._state_folder = state_folder
        self._warming: threading.Timer | None = None
        self.meaning = SemanticSearch(embedder_for(self.settings, self.runtime))
        url = self.settings.database_url
        self.projects = Projects(
            folder,
            cache_dir=cache_dir,
            document_bytes_at_most=document_bytes_at_most,
            is_implicit=root is not None,
            hard_links=self.settings.hard_links,
            entries_at_most=self.settings.max_entries,
            database=PostgresDatabase(url.get_secret_value(), self.runtime) if url is not None else None,
        )

    def bind_operations(self) -> None:
        """Bind every operation; schemas name the folders that are served."""
        super().bind_operations()
        name_roots(self.operations.values(), self.roots)

    @operation(open_world=False, idempotent=True, destructive=False, title="Activate a documentation project")
    async def activate_project(self, call: Call, config_path: take.ConfigPath) -> ActivatedProject:
        """Begin to work on a documentation project, given its config.json. Pass the `project` that it returns on."""
        call.read_only = True
        project = await self.projects.activate(call, config_path)
        documents, named = await project.ask(
            call, lambda index: (lookup.count_documents(index), lookup.own_types(index))
        )
        for kind in filter(project.types.is_undeclared, named):
            call.warn(not_declared(kind, named[kind]))
        return ActivatedProject(
            project=project.handle,
            name=project.config.name,
            docs_root=project.config.docs_root,
            doc_types=list(project.types.names),
            promotion_levels=list(project.levels),
            external_docs=[folder.name for folder in project.external],
            documents=documents,
        )

    @operation(read_only=True, open_world=False, title="Read documents")
    async def get_documentation(
        self,
        call: Call,
        path: take.DocPaths,
        cursor: take.Cursor = None,
        project: take.ProjectName = None,
    ) -> Documentation:
        """Return documents, or the sections that `path#anchor` names: text, title, front matter and links.

        A long one comes in pages: repeat the call with `next_cursor` as `cursor`. Find paths with search_documents.
        """
        chosen = await self.projects.of(call, project)
        return await call.bound.threads.run(lambda: self._read(call, chosen, path, cursor))

    @operation(read_only=True, open_world=False, title="List documents")
    async def list_documents(
        self,
        call: Call,
        doc_type: take.DocType = None,
        prefix: take.Prefix = "",
        limit: take.Limit = 50,
        cursor: take.Cursor = None,
        project: take.ProjectName = None,
    ) -> DocumentList:
        """Return documents in the order of their paths, with titles, types and levels, in pages of `limit`."""
        chosen = await self.projects.of(call, project)
        begin, (behind,) = _beginning(prefix), next_from(cursor, ["documents"], ("",))
        documents, total, more = await chosen.ask(
            call, lambda index: lookup.list_documents(index, doc_type, begin, limit, behind=behind)
        )
        call.documents_processed = len(documents)
        listed = DocumentList(documents=documents, total=total)
        if more:
            listed["next_cursor"] = next_cursor(["documents"], documents[-1]["path"])
        return listed

    @operation(read_only=True, open_world=False, title="List document types")
    async def list_doc_types(self, call: Call, project: take.ProjectName = None) -> DocTypeList:
        """Return the document types of the project, and how many documents have each: values for filters."""
        chosen = await self.projects.of(call, project)
        counts = await chosen.ask(call, lookup.document_types)
        return DocTypeList(doc_types=listed_types(chosen.types, counts))

    @operation(
        read_only=True, open_world=False, title="Search documents", recovery=[PlainWords(), LexicalInstead(), Retry()]
    )
    async def search_documents(  # noqa: PLR0913, PLR0917 - the filters of a search; callers name them
        self,
        call: Call,
        query: take.QueryText,
        doc_types: take.DocTypes = None,
        limit: take.Limit = 10,
        mode: take.Mode = None,
        prefix: take.Prefix = "",
        level: take.Level | None = None,
        min_score: take.MinScore = None,
        project: take.ProjectName = None,
    ) -> SearchResults:
        """Return the documents that answer a question or match key words, best first, with the passage that matched."""
        chosen = await self.projects.of(call, project)
        parsed = parse_query(query)
        mode = mode or chosen.config.search.mode
        least = min_score if min_score is not None else chosen.config.search.min_score or 0.0
        scope = Scope(doc_types, _beginning(prefix), level, limit, least)
        if mode != "lexical":
            found = await self.meaning.search(call, chosen.index, query, parsed, scope, mode)
        else:
            found, claims = await chosen.index.within(call, lambda: search_words(chosen.index, parsed, scope))
            for claim in claims:
                call.warn(claim)
        for warning in chosen.index.take_warnings():
            call.warn(warning)
        call.documents_processed = len(found["results"])
        return found

    @operation(read_only=True, open_world=False, title="Validate a document's front matter")
    async def validate_document(
        self, call: Call, path: take.DocPath, project: take.ProjectName = None
    ) -> ValidatedDocument:
        """Check a document's front matter against the schema of its type; all faults come with their lines."""
        chosen = await self.projects.of(call, project)
        return await with_document(call, chosen, path, lambda item: validate(call, chosen.types, item))

    @operation(open_world=False, destructive=False, idempotent=True, title="Promote a document")
    async def promote_document(
        self,
        call: Call,
        path: take.DocPath,
        level: take.Level,
        expected_hash: take.ExpectedHash = None,
        project: take.ProjectName = None,
    ) -> PromotedDocument:
        """Write a document's promotion level into its front matter; nothing else in the file changes."""
        call.read_only = True  # until the file is about to be replaced
        chosen = await self.projects.of(call, project)
        known_level(chosen.levels, level)
        folder = self._state_folder
        return await with_document(
            call, chosen, path, lambda item: promote(call, chosen, item, level, expected_hash, state_folder=folder)
        )

    @operation(
        read_only=True, open_world=False, title="Search external documentation", recovery=[PlainWords(), Retry()]
    )
    async def search_external_docs(
        self,
        call: Call,
        query: take.QueryText,
        limit: take.Limit = 10,
        project: take.ProjectName = None,
    ) -> ExternalResults:
        """Search the project's external documentation. get_documentation reads what it finds."""
        chosen = await self.projects.of(call, project)
        parsed = parse_query(query)
        found = await chosen.index.within(call, lambda: search_external(chosen, parsed, query, limit))
        for warning in dict.fromkeys(text for folder in chosen.external for text in folder.index.take_warnings()):
            call.warn(warning)
        call.documents_processed = len(found["results"])
        return found

    @list_documents.check
    async def _known_type(self, call: Call, doc_type: str | None = None, project: str | None = None) -> None:
        if doc_type is not None:
            await self._require_types(call, project, [("doc_type", doc_type)])

    @search_documents.check
    async def _known_types(
        self,
        call: Call,
        doc_types: list[str] | None = None,
        level: str | None = None,
        project: str | None = None,
    ) -> None:
        if doc_types is not None:
            given = [(f"doc_types.{place}", kind) for place, kind in enumerate(doc_types)]
            await self._require_types(call, project, given)
        if level is not None:
            known_level((await self.projects.of(call, project)).levels, level)

    def alternate_paths(self, path: str, call: Call) -> list[Alternate]:
        """Return the existing documents that are the missing one under another path; see `AlternatePaths`."""
        handle = call.arguments.get("project")
        project = self.projects.current(call, handle if isinstance(handle, str) else None)
        page, anchor = split_anchor(path)
        if project is None or project.external_folder(path) or project.root.holds(page):
            return []
        found = alternate_paths(page, project.root, project.index, project.history)
        suffix = f"#{anchor}" if anchor else ""
        return [Alternate(item.path + suffix, item.rule) for item in found]

    @resource("docs://{project}/{+path}", title="Document", mime_type="text/markdown")
    async def document(self, call: Call, project: str, path: take.DocPath) -> ResourceContent:
        """A document of a project, or the section that `#anchor` names."""
        return await read_resource(call, await self.projects.of(call, project), path)

    @document.list
    async def documents(self, call: Call, cursor: take.Cursor = None) -> ResourcePage:
        """Return the documents of the projects that this server knows."""
        return await list_resources(call, self.projects.all(), cursor)

    @completion(document, "path")
    async def complete_path(self, call: Call, value: str, arguments: dict[str, str] | None = None) -> list[str]:
        """Return the paths that begin with what was typed, then those that contain it."""
        return await matching_paths(call, await self.projects.of(call, (arguments or {}).get("project")), value)

    @completion(document, "project")
    async def complete_project(self, value: str) -> list[str]:
        """Return the projects whose handle begins with what was typed."""
        return [item.handle for item in self.projects.all() if item.handle.startswith(value.casefold())]

    async def startup(self) -> None:
        """Build the search index soon after, without waiting for it."""
        if self.projects.implicit is not None:
            self._warming = threading.Timer(_WARM_UP_AFTER_S, self._warm_up)
            self._warming.name, self._warming.daemon = "failsoft-docs-index", True
            self._warming.start()

    async def shutdown(self) -> None:
        """Close the search indexes."""
        if self._warming is not None:
            self._warming.cancel()
        await self.runtime.threads.run(self.projects.close)

    def _warm_up(self) -> None:
        try:
            if self.projects.implicit is not None:
                self._build(self.projects.implicit.index)
        except ToolError as error:
            logger.opt(exception=error).warning("The search index could not be built at start-up.")

    def _build(self, index: DocumentIndex) -> None:
        """Build an index in parts, between which other questions have their turn."""
        index.ask(lambda _: None)
        while index.is_unfinished and self._warming is not None and not self._warming.finished.wait(_TURN_S):
            index.ask(lambda _: None)

    def _read(self, call: Call, project: Project, path: str | list[str], cursor: str | None) -> Documentation:
        paths = [path] if isinstance(path, str) else path
        position = Position(*next_from(cursor, paths, Position(), len(paths)))
        limit = call.data_limit_bytes
        size = self.settings.page_bytes if limit is None else min(self.settings.page_bytes, limit // _SHARE_OF_DATA)
        texts, following, warnings = with_documents(
            call, project, paths, lambda items: read_page(items, position, size)
        )
        for warning in warnings:
            call.warn(warning)
        call.documents_processed = len(texts)
        answer = Documentation(documents=texts)
        if following is not None:
            answer["next_cursor"] = next_cursor(paths, *following)
        return answer

    async def _require_types(self, call: Call, project: str | None, given: Sequence[tuple[str, str]]) -> None:
        chosen = await self.projects.of(call, project)
        counts = await chosen.ask(call, lookup.document_types)
        require_types(chosen.types, counts, given)


def _beginning(prefix: str) -> str:
    names = names_of(prefix, parameter="prefix")
    return "/".join(names) + ("/" if names and prefix.endswith("/") else "")

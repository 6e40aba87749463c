"""The documents as MCP resources with completion, and what resources share with operations: index, missing pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import DocumentNotFound
from failsoft.framework.offers import ListedResource, ResourceContent, ResourcePage, UriTemplate, completion, resource
from failsoft.tools.docs import signatures as take
from failsoft.tools.docs.missing import not_found
from failsoft.tools.docs.project import Project
from failsoft.tools.docs.projects import Projects
from failsoft.tools.docs.reading import Asked, asked, next_cursor, next_from, read_asked
from failsoft.tools.docs.search import tables as lookup
from failsoft.tools.docs.signatures import ListedDocument

T = TypeVar("T")
DOCUMENT_URI = UriTemplate("docs://{project}/{+path}")
RESOURCES_AT_MOST = 200
"""Documents in a page of the list of resources."""


class DocumentResources(BaseTool):
    """Offers every document of the known projects as a resource, `docs://PROJECT/PATH`."""

    projects: Projects

    def found(self, call: Call, project: Project, paths: Sequence[str], work: Callable[[list[Asked]], T]) -> T:
        """Return what comes of the documents at these paths, if there are all of them.

        Raises:
            DOC_NOT_FOUND: With every path that is missing, and what may have been meant.
        """
        items = [_asked(project, path) for path in paths]
        missing = [item for item in items if not item.root.exists(item.names)]
        if not missing:
            try:
                return work(items)
            except DocumentNotFound as error:
                if error.next_step is not None or len(items) > 1:  # of a section that is missing
                    raise
                missing = items
        given = call.arguments.get("project")
        is_list = isinstance(call.arguments.get("path"), list)
        raise not_found(project, missing, {"project": given} if given is not None else {}, items if is_list else ())

    async def ask(self, call: Call, project: Project, question: Callable[[lookup.IndexConnection], T]) -> T:
        """Return what a question finds in the index of a project; its warnings go to the caller."""
        answer: T = await project.index.within(call, lambda: project.index.ask(question))
        for warning in project.index.take_warnings():
            call.warn(warning)
        return answer

    @resource("docs://{project}/{+path}", title="Document", mime_type="text/markdown")
    async def document(self, call: Call, project: str, path: take.DocPath) -> ResourceContent:
        """A document of a project, or the section that `#anchor` names."""
        chosen = await self.projects.of(call, project)
        documents = await call.bound.threads.run(
            lambda: self.found(call, chosen, [path], lambda items: read_asked(items[0]))
        )
        uri = DOCUMENT_URI.fill({"project": chosen.handle, "path": documents[0].path})
        return ResourceContent(text=documents[1], uri=uri)

    @document.list
    async def documents(self, call: Call, cursor: take.Cursor = None) -> ResourcePage:
        """Return the documents of the projects that this server knows."""
        projects = self.projects.all()
        place, behind = next_from(cursor, ["resources"], (0, ""), len(projects))
        if not projects:
            return ResourcePage(resources=[])
        chosen = projects[place]
        listed, _, more = await self.ask(
            call, chosen, lambda index: lookup.list_documents(index, None, "", RESOURCES_AT_MOST, behind=behind)
        )
        page = ResourcePage(resources=[_listed_resource(chosen, item) for item in listed])
        if more:
            page["next_cursor"] = next_cursor(["resources"], place, listed[-1]["path"])
        elif place + 1 < len(projects):
            page["next_cursor"] = next_cursor(["resources"], place + 1, "")
        return page

    @completion(document, "path")
    async def complete_path(self, call: Call, value: str, arguments: dict[str, str] | None = None) -> list[str]:
        """Return the paths that begin with what was typed, then those that contain it."""
        handle = (arguments or {}).get("project")
        chosen = await self.projects.of(call, handle)
        paths = await self.ask(call, chosen, lookup.all_paths)
        typed = value.casefold()
        begins = [path for path in paths if path.casefold().startswith(typed)]
        return begins + [path for path in paths if typed in path.casefold() and not path.casefold().startswith(typed)]

    @completion(document, "project")
    async def complete_project(self, value: str) -> list[str]:
        """Return the projects whose handle begins with what was typed."""
        return [item.handle for item in self.projects.all() if item.handle.startswith(value.casefold())]


def _listed_resource(project: Project, item: ListedDocument) -> ListedResource:
    return ListedResource(
        uri=DOCUMENT_URI.fill({"project": project.handle, "path": item["path"]}),
        name=item["path"],
        title=item["title"],
        mime_type="text/markdown",
        size=item["size_bytes"],
    )


def _asked(project: Project, path: str) -> Asked:
    external = project.external_folder(path)
    if external is None:
        return asked(path, project.root)
    folder, inner = external
    return asked(inner, folder.root, path[: len(path) - len(inner)])

"""The documents as MCP resources, with completion of their paths."""

from __future__ import annotations

from failsoft.framework.call.call import Call
from failsoft.framework.offers import ListedResource, ResourceContent, ResourcePage, UriTemplate, completion, resource
from failsoft.tools.docs import signatures as take
from failsoft.tools.docs.project import Project
from failsoft.tools.docs.project_tool import ProjectTool
from failsoft.tools.docs.reading import ResourceCursor, read_asked
from failsoft.tools.docs.search import tables as lookup
from failsoft.tools.docs.signatures import ListedDocument

DOCUMENT_URI = UriTemplate("docs://{project}/{+path}")
RESOURCES_AT_MOST = 200
"""Documents in a page of the list of resources."""


class DocumentResources(ProjectTool):
    """Offers every document of the known projects as a resource, `docs://PROJECT/PATH`."""

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
        place, behind = ResourceCursor.decode(cursor, len(projects))
        if not projects:
            return ResourcePage(resources=[])
        chosen = projects[place]
        listed, _, more = await self.ask(
            call, chosen, lambda index: lookup.list_documents(index, None, "", RESOURCES_AT_MOST, behind=behind)
        )
        page = ResourcePage(resources=[_listed_resource(chosen, item) for item in listed])
        if more:
            page["next_cursor"] = ResourceCursor.encode(place, listed[-1]["path"])
        elif place + 1 < len(projects):
            page["next_cursor"] = ResourceCursor.encode(place + 1, "")
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

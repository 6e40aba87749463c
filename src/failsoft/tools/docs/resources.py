"""The documents of the known projects as MCP resources, `docs://PROJECT/PATH`: read, listed and completed."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.framework.call.call import Call
from failsoft.framework.offers import ListedResource, ResourceContent, ResourcePage, UriTemplate
from failsoft.tools.docs.missing import with_document
from failsoft.tools.docs.project import Project
from failsoft.tools.docs.reading import next_cursor, next_from, read_asked
from failsoft.tools.docs.search.tables import all_paths, list_documents
from failsoft.tools.docs.signatures import ListedDocument

DOCUMENT_URI = UriTemplate("docs://{project}/{+path}")
RESOURCES_AT_MOST = 200
"""Documents in a page of the list of resources."""


async def read_resource(call: Call, project: Project, path: str) -> ResourceContent:
    """Return a document of a project, or the section that `#anchor` names.

    Raises:
        DOC_NOT_FOUND: There is none, with what may have been meant.
    """
    document, text = await with_document(call, project, path, read_asked)
    return ResourceContent(text=text, uri=DOCUMENT_URI.fill({"project": project.handle, "path": document.path}))


async def list_resources(call: Call, projects: Sequence[Project], cursor: str | None) -> ResourcePage:
    """Return a page of the documents of the projects."""
    place, behind = next_from(cursor, ["resources"], (0, ""), len(projects))
    if not projects:
        return ResourcePage(resources=[])
    chosen = projects[place]
    listed, _, more = await chosen.ask(
        call, lambda index: list_documents(index, None, "", RESOURCES_AT_MOST, behind=behind)
    )
    page = ResourcePage(resources=[_listed_resource(chosen, item) for item in listed])
    if more:
        page["next_cursor"] = next_cursor(["resources"], place, listed[-1]["path"])
    elif place + 1 < len(projects):
        page["next_cursor"] = next_cursor(["resources"], place + 1, "")
    return page


async def matching_paths(call: Call, project: Project, typed: str) -> list[str]:
    """Return the paths that begin with what was typed, then those that contain it, in any case."""
    wanted = typed.casefold()
    paths = [path for path in await project.ask(call, all_paths) if wanted in path.casefold()]
    return sorted(paths, key=lambda path: not path.casefold().startswith(wanted))


def _listed_resource(project: Project, item: ListedDocument) -> ListedResource:
    return ListedResource(
        uri=DOCUMENT_URI.fill({"project": project.handle, "path": item["path"]}),
        name=item["path"],
        title=item["title"],
        mime_type="text/markdown",
        size=item["size_bytes"],
    )

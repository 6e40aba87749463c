"""Shared parts of the docs operations: the project of a call, its index, and missing documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import DocumentNotFound
from failsoft.tools.docs.missing import not_found
from failsoft.tools.docs.project import Project
from failsoft.tools.docs.projects import Projects
from failsoft.tools.docs.reading import Asked, asked

T = TypeVar("T")


class ProjectTool(BaseTool):
    """A toolset that works on documentation projects."""

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

    async def ask(self, call: Call, project: Project, question: Callable[..., T]) -> T:
        """Return what a question finds in the index of a project; its warnings go to the caller."""
        answer: T = await project.index.within(call, lambda: project.index.ask(question))
        for warning in project.index.take_warnings():
            call.warn(warning)
        return answer


def _asked(project: Project, path: str) -> Asked:
    external = project.external_folder(path)
    if external is None:
        return asked(path, project.root)
    folder, inner = external
    return asked(inner, folder.root, path[: len(path) - len(inner)])

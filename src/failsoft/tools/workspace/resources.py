"""Files, plans and reports of a workspace as MCP resources, and the governed session as a prompt."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence

from failsoft.framework.call.call import Call
from failsoft.framework.offers import (
    ListedResource,
    ResourceContent,
    ResourcePage,
    UriTemplate,
    completion,
    prompt,
    resource,
)
from failsoft.tools.files import Files
from failsoft.tools.workspace.arguments import FilePath, ListCursor, PlanHash, Task
from failsoft.tools.workspace.files.excerpt import excerpt
from failsoft.tools.workspace.files.session_files import Guard, SessionFiles, WriteCheck
from failsoft.tools.workspace.files.walking import files_below
from failsoft.tools.workspace.plan_tools import PlanTools
from failsoft.tools.workspace.results import PlanFacts
from failsoft.tools.workspace.sessions.sessions import CURRENT, Session

_FILE = "workspace://{session_id}/files/{+path}"
_PLAN = "workspace://{session_id}/plans/{plan_hash}"
_REPORT = "workspace://{session_id}/reports/{+path}"
_LISTED_AT_MOST = 200
"""Resources in one page of a list."""
_OFFERS = (
    *("file_resource", "file_resources", "complete_file"),
    *("plan_resource", "plan_resources", "report_resource", "report_resources"),
)
"""They need the power "read", as read_file and list_plans do."""
_TYPES = mimetypes.MimeTypes(filenames=())
"""Without the tables of the machine, so that all replicas name the same types."""
_TYPES.add_type("text/markdown", ".md")  # not known to every supported Python


class WorkspaceOffers(PlanTools):
    """The part of the workspace toolset that offers resources and prompts.

    A resource names its session, as a call does: `current` is the session that the single client of this process
    (stdio) began last. Lists are those of that session, and empty without one.
    """

    powers = {  # noqa: RUF012 - extended by subclasses, never changed
        **PlanTools.powers,
        **dict.fromkeys(_OFFERS, "read"),
    }

    @resource(_FILE, title="File of a workspace")
    async def file_resource(self, call: Call, session_id: str, path: FilePath) -> ResourceContent:
        """A UTF-8 text file of the workspace, as read_file returns it."""
        files = self._files_of(call, await self._session(call, session_id))
        return await self._text(call, files, path)

    @file_resource.list
    async def file_resources(self, call: Call, cursor: ListCursor = "") -> ResourcePage:
        """Return the files of the current session's workspace."""
        names = await self._names_below(call, "")
        return _page(_FILE, "path", names, cursor)

    @completion(file_resource, "path")
    async def complete_file(self, call: Call, value: str) -> list[str]:
        """Return the paths that begin with what was typed, then those that contain it."""
        names = await self._names_below(call, "")
        begin = [name for name in names if name.startswith(value)]
        return begin + [name for name in names if value in name and not name.startswith(value)]

    @resource(_PLAN, title="Plan")
    async def plan_resource(self, call: Call, session_id: str, plan_hash: PlanHash) -> PlanFacts:
        """A plan of the workspace: its files, its text, and whether it is approved."""
        session = await self._session(call, session_id)
        found = await self._plans.find(session, plan_hash)
        return found.shown_to(self._plans.author_of(session))

    @plan_resource.list
    async def plan_resources(self, call: Call) -> ResourcePage:
        """Return the newest plans of the current session's workspace."""
        session = await self._listing_session(call)
        found = [] if session is None else await self._plans.all(session.workspace_root)
        return ResourcePage(
            resources=[
                _listed(_PLAN, {"plan_hash": one.plan_hash}, one.title, "application/json")
                for one in found[:_LISTED_AT_MOST]
            ]
        )

    @resource(_REPORT, title="Failure report", mime_type="text/markdown")
    async def report_resource(self, call: Call, session_id: str, path: FilePath) -> ResourceContent:
        """A report that write_failure_report wrote, by its name in the reports folder."""
        files = self._files_of(call, await self._session(call, session_id))
        return await self._text(call, files, f"{self._reports.folder}/{path}")

    @report_resource.list
    async def report_resources(self, call: Call, cursor: ListCursor = "") -> ResourcePage:
        """Return the reports in the current session's workspace."""
        folder = self._reports.folder
        names = await self._names_below(call, folder)
        return _page(_REPORT, "path", [name.removeprefix(f"{folder}/") for name in names], cursor)

    @prompt(title="Work in a governed session")  # type: ignore[untyped-decorator]  # it takes a method of any type
    def governed_session(self, task: Task) -> str:
        """Return the usual order of calls for a task, from the session to the report."""
        planner, writer = (", ".join(self._roles.with_power(power)) or "none" for power in ("plan", "write"))
        return (
            f"Task: {task}\n\n"
            f"Work in {self.roots[0]} through the tools of this server.\n"
            f"1. `begin_session` in a role that may plan ({planner}); read what you need with `list_files` and "
            "`read_file`.\n"
            "2. Check the files you intend to write with `lint_plan`, then call `submit_plan`. Another author has to "
            "approve the plan: wait for that, and do not approve it yourself.\n"
            f"3. `begin_session` in a role that may write ({writer}), and make the changes with `write_file` and "
            "`apply_patch`. Pass the sha256 of what you read as expected_hash.\n"
            "4. `run_preflight`. When a call fails, follow its next step; when a session is locked, call "
            "`write_failure_report`.\n"
            "5. `end_session`."
        )

    def _files_of(self, call: Call, session: Session, guard: Guard | None = None, *checks: WriteCheck) -> SessionFiles:
        """Return the files of a session; without a guard they can only be read."""
        files = Files(
            self._on_disk.beneath(session.workspace_root),
            state_folder=self._state_folder,
            several_names=self.settings.hard_links,
        )
        return SessionFiles(
            files,
            folder=session.workspace_root,
            bytes_at_most=self.settings.max_file_bytes,
            warn=call.warn,
            **({} if guard is None else {"guard": guard}),
            checks=checks,
        )

    async def _text(self, call: Call, files: SessionFiles, path: str) -> ResourceContent:
        """Return a whole text file; where it does not fit, the next step reads it in parts.

        Raises:
            RESULT_TOO_LARGE: It does not fit.
        """
        room = call.data_limit_bytes
        session_id = str(call.params["session_id"])

        def read() -> str:
            whole = files.read(path)
            named = {} if session_id == CURRENT else {"session_id": session_id}
            return excerpt(whole, first_line=1, line_limit=None, bytes_at_most=room, session=named)["content"]

        return ResourceContent(text=await self.runtime.threads.run(read), mime_type=_type_of(path))

    async def _listing_session(self, call: Call) -> Session | None:
        """Return the session whose resources are listed; None without one, or if it has ended."""
        session = await self._sessions.find(call, CURRENT)
        if session is not None:
            self._roles.require_power(session.role, self.powers[call.operation], call.operation)
        return session

    async def _names_below(self, call: Call, folder: str) -> list[str]:
        session = await self._listing_session(call)
        if session is None:
            return []
        roots = self._on_disk.beneath(session.workspace_root)
        names, _ = await self.runtime.threads.run(lambda: files_below(roots, folder))
        return sorted(names)


def _page(template: str, variable: str, names: Sequence[str], after: str) -> ResourcePage:
    """Return the page of sorted names that follows one of them."""
    rest = [name for name in names if name > after]
    shown = rest[:_LISTED_AT_MOST]
    page = ResourcePage(resources=[_listed(template, {variable: name}, name, _type_of(name)) for name in shown])
    if len(rest) > len(shown):
        page["next_cursor"] = shown[-1]
    return page


def _listed(template: str, values: dict[str, str], name: str, mime_type: str) -> ListedResource:
    uri = UriTemplate(template).fill({"session_id": CURRENT, **values})
    return ListedResource(uri=uri, name=name, mime_type=mime_type)


def _type_of(path: str) -> str:
    guessed, encoding = _TYPES.guess_type(path, strict=False)
    return guessed if guessed is not None and encoding is None else "text/plain"

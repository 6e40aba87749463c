"""The workspace toolset: files, written under approved plans in sessions that have a role."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ToolError
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.tools.files import CLOSED_FOLDER, Files, files_below, name_roots, open_roots
from failsoft.tools.workspace import signatures as typed
from failsoft.tools.workspace.errors import (
    PolicyViolation,
    PreflightFailed,
    RustPolicyViolation,
)
from failsoft.tools.workspace.gate import SessionGate
from failsoft.tools.workspace.plans.approval import approve
from failsoft.tools.workspace.plans.plans import PlanDraft, Plans
from failsoft.tools.workspace.plans.register import Plan, PlanRegister
from failsoft.tools.workspace.plans.scope import PlanCheck, lint, plan_of
from failsoft.tools.workspace.policies import judge, load_policies, rules_of
from failsoft.tools.workspace.preflight import Preflight, PreflightResult
from failsoft.tools.workspace.reports import Reports, exclude_from_git, read_entries
from failsoft.tools.workspace.roles import Power, Roles
from failsoft.tools.workspace.session_files import SessionFiles, excerpt
from failsoft.tools.workspace.sessions import Session, Sessions
from failsoft.tools.workspace.signatures import WorkspaceSettings

AUDIT_LOG = "audit-log.jsonl"


class Workspace(BaseTool):
    """Governed work on the files of a project: every call belongs to a session, and every session has a role.

    Usual order: begin_session in a role that may plan; lint_plan, submit_plan; another author calls approve_plan; then
    begin_session in a role that may write; read_file, write_file or apply_patch; run_preflight; end_session.

    Args:
        root: The folder, or the folders, in which workspaces may lie; by default the current one.
        runtime: The runtime of its calls. If it has no audit log, one is kept in the first folder.
        settings: Roles, policies, limits (`FAILSOFT_WORKSPACE_...`).
        state_folder: Where locks and journals are kept; all servers that write the same files need the same one.

    Raises:
        CONFIG_ERROR: A folder does not exist, or the roles or the policies cannot be used.

    Examples:
        >>> workspace = Workspace(root=".")
    """

    name = "workspace"
    wire_format = "system_error"
    takes_several_roots = True
    governed = True
    Settings = WorkspaceSettings
    settings: WorkspaceSettings
    powers: ClassVar[Mapping[str, Power]] = {
        "read_file": "read",
        "list_files": "read",
        "write_file": "write",
        "apply_patch": "write",
        "run_preflight": "write",
        "submit_plan": "plan",
        "lint_plan": "read",
        "list_plans": "read",
        "approve_plan": "approve",
        "read_audit_log": "read",
    }
    """The power that the role of a session needs, by operation; the others need a session only, or none."""

    def __init__(
        self,
        root: Path | Sequence[Path] | None = None,
        *,
        runtime: Runtime | None = None,
        settings: WorkspaceSettings | None = None,
        state_folder: Path | None = None,
    ) -> None:
        super().__init__(runtime=runtime, settings=settings)
        general = self.runtime.settings
        self._served = open_roots(root, self.name)
        self.roots = tuple(map(Path, self._served.folders))
        if self.runtime.audit is None:
            general = general.model_copy(update={"audit_path": self.roots[0] / AUDIT_LOG})
            self.audit = AuditLog.from_settings(general)
        self._on_disk = self._served.closing(CLOSED_FOLDER)
        self._state_folder = state_folder
        self._roles = Roles.from_settings(self.settings)
        records = self.runtime.state.records(self)
        lifetime_s = self.settings.session_s
        self._sessions = Sessions(records, lifetime_s=lifetime_s, roles=self._roles, root=str(self.roots[0]))
        self._reports = Reports(self.settings.reports)
        self._gate = SessionGate(self._sessions, self._roles, self._on_disk, self.runtime.threads)
        self.middleware = self._gate.steps
        self._policies = load_policies(self.settings.policies)
        register = PlanRegister(records, lifetime_s=self.settings.plan_s)
        self._plans = Plans(register, is_bound=self._roles.bound is not None, rules=rules_of(self._policies))
        hides_paths = self.runtime.settings.detail_level == "minimal"
        self._preflight = Preflight(self.settings, hides_paths=hides_paths)

    def bind_operations(self) -> None:
        """Bind every operation; schemas and descriptions name the folders and the roles of this server."""
        super().bind_operations()
        name_roots(self.operations.values(), self.roots)
        role: dict[str, Any] = self.operations["begin_session"].input_schema["properties"]["role"]
        role |= {"enum": list(self._roles.names), "examples": [self._roles.names[-1]]}
        role["description"] = f"The role to work in: {self._roles.described()}"
        for name, bound in self.operations.items():
            power = self.powers.get(name)
            if power is not None:
                able = ", ".join(self._roles.with_power(power)) or "none on this server"
                bound.description = f"{bound.description}\n\nNeeds a role that may {power}: {able}."

    def introduction(self) -> str:
        """Return the description of the toolset, with its folders and its roles."""
        return f"{super().introduction()}\nRoles: {self._roles.described()}."

    @operation(open_world=False, destructive=False, title="Begin a session")
    async def begin_session(
        self, call: Call, workspace_root: typed.WorkspaceRoot, role: typed.RoleName
    ) -> typed.BegunSession:
        """Begin to work in a folder in a role. Pass the session_id that it returns with every further call."""
        folder, identity = await self.runtime.threads.run(lambda: self._gate.folder(workspace_root))
        if self.audit is not None:
            await self.runtime.threads.run(lambda: exclude_from_git(self.roots[0], f"/{AUDIT_LOG}*", "/.failsoft/"))
        session = await self._sessions.begin(call, role=role, workspace_root=folder, root_identity=identity)
        return {
            "session_id": session.session_id,
            "role": session.role,
            "may": sorted(self._roles.powers[session.role]),
            "workspace_root": session.workspace_root,
            "expires_in_s": self.settings.session_s,
        }

    @begin_session.check
    def may_take_the_role(self, call: Call, role: str) -> None:
        """Refuse an unknown role, and one that is not granted to this principal."""
        self._roles.require(role)
        self._roles.require_granted(role, call.principal)

    @operation(open_world=False, destructive=False, title="End the session")
    async def end_session(self, call: Call, session_id: typed.SessionId = None) -> typed.EndedSession:
        """End a session. Later calls with its session_id are refused."""
        session = await self._session(call, session_id)
        await self._sessions.end(session)
        return {"session_id": session.session_id, "role": session.role, "workspace_root": session.workspace_root}

    @operation(open_world=False, destructive=False, title="Write a failure report")
    async def write_failure_report(
        self, call: Call, title: typed.ReportTitle, body: typed.ReportBody, session_id: typed.SessionId = None
    ) -> typed.WrittenReport:
        """Write a report on a failure as a new file in the reports folder. It unlocks a locked session."""
        session = await self._session(call, session_id)
        cause = await self._sessions.lock_cause(session)
        files = Files(self._on_disk.beneath(session.workspace_root), state_folder=self._state_folder)
        report = await self.runtime.threads.run(
            lambda: self._reports.write(files, session, title=title, body=body, cause=cause, warn=call.warn)
        )
        call.audit(path=report["path"], sha256=report["sha256"])
        report["locked"] = cause is not None and not await self._sessions.unlock(session, cause)
        return report

    @operation(read_only=True, open_world=False, title="Read the audit log")
    async def read_audit_log(
        self, call: Call, limit: typed.AuditLimit = 20, session_id: typed.SessionId = None
    ) -> typed.AuditEntries:
        """Return the last audit entries of this workspace: failures, and calls that changed something."""
        session = await self._session(call, session_id)
        log = self.audit if self.audit is not None else self.runtime.audit
        return await self.runtime.threads.run(lambda: read_entries(log, session, limit))

    @operation(read_only=True, open_world=False, title="Read a file")
    async def read_file(
        self,
        call: Call,
        path: typed.FilePath,
        first_line: typed.FirstLine = 1,
        line_limit: typed.LineLimit = None,
        session_id: typed.SessionId = None,
    ) -> typed.FileContent:
        """Return a UTF-8 text file of the workspace, or some of its lines, and the sha256 of the whole file."""
        files = self._files_of(call, await self._session(call, session_id))
        room = call.data_limit_bytes
        return await self.runtime.threads.run(
            lambda: excerpt(files.read(path), first_line=first_line, line_limit=line_limit, bytes_at_most=room)
        )

    @operation(read_only=True, open_world=False, title="List a folder")
    async def list_files(
        self,
        call: Call,
        path: typed.FolderPath = ".",
        cursor: typed.FolderCursor = None,
        session_id: typed.SessionId = None,
    ) -> typed.FileList:
        """Return the files and folders in one folder of the workspace, not those beneath them."""
        files = self._files_of(call, await self._session(call, session_id))
        return await self.runtime.threads.run(lambda: files.list(path, cursor))

    @operation(destructive=True, open_world=False, verify_with="read_file", title="Write a file")
    async def write_file(
        self,
        call: Call,
        path: typed.FilePath,
        content: typed.Content,
        expected_hash: typed.ExpectedHash = None,
        plan_hash: typed.WritePlanHash = None,
        session_id: typed.SessionId = None,
    ) -> typed.WrittenFile:
        """Create a file with its folders, or replace one: then expected_hash must be its sha256.

        An approved plan must cover it. To change part of a large file use apply_patch.
        """
        files = await self._writable_files(call, session_id, plan_hash)
        data = content.encode()
        return await self._written(call, lambda: files.write(path, data, expected_hash))

    @operation(destructive=True, open_world=False, verify_with="read_file", title="Apply a patch")
    async def apply_patch(
        self,
        call: Call,
        path: typed.FilePath,
        patch: typed.PatchText,
        expected_hash: typed.PatchHash = None,
        plan_hash: typed.WritePlanHash = None,
        session_id: typed.SessionId = None,
    ) -> typed.WrittenFile:
        """Change a file by a unified diff, which applies exactly or not at all. An approved plan must cover it."""
        files = await self._writable_files(call, session_id, plan_hash)
        text = patch.encode()
        return await self._written(call, lambda: files.patch(path, text, expected_hash))

    # The commands have limits of their own, and there may be any number of them.
    @operation(destructive=False, open_world=True, timeout=math.inf, title="Run the preflight")
    async def run_preflight(self, call: Call, session_id: typed.SessionId = None) -> PreflightResult:
        """Run the checks that the server has for the project, such as its tests, in the workspace."""
        session = await self._session(call, session_id)
        result = await self._preflight.run(call, session.workspace_root)
        call.audit(commands=len(result["commands"]))
        return result

    @operation(destructive=False, idempotent=True, open_world=False, title="Submit a plan")
    async def submit_plan(
        self,
        call: Call,
        title: typed.PlanTitle,
        files: typed.PlanFiles,
        body: typed.PlanBody = "",
        waive: typed.WaivedRules = (),  # type: ignore[assignment]  # a list that is never changed
        session_id: typed.SessionId = None,
    ) -> typed.PlanFacts:
        """Submit what is to be written, and where. Its files may be written once another author has approved it."""
        session = await self._session(call, session_id)
        draft = PlanDraft(title=title, files=files, body=body, waive=waive)
        plan = await self._plans.submit(session, draft)
        call.audit(files=len(plan.files), waive=list(plan.waive))
        return self._recorded(call, session, plan)

    @operation(read_only=True, open_world=False, title="Check the files of a plan")
    async def lint_plan(self, call: Call, files: typed.LintedFiles, session_id: typed.SessionId = None) -> PlanCheck:
        """Check the paths and globs of a plan before it is submitted: what matches nothing, overlaps or is too wide."""
        session = await self._session(call, session_id)
        roots = self._on_disk.beneath(session.workspace_root)

        def check() -> PlanCheck:
            names, complete = files_below(roots)
            return lint(files, names, complete=complete)

        return await self.runtime.threads.run(check)

    @operation(destructive=False, idempotent=True, open_world=False, effects=True, title="Approve a plan")
    async def approve_plan(
        self, call: Call, plan_hash: typed.PlanHash, session_id: typed.SessionId = None
    ) -> typed.PlanFacts:
        """Approve a plan of another author, so that its files may be written. Read its files and body first.

        On a server with a single client and all roles, the person who uses the client is asked where that is possible.
        """
        session = await self._session(call, session_id)
        asks = call.principal == LOCAL_PRINCIPAL and self._roles.bound is None
        return self._recorded(call, session, await approve(call, self._plans, session, plan_hash, asks=asks))

    @operation(destructive=True, open_world=False, title="Withdraw a plan")
    async def withdraw_plan(
        self, call: Call, plan_hash: typed.PlanHash, session_id: typed.SessionId = None
    ) -> typed.WithdrawnPlan:
        """Remove a plan and its approval: writes under it are refused. To use it again, submit it again."""
        session = await self._session(call, session_id)
        plan = await self._plans.withdraw(session, plan_hash)
        self._recorded(call, session, plan)
        return {"plan_hash": plan.plan_hash, "title": plan.title, "withdrawn": True}

    @operation(read_only=True, open_world=False, title="List the plans")
    async def list_plans(
        self,
        call: Call,
        limit: typed.PlanLimit = 20,
        cursor: typed.PlanCursor = None,
        session_id: typed.SessionId = None,
    ) -> typed.PlanList:
        """Return the plans of the workspace, the newest first, and whether they are approved."""
        session = await self._session(call, session_id)
        plans, total, following = await self._plans.page(session, limit, cursor)
        author = self._plans.author_of(session)
        page: typed.PlanList = {"plans": [plan.shown_to(author) for plan in plans], "total": total}
        return page if following is None else {**page, "next_cursor": following}

    def self_audit(self) -> list[str]:
        """Return which of its folders cannot be opened, and which preflight programs are not found."""
        closed = (folder for folder in self.roots if not os.access(folder, os.R_OK | os.X_OK))
        return [*(f"the folder {folder} cannot be opened" for folder in closed), *self._preflight.faults()]

    async def shutdown(self) -> None:
        """End the preflight commands that still run."""
        self._preflight.close()

    def failure_facts(self, error: ToolError, call: Call) -> Mapping[str, Any]:  # noqa: ARG002 - as declared
        """Return the output of a failed preflight command, or the findings of a policy; neither is ever logged."""
        if isinstance(error, PreflightFailed):
            return error.public()
        if isinstance(error, (PolicyViolation, RustPolicyViolation)):
            return {"findings": error.findings}
        return {}

    def open_risks(self) -> list[tuple[str, str, str]]:
        """Return what the roles leave open: a setting, what it allows, and how to close it."""
        if not self._roles.one_client_approves:
            return []
        allows = "one client on stdio can submit a plan in one role and approve it in another"
        return [("FAILSOFT_WORKSPACE_ROLES", allows, "start one server for each role, with --role")]

    async def startup(self) -> None:
        """Recover transactions that a crash interrupted."""
        self._preflight.open()
        files = Files(self._served, state_folder=self._state_folder)
        await self.runtime.threads.run(files.recover)

    async def on_failure(self, failure: Failure, call: Call) -> None:
        """Lock the session in which an invariant was violated."""
        await self._gate.lock_after(failure, call)

    async def _session(self, call: Call, session_id: str | None) -> Session:
        """Return the call's session, if its role has the power that the operation needs."""
        return await self._gate.session(call, session_id, self.powers.get(call.operation))

    def _files_of(self, call: Call, session: Session, **checked: Any) -> SessionFiles:
        """Return the files of a session; without a guard they can only be read."""
        roots = self._on_disk.beneath(session.workspace_root)
        files = Files(roots, state_folder=self._state_folder, several_names=self.settings.hard_links)
        limit = self.settings.max_file_bytes
        return SessionFiles(files, folder=session.workspace_root, bytes_at_most=limit, warn=call.warn, **checked)

    async def _writable_files(self, call: Call, session_id: str | None, plan_hash: str | None) -> SessionFiles:
        """Return the files of the call's session, to write what an approved plan covers."""
        session = await self._session(call, session_id)
        waived: list[str] = []

        def on_plan(plan: Plan) -> None:
            call.governance = replace(session.governance, plan_hash=plan.plan_hash)
            waived[:] = plan.waive

        parameter = "patch" if "patch" in call.arguments else "content"
        judged = partial(judge, self._policies, parameter=parameter, waived=waived)
        guard = await self._plans.guard(session, plan_of(call, plan_hash), on_plan)
        return self._files_of(call, session, guard=guard, judged=judged)

    async def _written(self, call: Call, write: Callable[[], typed.WrittenFile]) -> typed.WrittenFile:
        """Write, with facts for the audit entry."""
        written = await self.runtime.threads.run(write)
        call.audit(path=written["path"], created=written["created"], sha256=written["sha256"])
        return written

    def _recorded(self, call: Call, session: Session, plan: Plan) -> typed.PlanFacts:
        """Return the facts of a plan, once they are in the audit entry."""
        call.governance = replace(session.governance, plan_hash=plan.plan_hash)
        call.audit(plan_hash=plan.plan_hash)
        return plan.shown_to(self._plans.author_of(session))

"""The workspace toolset: files, in sessions that have a role, in folders that the server allows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loguru import logger

from failsoft.framework.answer_room import answer_room
from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.context import LOCAL_PRINCIPAL, CallContext
from failsoft.framework.errors import ConfigurationError, NextStep, ToolError
from failsoft.framework.failure import Failure
from failsoft.framework.operation import operation
from failsoft.framework.runtime import Runtime
from failsoft.framework.settings import Settings
from failsoft.framework.tool import BaseTool
from failsoft.tools.edit.errors import HashMismatch
from failsoft.tools.files import FileFault, Files, Roots
from failsoft.tools.workspace.arguments import (
    AuditLimit,
    Content,
    ExpectedHash,
    FilePath,
    FirstLine,
    FolderPath,
    LineLimit,
    PatchHash,
    PatchText,
    PlanBody,
    PlanFiles,
    PlanHash,
    PlanLimit,
    PlanTitle,
    ReportBody,
    ReportTitle,
    RoleName,
    SessionId,
    WorkspaceRoot,
    WritePlanHash,
)
from failsoft.tools.workspace.audit_reading import read_entries
from failsoft.tools.workspace.coded import coded_root
from failsoft.tools.workspace.desk import Desk, Guard
from failsoft.tools.workspace.excerpt import excerpt
from failsoft.tools.workspace.file_errors import FileAlreadyExists
from failsoft.tools.workspace.gate import Gate
from failsoft.tools.workspace.patch_errors import PatchApplyFailed
from failsoft.tools.workspace.plan_errors import PlanNotApproved, PlanNotFound
from failsoft.tools.workspace.plans import Plan, Plans, named_by, refusing, scope_of
from failsoft.tools.workspace.policies import PolicyCheck, load_policies
from failsoft.tools.workspace.policy_errors import PreflightFailed
from failsoft.tools.workspace.preflight import Preflight, PreflightResult
from failsoft.tools.workspace.reports import Reports
from failsoft.tools.workspace.results import (
    AuditEntries,
    BegunSession,
    EndedSession,
    FileContent,
    FileList,
    PlanFacts,
    PlanList,
    WrittenFile,
    WrittenReport,
)
from failsoft.tools.workspace.roles import Power, Roles
from failsoft.tools.workspace.root_identity import root_identity
from failsoft.tools.workspace.sessions import Session, Sessions

__all__ = ["Workspace"]

AUDIT_LOG = "audit-log.jsonl"


class Workspace(BaseTool):
    """Governed work on the files of a project: every call belongs to a session, and every session has a role.

    Args:
        root: The folder, or the folders, in which workspaces may lie; left out, the current one.
        runtime: The surroundings of its calls; its settings name the roles (`FAILSOFT_WORKSPACE_...`). Where it has no
            audit log, one is kept in the first folder.
        state_folder: Where locks and journals are kept; all servers that write the same files need the same one.

    Raises:
        CONFIG_ERROR: A folder does not exist, or the roles or the policies are not usable.
    """

    name = "workspace"
    wire_format = "system_error"
    takes_several_roots = True
    governed = True

    def __init__(
        self,
        root: Path | Sequence[Path] | None = None,
        *,
        runtime: Runtime | None = None,
        state_folder: Path | None = None,
    ) -> None:
        super().__init__(runtime=runtime)
        settings = self.runtime.settings
        served = _roots(root)
        self.roots = tuple(map(Path, served.folders))
        if self.runtime.audit is None:
            settings = settings.model_copy(update={"audit_path": self.roots[0] / AUDIT_LOG})
            self.audit = AuditLog.from_settings(settings)
        self._on_disk = served.without(families=_records(settings))
        self._state_folder = state_folder
        self._roles = Roles.from_settings(settings)
        self._policies = load_policies(settings.workspace_policies)
        self._preflight = Preflight.from_settings(settings)
        self._lifetime_s = settings.workspace_session_s
        store = self.runtime.state.private_to(self)
        self._plans = Plans(store, lifetime_s=settings.workspace_plan_s)
        self._sessions = Sessions(
            store,
            lifetime_s=self._lifetime_s,
            first_step=NextStep("begin_session", {"workspace_root": str(self.roots[0]), "role": self._roles.names[0]}),
        )
        self._reports = Reports(settings.workspace_reports)
        self._gate = Gate(self._sessions, self._on_disk, self.runtime.threads)
        self.middleware = self._gate.steps

    @operation(open_world=False, destructive=False, title="Begin a session")
    async def begin_session(self, call: CallContext, workspace_root: WorkspaceRoot, role: RoleName) -> BegunSession:
        """Begin to work in a folder under a role. Pass the session_id that it returns with every further call."""
        folder, identity = await self.runtime.threads.run(lambda: self._folder(workspace_root))
        session = await self._sessions.begin(
            call,
            role=role,
            workspace_root=folder,
            root_identity=identity,
            is_bound=_is_remote(call) and not self._roles.principals,
        )
        return {
            "session_id": session.session_id,
            "role": session.role,
            "may": sorted(self._roles.powers[session.role]),
            "workspace_root": session.workspace_root,
            "expires_in_s": self._lifetime_s,
        }

    @begin_session.check
    def may_take_the_role(self, call: CallContext, role: str) -> None:
        """Refuse a role that does not exist, or that this principal is not given."""
        self._roles.require(role)
        if _is_remote(call):
            self._roles.require_granted(role, call.principal or "")

    @operation(open_world=False, destructive=False, title="End the session")
    async def end_session(self, call: CallContext, session_id: SessionId = None) -> EndedSession:
        """End a session: its session_id is worth nothing from then on."""
        session = await self._sessions.of(call, session_id)
        await self._sessions.end(session)
        return {"session_id": session.session_id, "role": session.role, "workspace_root": session.workspace_root}

    @operation(open_world=False, destructive=False, title="Write a failure report")
    async def write_failure_report(
        self, call: CallContext, title: ReportTitle, body: ReportBody, session_id: SessionId = None
    ) -> WrittenReport:
        """Write down what went wrong, as a new file among the reports; a locked session works again afterwards."""
        session = await self._sessions.of(call, session_id, even_if_locked=True)
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
        self, call: CallContext, limit: AuditLimit = 20, session_id: SessionId = None
    ) -> AuditEntries:
        """Return what happened in this workspace last: failures, and calls that changed something."""
        session = await self._session(call, session_id, "read")
        log = self.audit if self.audit is not None else self.runtime.audit
        return await self.runtime.threads.run(lambda: read_entries(log, session, limit))

    @operation(read_only=True, open_world=False, title="Read a file")
    async def read_file(
        self,
        call: CallContext,
        path: FilePath,
        first_line: FirstLine = 1,
        line_limit: LineLimit = None,
        session_id: SessionId = None,
    ) -> FileContent:
        """Return a text file of the workspace, or some of its lines, and the sha256 of the whole file."""
        desk = await self._desk(call, session_id, "read")
        room = answer_room(call)
        session = {} if session_id is None else {"session_id": session_id}

        def read() -> FileContent:
            whole = desk.read(path)
            return excerpt(whole, first_line=first_line, line_limit=line_limit, bytes_at_most=room, session=session)

        return await self.runtime.threads.run(read)

    @operation(read_only=True, open_world=False, title="List a folder")
    async def list_files(self, call: CallContext, path: FolderPath = ".", session_id: SessionId = None) -> FileList:
        """Return the files and folders in one folder of the workspace."""
        desk = await self._desk(call, session_id, "read")
        return await self.runtime.threads.run(lambda: desk.list(path))

    @operation(destructive=False, idempotent=True, open_world=False, title="Submit a plan")
    async def submit_plan(
        self, call: CallContext, title: PlanTitle, files: PlanFiles, body: PlanBody = "", session_id: SessionId = None
    ) -> PlanFacts:
        """Put down what shall be written, and where. Once somebody else has approved the plan, its files may be."""
        session = await self._session(call, session_id, "plan")
        plan = await self._plans.submit(session, title=title, files=files, body=body)
        call.governance = replace(session.governance, plan_hash=plan.plan_hash)
        call.audit(plan_hash=plan.plan_hash, files=len(plan.files))
        return plan.told_to(session)

    @operation(destructive=False, idempotent=True, open_world=False, title="Approve a plan")
    async def approve_plan(self, call: CallContext, plan_hash: PlanHash, session_id: SessionId = None) -> PlanFacts:
        """Put a plan in force that somebody else has submitted. Read its files and its body before."""
        session = await self._session(call, session_id, "approve")
        plan = await self._plans.approve(session, plan_hash)
        call.governance = replace(session.governance, plan_hash=plan.plan_hash)
        call.audit(plan_hash=plan.plan_hash)
        return plan.told_to(session)

    @operation(read_only=True, open_world=False, title="List the plans")
    async def list_plans(self, call: CallContext, limit: PlanLimit = 20, session_id: SessionId = None) -> PlanList:
        """Return the plans of the workspace, the newest first, and whether they are approved."""
        session = await self._session(call, session_id, "read")
        plans = await self._plans.all(session.workspace_root)
        return {"plans": [plan.told_to(session) for plan in plans[:limit]], "total": len(plans)}

    @operation(destructive=True, open_world=False, title="Write a file")
    async def write_file(
        self,
        call: CallContext,
        path: FilePath,
        content: Content,
        expected_hash: ExpectedHash = None,
        plan_hash: WritePlanHash = None,
        session_id: SessionId = None,
    ) -> WrittenFile:
        """Make a file, with the folders that it needs, or replace one: then expected_hash has to be its sha256.

        An approved plan has to cover it.
        """
        desk = await self._desk_for_writing(call, session_id, plan_hash)
        data = content.encode()
        return await self._written(call, path, session_id, lambda: desk.write(path, data, expected_hash))

    @operation(destructive=True, open_world=False, title="Apply a patch")
    async def apply_patch(
        self,
        call: CallContext,
        path: FilePath,
        patch: PatchText,
        expected_hash: PatchHash = None,
        plan_hash: WritePlanHash = None,
        session_id: SessionId = None,
    ) -> WrittenFile:
        """Change a file as a unified diff says, exactly there or not at all; an approved plan has to cover it."""
        desk = await self._desk_for_writing(call, session_id, plan_hash)
        text = patch.encode()
        return await self._written(call, path, session_id, lambda: desk.patch(path, text, expected_hash))

    # The commands have limits of their own, and there may be any number of them.
    @operation(destructive=False, open_world=True, timeout=math.inf, title="Run the preflight")
    async def run_preflight(self, call: CallContext, session_id: SessionId = None) -> PreflightResult:
        """Run the checks that the server has for a project, such as its tests, in the workspace."""
        session = await self._session(call, session_id, "write")
        result = await self._preflight.run(call, self.runtime.threads, session.workspace_root)
        call.audit(commands=len(result["commands"]))
        return result

    async def _written(
        self, call: CallContext, path: str, session_id: str | None, write: Callable[[], WrittenFile]
    ) -> WrittenFile:
        """Write, and put that on record; where the file is not what the caller thought, say how to look at it."""
        try:
            written = await self.runtime.threads.run(write)
        except (FileAlreadyExists, HashMismatch, PatchApplyFailed) as error:
            named = {} if session_id is None else {"session_id": session_id}
            error.next_step = NextStep("read_file", {"path": path, **named})
            raise
        call.audit(path=path, created=written["created"], sha256=written["sha256"])
        return written

    async def _session(self, call: CallContext, session_id: str | None, power: Power) -> Session:
        """Return the call's session, if its role may do this."""
        session = await self._sessions.of(call, session_id)
        self._roles.require_power(session.role, power)
        return session

    async def _desk(self, call: CallContext, session_id: str | None, power: Power) -> Desk:
        """Return the files of the call's session, to look at, if its role may do this."""
        return self._desk_of(call, await self._session(call, session_id, power))

    async def _desk_for_writing(self, call: CallContext, session_id: str | None, plan_hash: str | None) -> Desk:
        """Return the files of the call's session, to write what an approved plan covers."""
        session = await self._session(call, session_id, "write")

        def found(plan: Plan) -> None:
            call.governance = replace(session.governance, plan_hash=plan.plan_hash)

        try:
            plans = await self._plans.in_force(session, named_by(call, plan_hash), found)
        except (PlanNotApproved, PlanNotFound) as error:
            return self._desk_of(call, session, guard=refusing(error))
        return self._desk_of(call, session, guard=scope_of(plans, found, session))

    def _desk_of(self, call: CallContext, session: Session, **guard: Guard) -> Desk:
        files = Files(
            self._on_disk.beneath(session.workspace_root),
            state_folder=self._state_folder,
            several_names=self.runtime.settings.workspace_hard_links,
        )
        return Desk(
            files,
            folder=session.workspace_root,
            bytes_at_most=self.runtime.settings.workspace_max_file_bytes,
            warn=call.warn,
            **guard,
            checks=(PolicyCheck(self._policies, call),),
        )

    def self_audit(self) -> list[str]:
        """Return which of its folders cannot be opened, and which preflight programs are not found."""
        closed = [folder for folder in self.roots if not os.access(folder, os.R_OK | os.X_OK)]
        return [*(f"the folder {folder} cannot be opened" for folder in closed), *self._preflight.faults()]

    async def shutdown(self) -> None:
        """End the preflight commands that still run."""
        self._preflight.close()

    def failure_facts(self, error: ToolError, call: CallContext) -> Mapping[str, Any]:  # noqa: ARG002 - as declared
        """Return what a preflight command came to: its output helps whoever has to mend it, and is never logged."""
        return error.public() if isinstance(error, PreflightFailed) else {}

    async def startup(self) -> None:
        """Finish or undo what a crash left half done."""
        await self.runtime.threads.run(self._recover)

    async def on_failure(self, failure: Failure, call: CallContext) -> None:
        """Lock the session in which an invariant did not hold."""
        await self._gate.shut(failure, call)

    def _recover(self) -> None:
        try:
            Files(self._on_disk, state_folder=self._state_folder).recover()
        except FileFault as fault:
            logger.opt(exception=fault).warning("What a crash may have left could not be looked at")

    def _folder(self, path: str) -> tuple[str, str]:
        """Return the folder that a session shall have, without links, and which one that is."""
        try:
            folder = self._on_disk.folder(path)
            return folder, root_identity(self._on_disk.beneath(folder), folder)
        except FileFault as fault:
            raise coded_root(fault, "workspace_root") from fault


def _records(settings: Settings) -> list[Path]:
    """Return the files that no tool may touch: the audit log, and what the server reads its own settings from."""
    records = (settings.audit_path, settings.audit_head_path, settings.recovery_file)
    return [path for path in records if path is not None]


def _is_remote(call: CallContext) -> bool:
    """Return whether somebody else may call as well: then it matters who this is."""
    return call.principal != LOCAL_PRINCIPAL


def _roots(root: Path | Sequence[Path] | None) -> Roots:
    folders = [root] if isinstance(root, (str, Path)) else [Path.cwd()] if root is None else list(root)
    try:
        return Roots(folders)
    except OSError as error:
        raise ConfigurationError(
            issue="a folder of the workspace cannot be opened",
            resolution=f"name folders that exist, not {error.filename}",
        ) from error

"""Session operations (begin, end, report a failure, read the audit log), and the base of governed toolsets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.tools.files import CLOSED_FOLDER, FileFault, Files, name_roots, open_roots
from failsoft.tools.workspace.arguments import (
    AuditLimit,
    ReportBody,
    ReportTitle,
    RoleName,
    SessionId,
    WorkspaceRoot,
)
from failsoft.tools.workspace.audit_reading import read_entries
from failsoft.tools.workspace.files.fault_mapping import to_root_error
from failsoft.tools.workspace.gate import SessionGate
from failsoft.tools.workspace.reports import Reports
from failsoft.tools.workspace.results import AuditEntries, BegunSession, EndedSession, WrittenReport
from failsoft.tools.workspace.sessions.roles import Power, Roles
from failsoft.tools.workspace.sessions.root_identity import root_identity
from failsoft.tools.workspace.sessions.sessions import Session, Sessions
from failsoft.tools.workspace.settings import WorkspaceSettings

AUDIT_LOG = "audit-log.jsonl"


class SessionTools(BaseTool):
    """Sessions with a role in the folders that the server offers.

    Args:
        root: The folder, or the folders, in which workspaces may lie; by default the current one.
        runtime: The runtime of its calls. If it has no audit log, one is kept in the first folder.
        settings: Roles, policies, limits (`FAILSOFT_WORKSPACE_...`).
        state_folder: Where locks and journals are kept; all servers that write the same files need the same one.

    Raises:
        CONFIG_ERROR: A folder does not exist, or the roles cannot be used.
    """

    wire_format = "system_error"
    takes_several_roots = True
    governed = True
    settings: WorkspaceSettings

    powers: dict[str, Power] = {"read_audit_log": "read"}  # noqa: RUF012 - extended by subclasses, never changed
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
        self._process = uuid4().hex if self._roles.bound is not None else None
        self._lifetime_s = self.settings.session_s
        self._records = self.runtime.state.records(self)
        self._sessions = Sessions(
            self._records, lifetime_s=self._lifetime_s, roles=self._roles, root=str(self.roots[0])
        )
        self._reports = Reports(self.settings.reports)
        self._gate = SessionGate(self._sessions, self._on_disk, self.runtime.threads)
        self.middleware = self._gate.steps

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
    async def begin_session(self, call: Call, workspace_root: WorkspaceRoot, role: RoleName) -> BegunSession:
        """Begin to work in a folder in a role. Pass the session_id that it returns with every further call."""
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
    def may_take_the_role(self, call: Call, role: str) -> None:
        """Refuse an unknown role, and one that is not granted to this principal."""
        self._roles.require(role)
        if _is_remote(call):
            self._roles.require_granted(role, call.principal or "")

    @operation(open_world=False, destructive=False, title="End the session")
    async def end_session(self, call: Call, session_id: SessionId = None) -> EndedSession:
        """End a session. Later calls with its session_id are refused."""
        session = await self._sessions.of(call, session_id)
        await self._sessions.end(session)
        return {"session_id": session.session_id, "role": session.role, "workspace_root": session.workspace_root}

    @operation(open_world=False, destructive=False, title="Write a failure report")
    async def write_failure_report(
        self, call: Call, title: ReportTitle, body: ReportBody, session_id: SessionId = None
    ) -> WrittenReport:
        """Write a report on a failure as a new file in the reports folder. It unlocks a locked session."""
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
    async def read_audit_log(self, call: Call, limit: AuditLimit = 20, session_id: SessionId = None) -> AuditEntries:
        """Return the last audit entries of this workspace: failures, and calls that changed something."""
        session = await self._session(call, session_id)
        log = self.audit if self.audit is not None else self.runtime.audit
        return await self.runtime.threads.run(lambda: read_entries(log, session, limit))

    async def _session(self, call: Call, session_id: str | None) -> Session:
        """Return the call's session, if its role has the power that the operation needs."""
        power = self.powers[call.operation]
        session = await self._sessions.of(call, session_id, power=power)
        self._roles.require_power(session.role, power, call.operation)
        return session

    def _folder(self, path: str) -> tuple[str, str]:
        """Return the folder of a new session, without links, and its identity."""
        try:
            folder = self._on_disk.folder(path)
            return folder, root_identity(self._on_disk.beneath(folder), folder)
        except FileFault as fault:
            raise to_root_error(fault, "workspace_root", self._on_disk.folders) from fault


def _is_remote(call: Call) -> bool:
    """Return whether there may be several callers, so that the principal matters."""
    return call.principal != LOCAL_PRINCIPAL

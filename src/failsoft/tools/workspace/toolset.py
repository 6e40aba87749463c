"""The workspace toolset: sessions that have a role, in folders that the server allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.context import LOCAL_PRINCIPAL, CallContext
from failsoft.framework.errors import ConfigurationError, NextStep
from failsoft.framework.operation import operation
from failsoft.framework.runtime import Runtime
from failsoft.framework.tool import BaseTool
from failsoft.tools.files import FileFault, Roots
from failsoft.tools.workspace.arguments import RoleName, SessionId, WorkspaceRoot
from failsoft.tools.workspace.coded import coded_root
from failsoft.tools.workspace.results import BegunSession, EndedSession
from failsoft.tools.workspace.roles import Roles
from failsoft.tools.workspace.sessions import Sessions

__all__ = ["Workspace"]

AUDIT_LOG = "audit-log.jsonl"


class Workspace(BaseTool):
    """Governed work on the files of a project: every call belongs to a session, and every session has a role.

    Args:
        root: The folder, or the folders, in which workspaces may lie; left out, the current one.
        runtime: The surroundings of its calls; its settings name the roles (`FAILSOFT_WORKSPACE_...`). Where it has no
            audit log, one is kept in the first folder.

    Raises:
        CONFIG_ERROR: A folder does not exist, or the roles are not usable.
    """

    name = "workspace"
    wire_format = "system_error"
    takes_several_roots = True
    governed = True

    def __init__(self, root: Path | Sequence[Path] | None = None, *, runtime: Runtime | None = None) -> None:
        super().__init__(runtime=runtime)
        settings = self.runtime.settings
        self._on_disk = _roots(root)
        self.roots = tuple(map(Path, self._on_disk.folders))
        if self.runtime.audit is None:
            self.audit = AuditLog.from_settings(settings.model_copy(update={"audit_path": self.roots[0] / AUDIT_LOG}))
        self._roles = Roles.from_settings(settings)
        self._lifetime_s = settings.workspace_session_s
        self._sessions = Sessions(
            self.runtime.state.private_to(self),
            lifetime_s=self._lifetime_s,
            first_step=NextStep("begin_session", {"workspace_root": str(self.roots[0]), "role": self._roles.names[0]}),
        )

    @operation(open_world=False, destructive=False, title="Begin a session")
    async def begin_session(self, call: CallContext, workspace_root: WorkspaceRoot, role: RoleName) -> BegunSession:
        """Begin to work in a folder under a role. Pass the session_id that it returns with every further call."""
        folder = await self.runtime.threads.run(lambda: self._folder(workspace_root))
        session = await self._sessions.begin(
            call, role=role, workspace_root=folder, is_bound=_is_remote(call) and not self._roles.principals
        )
        return {
            "session_id": session.session_id,
            "role": session.role,
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

    def _folder(self, path: str) -> str:
        """Return the folder that a session shall have, without links."""
        try:
            return self._on_disk.folder(path)
        except FileFault as fault:
            raise coded_root(fault, "workspace_root") from fault


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

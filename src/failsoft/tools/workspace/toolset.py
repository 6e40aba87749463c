"""The workspace toolset: files, written under approved plans in sessions that have a role."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import NextStep, ToolError
from failsoft.tools.files import Files
from failsoft.tools.files.faults import HashMismatch
from failsoft.tools.workspace.arguments import (
    Content,
    ExpectedHash,
    FilePath,
    FirstLine,
    FolderPath,
    LineLimit,
    PatchHash,
    PatchText,
    SessionId,
    WritePlanHash,
)
from failsoft.tools.workspace.errors import (
    FileAlreadyExists,
    PatchApplyFailed,
    PlanNotApproved,
    PlanNotFound,
    PolicyViolation,
    PreflightFailed,
    RustPolicyViolation,
)
from failsoft.tools.workspace.files.excerpt import excerpt
from failsoft.tools.workspace.files.session_files import SessionFiles
from failsoft.tools.workspace.plans.guards import phase_of, plan_of, refusing, within
from failsoft.tools.workspace.plans.plan import Plan
from failsoft.tools.workspace.policies import judge
from failsoft.tools.workspace.preflight.preflight import Preflight, PreflightResult
from failsoft.tools.workspace.resources import WorkspaceOffers
from failsoft.tools.workspace.results import FileContent, FileList, WrittenFile
from failsoft.tools.workspace.settings import WorkspaceSettings

T = TypeVar("T")


class Workspace(WorkspaceOffers):
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
    """

    name = "workspace"
    Settings = WorkspaceSettings
    settings: WorkspaceSettings
    powers = {  # noqa: RUF012 - extended by subclasses, never changed
        **WorkspaceOffers.powers,
        "read_file": "read",
        "list_files": "read",
        "write_file": "write",
        "apply_patch": "write",
        "run_preflight": "write",
    }

    @cached_property
    def _preflight(self) -> Preflight:
        hides_paths = self.runtime.settings.detail_level == "minimal"
        return Preflight(self.settings.preflight, limit_s=self.settings.preflight_s, hides_paths=hides_paths)

    @operation(read_only=True, open_world=False, title="Read a file")
    async def read_file(
        self,
        call: Call,
        path: FilePath,
        first_line: FirstLine = 1,
        line_limit: LineLimit = None,
        session_id: SessionId = None,
    ) -> FileContent:
        """Return a UTF-8 text file of the workspace, or some of its lines, and the sha256 of the whole file."""
        files = self._files_of(call, await self._session(call, session_id))
        room = call.data_limit_bytes
        named = {} if session_id is None else {"session_id": session_id}

        def read() -> FileContent:
            whole = files.read(path)
            return excerpt(whole, first_line=first_line, line_limit=line_limit, bytes_at_most=room, session=named)

        return await self._looked_up(call, session_id, read)

    @operation(read_only=True, open_world=False, title="List a folder")
    async def list_files(self, call: Call, path: FolderPath = ".", session_id: SessionId = None) -> FileList:
        """Return the files and folders in one folder of the workspace, not those beneath them."""
        files = self._files_of(call, await self._session(call, session_id))
        return await self._looked_up(call, session_id, lambda: files.list(path))

    @operation(destructive=True, open_world=False, verify_with="read_file", title="Write a file")
    async def write_file(
        self,
        call: Call,
        path: FilePath,
        content: Content,
        expected_hash: ExpectedHash = None,
        plan_hash: WritePlanHash = None,
        session_id: SessionId = None,
    ) -> WrittenFile:
        """Create a file with its folders, or replace one: then expected_hash must be its sha256.

        An approved plan must cover it. To change part of a large file use apply_patch.
        """
        files = await self._writable_files(call, session_id, plan_hash)
        data = content.encode()
        return await self._written(call, path, session_id, lambda: files.write(path, data, expected_hash))

    @operation(destructive=True, open_world=False, verify_with="read_file", title="Apply a patch")
    async def apply_patch(
        self,
        call: Call,
        path: FilePath,
        patch: PatchText,
        expected_hash: PatchHash = None,
        plan_hash: WritePlanHash = None,
        session_id: SessionId = None,
    ) -> WrittenFile:
        """Change a file by a unified diff, which applies exactly or not at all. An approved plan must cover it."""
        files = await self._writable_files(call, session_id, plan_hash)
        text = patch.encode()
        return await self._written(call, path, session_id, lambda: files.patch(path, text, expected_hash))

    # The commands have limits of their own, and there may be any number of them.
    @operation(destructive=False, open_world=True, timeout=math.inf, title="Run the preflight")
    async def run_preflight(self, call: Call, session_id: SessionId = None) -> PreflightResult:
        """Run the checks that the server has for the project, such as its tests, in the workspace."""
        session = await self._session(call, session_id)
        result = await self._preflight.run(call, self.runtime.threads, session.workspace_root)
        call.audit(commands=len(result["commands"]))
        return result

    async def _looked_up(self, call: Call, session_id: str | None, look: Callable[[], T]) -> T:
        """Run a read; the next step of a failure names the session if the call does."""
        try:
            return await self.runtime.threads.run(look)
        except ToolError as error:
            _name_session(call, error, session_id)
            raise

    async def _written(
        self, call: Call, path: str, session_id: str | None, write: Callable[[], WrittenFile]
    ) -> WrittenFile:
        """Write, with facts for the audit entry; if the file is not as expected, the next step reads it."""
        try:
            written = await self.runtime.threads.run(write)
        except (FileAlreadyExists, HashMismatch, PatchApplyFailed) as error:
            named = {} if session_id is None else {"session_id": session_id}
            error.next_step = NextStep("read_file", {"path": path, **named})
            raise
        except ToolError as error:
            _name_session(call, error, session_id)
            raise
        call.audit(path=path, created=written["created"], sha256=written["sha256"])
        return written

    async def _writable_files(self, call: Call, session_id: str | None, plan_hash: str | None) -> SessionFiles:
        """Return the files of the call's session, to write what an approved plan covers."""
        session = await self._session(call, session_id)
        waived: list[str] = []

        def found(plan: Plan) -> None:
            call.governance = replace(session.governance, plan_hash=plan.plan_hash)
            waived[:] = plan.waive

        def check(path: str, real_path: str, data: bytes, before: bytes | None) -> None:
            parameter = "patch" if "patch" in call.arguments else "content"
            for name in dict.fromkeys((path, real_path)):  # a link and its target may have different endings
                for warning in judge(self._policies, name, data, before, parameter=parameter, waived=waived):
                    call.warn(warning)

        try:
            plans = await self._plans.approved(session, plan_of(call, plan_hash), found)
        except (PlanNotApproved, PlanNotFound) as error:
            return self._files_of(call, session, refusing(error), check)
        return self._files_of(call, session, within(plans, found, session, phase_of(call)), check)

    def self_audit(self) -> list[str]:
        """Return which of its folders cannot be opened, and which preflight programs are not found."""
        closed = [folder for folder in self.roots if not os.access(folder, os.R_OK | os.X_OK)]
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

    async def startup(self) -> None:
        """Recover transactions that a crash interrupted."""
        files = Files(self._served, state_folder=self._state_folder)
        await self.runtime.threads.run(files.recover)

    async def on_failure(self, failure: Failure, call: Call) -> None:
        """Lock the session in which an invariant was violated."""
        await self._gate.lock_after(failure, call)


def _name_session(call: Call, error: ToolError, session_id: str | None) -> None:
    """Add the session to the next step of a failure if the call named it; calls from Python get no next step."""
    step = error.next_step
    if step is None or session_id is None or "session_id" in step.arguments:
        return
    is_served = call.scope.toolbox is not None
    error.next_step = NextStep(step.tool, {**step.arguments, "session_id": session_id}) if is_served else None

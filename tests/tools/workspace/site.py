"""What the tests of the toolset share: a folder with a project in it, and calls as a server makes them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failsoft import Runtime
from failsoft.tools.workspace import Workspace
from tests.doors import LOCAL_PRINCIPAL, CallScope, StateStore
from tests.framework.wellformed import check_wellformed
from tests.tools.chosen import chosen

__all__ = ["Site"]

REVIEWER = "token:reviewer"
"""Approves what the local client submits."""


@dataclass(frozen=True)
class Site:
    """A folder that a server serves, with the workspace `project` in it."""

    root: Path

    @property
    def project(self) -> Path:
        """The workspace."""
        return self.root / "project"

    def entries(self) -> list[Path]:
        """Return what is in the workspace."""
        return sorted(self.project.iterdir())

    def tool(self, *, state: StateStore | None = None, **settings: Any) -> Workspace:
        """Return a toolset with these settings."""
        general, own = chosen(Workspace, settings)
        runtime = Runtime(settings=general, state=state)
        return Workspace(self.root, runtime=runtime, settings=own, state_folder=self.root.parent / "state")

    def call(
        self,
        tool: Workspace,
        operation: str,
        params: dict[str, Any] | None = None,
        *,
        principal: str | None = LOCAL_PRINCIPAL,
        **scope: Any,
    ) -> dict[str, Any]:
        """Return the answer to one call, after every check that a client could make."""
        return asyncio.run(self.called(tool, operation, params, principal=principal, **scope))

    async def called(
        self,
        tool: Workspace,
        operation: str,
        params: dict[str, Any] | None = None,
        *,
        principal: str | None = LOCAL_PRINCIPAL,
        **scope: Any,
    ) -> dict[str, Any]:
        """Return the same where an event loop runs already."""
        bound = tool.operations[operation]
        known = CallScope(max_response_bytes=1_000_000, toolbox=tool.toolbox, principal=principal, **scope)
        return check_wellformed(await bound.call(params or {}, known), bound)

    def begin(self, tool: Workspace, role: str = "WINDSURF", *, root: Path | None = None, **scope: Any) -> str:
        """Return the id of a new session in the project, or in another folder."""
        folder = {"workspace_root": str(root or self.project), "role": role}
        answer = self.call(tool, "begin_session", folder, **scope)
        assert answer.get("success"), answer
        session_id: str = answer["data"]["session_id"]
        return session_id

    def allow(self, tool: Workspace, *files: str, root: Path | None = None) -> str:
        """Have a plan for these files, by default for all, submitted and approved; return its hash.

        It comes before `begin` where a test leaves the session out: that means the one begun last.
        """
        author = self.begin(tool, "ANTIGRAVITY", root=root)
        plan = {"title": "Work", "files": list(files or ("**",)), "session_id": author}
        plan_hash: str = self.call(tool, "submit_plan", plan)["data"]["plan_hash"]
        answer = self.approve(tool, plan_hash, root=root)
        assert answer["data"]["approved"], answer
        return plan_hash

    def approve(self, tool: Workspace, plan_hash: str, *, root: Path | None = None) -> dict[str, Any]:
        """Return the answer to another author who approves a plan."""
        session_id = self.begin(tool, "ANTIGRAVITY", root=root, principal=REVIEWER)
        approval = {"plan_hash": plan_hash, "session_id": session_id}
        return self.call(tool, "approve_plan", approval, principal=REVIEWER)

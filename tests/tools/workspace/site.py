"""What the tests of the toolset share: a folder with a project in it, and calls as a server makes them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failsoft import Runtime, Settings
from failsoft.framework.context import LOCAL_PRINCIPAL, CallScope
from failsoft.framework.state_port import StateStore
from failsoft.tools.workspace import Workspace
from tests.framework.wellformed import check_wellformed

__all__ = ["Site"]


@dataclass(frozen=True)
class Site:
    """A folder that a server serves, with the workspace `project` in it."""

    root: Path

    @property
    def project(self) -> Path:
        """The workspace."""
        return self.root / "project"

    def tool(self, *, state: StateStore | None = None, **settings: Any) -> Workspace:
        """Return a toolset with these settings."""
        runtime = Runtime(settings=Settings(**settings), state=state)
        return Workspace(self.root, runtime=runtime, state_folder=self.root.parent / "state")

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

        async def run() -> dict[str, Any]:
            bound = tool.operations[operation]
            known = CallScope(max_response_bytes=1_000_000, toolbox=tool.toolbox, principal=principal, **scope)
            return check_wellformed(await bound.call(params or {}, known), bound)

        return asyncio.run(run())

    def begin(self, tool: Workspace, role: str = "WINDSURF", **scope: Any) -> str:
        """Return the id of a new session in the project."""
        answer = self.call(tool, "begin_session", {"workspace_root": str(self.project), "role": role}, **scope)
        assert answer.get("success"), answer
        session_id: str = answer["data"]["session_id"]
        return session_id

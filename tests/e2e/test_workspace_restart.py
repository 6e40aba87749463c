"""Servers on standard streams, each bound to a role, share plans and sessions through one store, also after kill -9."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio

PLANNER, REVIEWER, WRITER = "ANTIGRAVITY", "REVIEWER", "WINDSURF"
ROLES = f"{PLANNER}:read+plan+approve,{REVIEWER}:read+approve,{WRITER}:read+write"
START = """
import os, sys
from pathlib import Path
from failsoft.__main__ import main
Path(sys.argv.pop(1)).write_text(str(os.getpid()))
main()
"""


@dataclass(frozen=True)
class Desk:
    """A client and the server process that it has started."""

    client: Client
    process_id: int

    async def answer(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool."""
        return (await self.client.call_tool(name, arguments)).structured_content or {}

    async def data(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the data of a call that works."""
        answer = await self.answer(name, **arguments)
        assert answer.get("success"), answer
        data: dict[str, Any] = answer["data"]
        return data

    async def begin(self, folder: Path, role: str) -> str:
        """Return the id of a new session."""
        return str((await self.data("begin_session", workspace_root=str(folder), role=role))["session_id"])

    def kill(self) -> None:
        """End the server as a power switch would."""
        os.kill(self.process_id, signal.SIGKILL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.md").write_text("one\n")
    return folder


@asynccontextmanager
async def server(project: Path, role: str) -> AsyncIterator[Desk]:
    """Start `failsoft serve workspace --role ROLE` with the store of this test, and connect to it."""
    number = project.parent / f"{role}.pid"
    command = ["serve", "workspace", "--root", str(project), "--role", role]
    arguments = ["-c", START, str(number), *command]
    environment = {**os.environ, "XDG_STATE_HOME": str(project.parent / "state"), "FAILSOFT_STATE_URL": ""}
    environment["FAILSOFT_WORKSPACE_ROLES"] = ROLES
    async with Client(StdioServerParameters(command=PYTHON, args=arguments, env=environment)) as client:
        yield Desk(client, int(number.read_text()))


async def test_a_plan_is_submitted_approved_and_written_with_a_restart_between(project: Path) -> None:
    async with server(project, PLANNER) as planner, server(project, WRITER) as writer:
        author, session = await planner.begin(project, PLANNER), await writer.begin(project, WRITER)
        plan = await planner.data("submit_plan", title="Write", files=["docs/**"], session_id=author)
        wanted = {"path": "docs/b.md", "content": "two\n", "plan_hash": plan["plan_hash"]}
        early = await writer.answer("write_file", session_id=session, **wanted)
        own = await planner.answer("approve_plan", plan_hash=plan["plan_hash"], session_id=author)
        again = await planner.answer("approve_plan", plan_hash=plan["plan_hash"])
        assert [item["error_code"] for item in (early, own, again)] == [
            "PLAN_NOT_APPROVED",
            *["UNAUTHORIZED_ACTION"] * 2,
        ]
        planner.kill()
        writer.kill()

    async with server(project, PLANNER) as again, server(project, REVIEWER) as approver:
        listed = (await again.data("list_plans", session_id=author))["plans"]  # the session has survived
        assert [(one["plan_hash"], one["approved"], one["own"]) for one in listed] == [(plan["plan_hash"], False, True)]
        own = await again.answer(
            "approve_plan", plan_hash=plan["plan_hash"], session_id=await again.begin(project, PLANNER)
        )
        assert own["error_code"] == "UNAUTHORIZED_ACTION"
        judge = await approver.begin(project, REVIEWER)
        assert (await approver.data("approve_plan", plan_hash=plan["plan_hash"], session_id=judge))["approved"]
        approver.kill()

    async with server(project, WRITER) as writer:
        assert (await writer.answer("read_file", path="a.md"))["error_code"] == "SESSION_NOT_INITIALIZED"
        outside = await writer.answer("write_file", session_id=session, **{**wanted, "path": "src/b.md"})
        assert outside["error_code"] == "PLAN_SCOPE_VIOLATION"
        assert (await writer.data("write_file", session_id=session, **wanted))["created"]
    assert (project / "docs/b.md").read_text() == "two\n"

"""What a caller with a token of its own can do over HTTP to the approval of plans, and to the plans of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.doors import PLANS_PER_AUTHOR
from tests.server.processes import Served

pytestmark = pytest.mark.anyio

TOKENS = {name: f"the secret of {name}" for name in ("ada", "eve", "bob", "will")}


class ByCommand(Served):
    """`failsoft serve workspace`, as an operator starts it."""

    program = ("-m", "failsoft", "serve", "workspace")


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Serve a folder to callers with tokens."""
    (tmp_path / "project").mkdir()
    server = ByCommand(
        *("--root", str(tmp_path / "project"), "--transport", "http", "--port", "0"),
        FAILSOFT_AUTH_TOKENS=",".join(f"{name}:{token}" for name, token in TOKENS.items()),
        XDG_STATE_HOME=str(tmp_path / "state"),
    )
    try:
        yield server.wait_for("failsoft serves ").partition(" ")[0]
    finally:
        server.close()


class Caller:
    """One principal in a session."""

    def __init__(self, client: Client, session: str = "") -> None:
        self.client = client
        self.session = session

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool."""
        given = {"session_id": self.session, **arguments} if self.session else arguments
        return (await self.client.call_tool(name, given)).structured_content or {}

    async def code(self, name: str, **arguments: Any) -> str | None:
        """Return the code of a failure; None for a success."""
        return (await self.call(name, **arguments)).get("error_code")


@asynccontextmanager
async def caller(url: str, name: str, folder: Path, role: str = "ANTIGRAVITY") -> AsyncIterator[Caller]:
    headers = {"authorization": f"Bearer {TOKENS[name]}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        begun = await Caller(client).call("begin_session", workspace_root=str(folder), role=role)
        yield Caller(client, begun["data"]["session_id"])


async def test_a_caller_neither_approves_its_plan_nor_harms_the_plans_of_others(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    async with (
        caller(url, "ada", folder) as ada,
        caller(url, "eve", folder) as eve,
        caller(url, "eve", folder) as second,
        caller(url, "bob", folder) as bob,
        caller(url, "will", folder, "WINDSURF") as will,
    ):
        submitted = await ada.call("submit_plan", title="Work", files=["docs/**"])
        good = {"plan_hash": submitted["data"]["plan_hash"]}
        bad = {"plan_hash": (await eve.call("submit_plan", title="All", files=["**"]))["data"]["plan_hash"]}

        for one in (eve, second):  # her own plan, also in another session
            assert await one.code("approve_plan", **bad) == "UNAUTHORIZED_ACTION"
        assert await eve.code("submit_plan", title="Work", files=["docs/**"]) is None  # hers? no: Ada's, as before
        assert await eve.code("withdraw_plan", **good) == "UNAUTHORIZED_ACTION"
        assert await Caller(eve.client, ada.session).code("withdraw_plan", **good) not in {None, "INTERNAL_ERROR"}
        assert await will.code("approve_plan", **bad) == "UNAUTHORIZED_ACTION"

        junk = [await eve.code("submit_plan", title=f"{number}", files=["**"]) for number in range(PLANS_PER_AUTHOR)]
        assert junk == [None] * (PLANS_PER_AUTHOR - 1) + ["PLAN_ENFORCEMENT_FAILED"]
        assert await bob.code("approve_plan", **good) is None
        assert await eve.code("withdraw_plan", **good) == "UNAUTHORIZED_ACTION"
        assert await will.code("write_file", path="src/a.md", content="x") == "PLAN_SCOPE_VIOLATION"
        assert await will.code("write_file", path="src/a.md", content="x", **bad) == "PLAN_NOT_APPROVED"
        assert await will.code("write_file", path="docs/a.md", content="x", **good) is None
        assert await bob.code("withdraw_plan", **good) is None
        assert await will.code("write_file", path="docs/b.md", content="x") == "PLAN_NOT_APPROVED"

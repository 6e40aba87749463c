"""Seed 001 as a client meets it: the workspace toolset over the real protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failsoft import Runtime, Settings
from failsoft.testing import connected
from failsoft.tools.workspace import Workspace
from tests.doors import registry, workspace_module as workspace

pytestmark = pytest.mark.anyio
GUIDE = Path(__file__).resolve().parents[2] / "docs/toolsets/workspace.md"


def served(root: Path) -> Workspace:
    return Workspace(root, runtime=Runtime(settings=Settings()))


async def answer(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    found: dict[str, Any] = result.structured_content
    assert result.is_error is ("error_code" in found)
    return found


async def test_before_a_session_its_facts_are_null_and_afterwards_they_are_sent(tmp_path: Path) -> None:
    async with connected(served(tmp_path)) as client:
        before = await answer(client, "end_session")
        begun = await answer(client, "begin_session", workspace_root=str(tmp_path), role="WINDSURF")
        ended = await answer(client, "end_session")
        after = await answer(client, "end_session")

    facts = ("role", "session_id", "workspace_root")
    assert [before["error_code"], after["error_code"]] == ["SESSION_NOT_INITIALIZED"] * 2
    assert [before[name] for name in facts] == [None, None, None]
    assert begun["data"]["session_id"] == ended["data"]["session_id"]


async def test_what_follows_sessionnotinitialized_is_to_begin_one(tmp_path: Path) -> None:
    async with connected(served(tmp_path)) as client:
        step = (await answer(client, "list_files"))["next_step"]
        assert step["tool"] == "begin_session"
        assert (await answer(client, step["tool"], **step["arguments"]))["success"]


async def test_every_code_of_the_toolset_is_in_the_guides_table() -> None:
    listed = {
        line.rsplit("`", 2)[1] for line in GUIDE.read_text().splitlines() if line.startswith("| ") and "`" in line
    }
    own = {code for code, error in registry.items() if error.__module__.startswith("failsoft.tools.workspace.")}
    assert own <= listed
    assert own == {
        getattr(workspace, name).code for name in workspace.__all__ if hasattr(getattr(workspace, name), "code")
    }

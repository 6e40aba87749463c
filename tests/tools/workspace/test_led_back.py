"""Where a call without a valid session is led, and what a principal may begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site

ALICE = {"principal": "token:alice"}


@pytest.fixture
def other(site: Site) -> Path:
    """Return a second folder of the server, beside the workspace."""
    folder = site.root / "other"
    folder.mkdir()
    return folder


def begin(site: Site, tool: Workspace, folder: Path, role: str) -> dict[str, Any]:
    return site.call(tool, "begin_session", {"workspace_root": str(folder), "role": role}, **ALICE)


@pytest.mark.parametrize("kind", ["unknown", "ended"])
def test_a_reading_call_with_a_wrong_session_is_led_to_the_open_one(site: Site, tool: Workspace, kind: str) -> None:
    (site.project / "a.txt").write_text("text")
    ended = site.begin(tool)
    site.begin(tool)
    if kind == "ended":
        site.call(tool, "end_session", {"session_id": ended})
    wrong = ended if kind == "ended" else "550e8400-e29b-41d4-a716-446655440000"
    answer = site.call(tool, "read_file", {"path": "a.txt", "session_id": wrong})

    assert answer["error_code"] == "SESSION_NOT_INITIALIZED"
    assert answer["next_step"] == {"tool": "read_file", "arguments": {"path": "a.txt"}}


def test_a_principal_keeps_its_role_whatever_the_folder(site: Site, tool: Workspace, other: Path) -> None:
    if not begin(site, tool, site.project, "WINDSURF")["success"]:
        raise RuntimeError

    assert begin(site, tool, other, "ANTIGRAVITY").get("error_code") == "ROLE_MISMATCH"
    assert begin(site, tool, other, "WINDSURF")["success"]


def test_a_principal_with_a_locked_session_begins_no_other(site: Site, tool: Workspace, other: Path) -> None:
    session_id = begin(site, tool, site.project, "WINDSURF")["data"]["session_id"]
    site.project.rename(site.root / "moved")
    site.project.mkdir()
    violated = site.call(tool, "list_files", {"session_id": session_id}, **ALICE)
    if violated["error_code"] != "INVARIANT_VIOLATION":
        raise RuntimeError

    assert begin(site, tool, other, "WINDSURF").get("error_code") == "SESSION_LOCKED"

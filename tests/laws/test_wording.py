"""The toolsets that ship say what failed with the value, what is accepted and what to do, in one voice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, Runtime, Settings
from failsoft.tools.docs import Docs
from failsoft.tools.edit import Edit
from failsoft.tools.workspace import Workspace
from tests.doors import WorkspaceSettings

pytestmark = pytest.mark.anyio
EDIT = {"old_string": "no such text", "new_string": "x"}


@pytest.fixture
async def tools(tmp_path: Path) -> tuple[dict[str, BaseTool], dict[str, str]]:
    root = tmp_path / "root"
    (root / "guide").mkdir(parents=True)
    (root / "guide/intro.md").write_text("---\ntitle: Intro\n---\n# Intro\n")
    (root / "guide/setup.md").write_text("# Setup\n")
    (root / "menu.txt").write_text("tea 2.00\n")
    (root / "check.py").write_text("import sys\nprint('menu.txt:1: no price')\nsys.exit(1)\n")
    runtime = Runtime(settings=Settings(audit_path=tmp_path / "audit.jsonl"))
    state: dict[str, Any] = {"runtime": runtime, "state_folder": tmp_path / "state"}
    own = WorkspaceSettings(preflight=[[sys.executable, "check.py"]])
    workspace = Workspace(root, settings=own, **state)
    docs = Docs(root, cache_dir=tmp_path / "cache", **state)
    names = {"ROOT": str(root)}
    for name, role in (("PLANNER", "ANTIGRAVITY"), ("ENDED", "WINDSURF"), ("WRITER", "WINDSURF")):
        begun = await workspace.execute_with_error_handling(
            "begin_session", {"workspace_root": str(root), "role": role}
        )
        names[name] = begun.unwrap()["session_id"]
    await workspace.execute_with_error_handling("end_session", {"session_id": names["ENDED"]})
    return {"docs": docs, "edit": Edit(root, **state), "workspace": workspace}, names


SAID: list[tuple[str, str, dict[str, Any], str]] = [
    ("workspace", "read_file", {"path": "meu.txt", "session_id": "$WRITER"}, 'No file "meu.txt"; closest: "menu.txt".'),
    ("workspace", "read_file", {"path": "menu.txt", "session_id": "$ENDED"}, 'The session "$ENDED" has ended.'),
    (
        "workspace",
        "run_preflight",
        {"session_id": "$PLANNER"},
        "`run_preflight` needs a role that may write: WINDSURF. Begin a session as WINDSURF for it.",
    ),
    (
        "workspace",
        "begin_session",
        {"workspace_root": "/etc", "role": "WINDSURF"},
        '"/etc" lies outside the folders of this server; give a folder in "$ROOT".',
    ),
    (
        "workspace",
        "read_file",
        {"path": "/etc/passwd", "session_id": "$WRITER"},
        '"/etc/passwd" lies outside the workspace "$ROOT"; give a path inside it.',
    ),
    ("workspace", "read_file", {"path": "../a", "session_id": "$WRITER"}, '"../a" contains ".."; give the path'),
    ("workspace", "read_file", {"path": "guide", "session_id": "$WRITER"}, '"guide" cannot be used as path: it is a'),
    ("workspace", "read_file", {"session_id": "$WRITER"}, "`path` is missing (string)."),
    (
        "workspace",
        "write_file",
        {"path": "x.txt", "content": "x", "session_id": "$WRITER"},
        '"x.txt" was not written: no approved plan covers it.',
    ),
    (
        "workspace",
        "write_file",
        {"path": "menu.txt", "content": "x", "expected_hash": "abc", "session_id": "$WRITER"},
        '`expected_hash`: expected a SHA-256: 64 hex digits, as read_file returned it, got "abc".',
    ),
    (
        "workspace",
        "begin_session",
        {"workspace_root": "$ROOT", "role": "DEVELOPER"},
        "`role`: expected one of ANTIGRAVITY (may approve, plan and read), WINDSURF (may read and write).",
    ),
    (
        "workspace",
        "write_file",
        {"path": "x.txt", "content": "x", "session_id": "none"},
        'There is no session "none". Begin a session as WINDSURF (may write) and repeat the call with the id that it',
    ),
    ("workspace", "approve_plan", {"plan_hash": "deadbeef", "session_id": "$PLANNER"}, 'No plan "deadbeef"'),
    ("workspace", "run_preflight", {"session_id": "$WRITER"}, '"check.py" exited with status 1.'),
    ("edit", "multi_edit", {"file_path": "/etc/hosts", "edits": [EDIT]}, '"/etc/hosts" lies outside "$ROOT", the only'),
    (
        "edit",
        "multi_edit",
        {"file_path": "$ROOT/menu.txt", "edits": [EDIT]},
        'Nothing was changed: the old_string of edit 0 is not in "menu.txt"; nothing in it begins alike, so',
    ),
    ("docs", "search_documents", {"query": "x", "limt": 5}, "No parameter `limt`; did you mean `limit`?"),
    ("docs", "list_documents", {"doc_type": "guides"}, 'No document type "guides"; types: document.'),
    ("docs", "get_documentation", {"path": "none/x.md"}, 'Document not found: "none/x.md";'),
]


async def test_a_message_names_the_value_and_what_is_accepted(tools: Any) -> None:
    boxes, names = tools
    for toolset, operation, given, said in SAID:
        arguments = {key: _filled(value, names) for key, value in given.items()}
        response = await boxes[toolset].execute_with_error_handling(operation, arguments)
        assert response.error is not None, said
        assert response.error.message.startswith(_filled(said, names))


def _filled(value: Any, names: dict[str, str]) -> Any:
    for name, own in names.items() if isinstance(value, str) else ():
        value = value.replace(f"${name}", own)
    return value


async def test_a_list_of_paths_keeps_those_that_exist(tools: Any) -> None:
    boxes, _ = tools
    response = await boxes["docs"].execute_with_error_handling(
        "get_documentation", {"path": ["guide/intro.md", "guide/setpu.md"]}
    )
    assert response.error.next_step.arguments == {"path": ["guide/intro.md", "guide/setup.md"]}

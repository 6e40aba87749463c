"""The audit log as a session may read it: its own workspace, the last entries, and whether the log is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, Runtime, Settings
from failsoft.tools.workspace import Workspace
from tests.doors import Session, read_entries
from tests.tools.workspace.site import Site


def log_of(site: Site, tool: Workspace, **arguments: Any) -> dict[str, Any]:
    answer = site.call(tool, "read_audit_log", arguments)
    assert answer.get("success"), answer
    data: dict[str, Any] = answer["data"]
    return data


def test_a_session_reads_what_happened_last_in_its_workspace(site: Site, tool: Workspace) -> None:
    session = site.begin(tool)
    failed = site.call(tool, "read_file", {"path": "gone.md"})
    site.call(tool, "write_failure_report", {"title": "It is gone", "body": "x"})
    data = log_of(site, tool)
    reported = [(one["event"], one["tool_name"], one["error_code"], one["error_id"]) for one in data["entries"]]
    assert [one[:3] for one in reported] == [
        ("success", "begin_session", None),
        ("failure", "read_file", "FILE_NOT_FOUND"),
        ("success", "write_failure_report", None),
    ]
    assert reported[1][3] == failed["error_id"]
    assert {(one["session_id"], one["own"], one["role"]) for one in data["entries"]} == {(session, True, "WINDSURF")}
    assert data["has_more"] is False


def test_of_other_workspaces_nothing_is_reported(site: Site, tool: Workspace) -> None:
    inner = site.project / "inner"
    inner.mkdir()
    for folder in (site.root, inner):
        site.begin(tool, root=folder)
        site.call(tool, "read_file", {"path": "secret-name.md"})
    site.call(tool, "read_file", {"path": "before.md", "session_id": "unknown"})
    site.begin(tool)
    data = log_of(site, tool)
    assert [one["tool_name"] for one in data["entries"]] == ["begin_session"]
    assert "secret-name" not in json.dumps(data)
    assert str(inner) not in json.dumps(data)


def test_the_ids_of_other_sessions_are_not_reported(site: Site, tool: Workspace) -> None:
    other = site.begin(tool, "ANTIGRAVITY")
    site.call(tool, "read_file", {"path": "gone.md"})
    mine = site.begin(tool)
    data = log_of(site, tool)
    assert other not in json.dumps(data)
    assert [(one["own"], one["session_id"]) for one in data["entries"]] == [(False, None), (False, None), (True, mine)]


def test_no_more_is_reported_than_was_asked_for_and_the_last_comes_last(site: Site, tool: Workspace) -> None:
    site.begin(tool)
    ids = [site.call(tool, "read_file", {"path": f"{number}.md"})["error_id"] for number in range(5)]
    data = log_of(site, tool, limit=2)
    assert [one["error_id"] for one in data["entries"]] == ids[3:]
    assert data["has_more"]


@pytest.mark.parametrize("limit", [0, 201, "5"])
def test_the_limit_has_limits(site: Site, tool: Workspace, limit: Any) -> None:
    site.begin(tool)
    assert site.call(tool, "read_audit_log", {"limit": limit})["error_code"] in {
        "INVALID_INPUT_VALUE",
        "INVALID_INPUT_TYPE",
    }


def test_entries_are_bounded_in_bytes(tmp_path: Path, site: Site) -> None:
    session = Session(session_id="s", role="WINDSURF", workspace_root="/w", principal=None)
    path = tmp_path / "audit.jsonl"
    rows = [{"seq": number, "workspace_root": "/w", "message": "x" * 3_000} for number in range(1, 200)]
    path.write_text("".join(json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n" for row in rows))
    found = read_entries(AuditLog(path), session, 200)
    assert len(json.dumps(found)) < 250_000
    assert found["has_more"]
    assert found["entries"][-1]["seq"] == 199


def test_a_log_of_many_files_with_a_key_is_read(site: Site, tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "log.jsonl", key=b"k" * 32, max_bytes=1_500)
    tool = Workspace(site.root, runtime=Runtime(settings=Settings(), audit=log), state_folder=tmp_path / "state")
    site.begin(tool)
    ids = [site.call(tool, "read_file", {"path": f"{number}.md"})["error_id"] for number in range(9)]
    assert len(list(tmp_path.glob("log.jsonl.0*"))) > 2
    data = log_of(site, tool)
    assert [one["error_id"] for one in data["entries"]][1:] == ids
    log.close()


def test_a_role_that_may_not_read_does_not_read_the_log(site: Site) -> None:
    tool = site.tool(workspace_roles=("READER:read", "WRITER:write"))
    site.begin(tool, "WRITER")
    assert site.call(tool, "read_audit_log")["error_code"] == "UNAUTHORIZED_ACTION"


def test_a_log_that_cannot_be_read_fails_the_call(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "log.jsonl"
    tool = site.tool(audit_path=folder)
    site.begin(tool)
    folder.unlink()
    folder.mkdir()
    assert site.call(tool, "read_audit_log")["error_code"] == "AUDIT_LOG_FAILED"


def test_a_trail_that_cannot_be_read_back_fails_the_call(site: Site) -> None:
    class Trail:
        """Sends entries away."""

        async def record(self, facts: Any) -> None:
            assert facts

        def note(self, facts: Any) -> None:
            assert facts

    tool = Workspace(site.root, runtime=Runtime(settings=Settings(), audit=Trail()))
    site.begin(tool)
    answer = site.call(tool, "read_audit_log")
    assert (answer["error_code"], answer["effect"]) == ("AUDIT_LOG_FAILED", "none")

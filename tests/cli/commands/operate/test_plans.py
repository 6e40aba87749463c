"""`failsoft plans`: what the person at the terminal decides about the plans of a server."""

from __future__ import annotations

import getpass
import json
import os
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters

from tests.doors import complete_plans, run
from tests.tools.workspace.site import Site
from tests.zygote import PYTHON


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a folder whose server keeps its plans in a file."""
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path / 'state.db'}")
    found = Site(tmp_path / "served")
    found.project.mkdir(parents=True)
    return found


def submitted(site: Site, title: str = "Work", **plan: Any) -> str:
    """Return the hash of a plan that a server of its own was given."""
    tool = site.tool(state_url=os.environ["FAILSOFT_STATE_URL"])
    session_id = site.begin(tool, "ANTIGRAVITY")
    answer = site.call(tool, "submit_plan", {"title": title, "files": ["**"], "session_id": session_id, **plan})
    plan_hash: str = answer["data"]["plan_hash"]
    return plan_hash


def listed(site: Site, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["plans", "list", "--root", str(site.root), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_plans_are_listed_approved_and_withdrawn(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["plans", "list", "--root", str(site.root)]) == 3  # no server has made the store yet
    plan_hash = submitted(site, body="Do \x1b[31mit.")
    monkeypatch.chdir(site.project)
    assert complete_plans(plan_hash[:2]) == [plan_hash]
    assert run(["plans", "list", "--root", str(site.root)]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["plan_hash", "state", "title", "role", "workspace"]
    assert [(one["plan_hash"], one["approved"]) for one in listed(site, capsys)] == [(plan_hash, False)]
    assert run(["plans", "list", plan_hash[:8], "--root", str(site.root)]) == 0
    shown = capsys.readouterr().out
    assert "Do " in shown
    assert "\x1b" not in shown

    assert run(["plans", "approve", plan_hash[:16], "--root", str(site.project)]) == 0
    assert capsys.readouterr().out.startswith(f"{plan_hash}  approved  ")
    assert listed(site, capsys)[0]["approved"] is True
    tool = site.tool(state_url=os.environ["FAILSOFT_STATE_URL"])
    site.begin(tool)
    assert site.call(tool, "write_file", {"path": "a.md", "content": "x"})["success"]

    assert run(["plans", "withdraw", plan_hash, "--root", str(site.project)]) == 0
    assert capsys.readouterr().out.startswith(f"{plan_hash}  withdrawn  ")
    assert listed(site, capsys) == []
    refused = site.call(tool, "write_file", {"path": "b.md", "content": "x"})
    assert refused["error_code"] == "PLAN_NOT_APPROVED"


@pytest.mark.parametrize("named", [True, False])
def test_a_decision_is_in_the_audit_log_of_the_server(site: Site, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_hash = submitted(site)
    if named:
        monkeypatch.setenv("FAILSOFT_AUDIT_PATH", str(site.root / "audit-log.jsonl"))
    for decision in ("approve", "withdraw"):
        assert run(["plans", decision, plan_hash, "--root", str(site.project)]) == 0
    tool = site.tool(state_url=os.environ["FAILSOFT_STATE_URL"])
    read = site.call(tool, "read_audit_log", {"session_id": site.begin(tool)})["data"]
    user = getpass.getuser()
    found = [(one["tool_name"], one["plan_hash"]) for one in read["entries"] if one["principal"] == f"operator:{user}"]
    assert found == [(f"{decision}_plan", plan_hash) for decision in ("approve", "withdraw")]
    assert run(["audit", "verify", str(site.root / "audit-log.jsonl")]) == 0


def test_a_decision_is_printed_as_json(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    plan_hash = submitted(site)
    for decision, facts in (("approve", {"approved": True}), ("withdraw", {"withdrawn": True})):
        capsys.readouterr()
        assert run(["plans", decision, plan_hash, "--root", str(site.project), "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert {"plan_hash": plan_hash, "workspace_root": str(site.project), **facts}.items() <= printed.items()


def test_a_decision_that_cannot_be_audited_is_not_made(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    plan_hash = submitted(site)
    (site.root / "audit-log.jsonl").unlink(missing_ok=True)
    (site.root / "audit-log.jsonl").mkdir()
    assert run(["plans", "approve", plan_hash, "--root", str(site.project)]) != 0
    assert listed(site, capsys)[0]["approved"] is False


def test_what_cannot_be_decided_ends_with_its_exit_code(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_hash = submitted(site)
    here = ["--root", str(site.project)]
    assert run(["plans", "approve", "0" * 64, *here]) == 1
    # Whoever submits plans can make another one, with other files, that shares the first characters of its hash.
    assert run(["plans", "approve", plan_hash[:15], *here]) == run(["plans", "withdraw", plan_hash[:5], *here]) == 2
    assert run(["plans", "approve", plan_hash, "--root", str(site.root / "gone")]) == 3
    (site.root / "other").mkdir()
    assert run(["plans", "approve", plan_hash, "--root", str(site.root / "other")]) == 1
    assert listed(site, capsys)[0]["approved"] is False
    monkeypatch.setenv("FAILSOFT_STATE_URL", "memory:")
    assert run(["plans", "list", *here]) == 3


@pytest.mark.anyio
async def test_a_person_approves_what_the_only_client_of_a_server_on_stdio_submitted(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "FAILSOFT_STATE_URL": ""}
    arguments = ["-m", "failsoft", "serve", "workspace", "--root", str(folder)]
    async with Client(StdioServerParameters(command=PYTHON, args=arguments, env=environment)) as client:

        async def call(tool: str, **given: Any) -> dict[str, Any]:
            answer: dict[str, Any] = (await client.call_tool(tool, given)).structured_content or {}
            return answer

        await call("begin_session", workspace_root=str(folder), role="ANTIGRAVITY")
        plan_hash = (await call("submit_plan", title="Work", files=["**"]))["data"]["plan_hash"]
        for _ in range(2):
            await call("begin_session", workspace_root=str(folder), role="ANTIGRAVITY")
            assert (await call("approve_plan", plan_hash=plan_hash))["error_code"] == "UNAUTHORIZED_ACTION"
        with pytest.MonkeyPatch.context() as surroundings:
            surroundings.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
            surroundings.setenv("FAILSOFT_STATE_URL", "")
            code = await anyio.to_thread.run_sync(run, ["plans", "approve", plan_hash, "--root", str(folder)])
        assert code == 0
        await call("begin_session", workspace_root=str(folder), role="WINDSURF")
        assert (await call("write_file", path="a.md", content="x"))["success"]

"""Plans that are withdrawn, checked, or waive rules; servers that are bound to a role."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError
from failsoft.tools.workspace import Workspace
from tests.doors import LocalState, SqliteBackend
from tests.tools.workspace.site import Site
from tests.zygote import PYTHON


def submit(site: Site, tool: Workspace, session: str, **plan: Any) -> dict[str, Any]:
    return site.call(tool, "submit_plan", {"title": "Work", "files": ["*"], "session_id": session, **plan})


def approved(site: Site, tool: Workspace, **plan: Any) -> str:
    """Return the hash of a plan that one session submitted and another approved."""
    plan_hash: str = submit(site, tool, site.begin(tool, "ANTIGRAVITY"), **plan)["data"]["plan_hash"]
    answer = site.approve(tool, plan_hash)
    assert answer["success"], answer
    return plan_hash


def write(site: Site, tool: Workspace, path: str, content: str, **more: Any) -> dict[str, Any]:
    return site.call(tool, "write_file", {"path": path, "content": content}, **more)


# Withdrawing.


def test_nothing_is_written_under_a_withdrawn_plan_until_it_is_submitted_and_approved_again(
    site: Site, tool: Workspace
) -> None:
    plan_hash = approved(site, tool)
    author = site.begin(tool, "ANTIGRAVITY")
    withdrawn = site.call(tool, "withdraw_plan", {"plan_hash": plan_hash, "session_id": author})["data"]
    assert withdrawn == {"plan_hash": plan_hash, "title": "Work", "withdrawn": True}
    assert site.call(tool, "list_plans", {"session_id": author})["data"] == {"plans": [], "total": 0}
    assert submit(site, tool, author)["data"]["approved"] is False
    site.begin(tool)
    assert write(site, tool, "a.md", "x")["error_code"] == "PLAN_NOT_APPROVED"
    assert approved(site, tool) == plan_hash
    site.begin(tool)
    assert write(site, tool, "a.md", "x")["success"]


def test_withdrawing_needs_the_author_or_approver_and_a_plan_that_is_there(site: Site, tool: Workspace) -> None:
    plan_hash = approved(site, tool)
    writer, planner = site.begin(tool), site.begin(tool, "ANTIGRAVITY")
    refused = site.call(tool, "withdraw_plan", {"plan_hash": plan_hash, "session_id": writer})
    assert (refused["error_code"], "author" in refused["human_message"]) == ("UNAUTHORIZED_ACTION", True)
    missing = site.call(tool, "withdraw_plan", {"plan_hash": plan_hash[:8], "session_id": planner})
    assert (missing["error_code"], plan_hash in missing["suggestions"]) == ("PLAN_NOT_FOUND", True)
    assert missing["next_step"]["tool"] == "list_plans"


# Checking.


def test_the_check_of_a_plan_finds_what_matches_nothing_overlaps_or_is_too_wide(site: Site, tool: Workspace) -> None:
    (site.project / "src").mkdir()
    for name in ("src/a.py", "src/b.py", "c.md"):
        (site.project / name).write_text("x")
    site.begin(tool, "ANTIGRAVITY")

    def rules(*files: str) -> list[tuple[int, str]]:
        answer = site.call(tool, "lint_plan", {"files": list(files)})
        assert answer["data"]["complete"], answer
        return [(finding["index"], finding["rule"]) for finding in answer["data"]["findings"]]

    assert rules("src/a.py", "c.md") == []
    assert rules("gone/*.py", "src/new.py") == [(0, "matches-nothing"), (1, "matches-nothing")]
    assert rules("src/*.py", "src/a.py", "src/a.*") == [(1, "overlap"), (2, "overlap")]
    assert rules("**") == rules("*") == rules("**/*") == [(0, "too-wide")]
    assert rules("/etc/passwd", "../x", "src/") == [(0, "invalid"), (1, "invalid"), (2, "invalid")]
    assert site.call(tool, "lint_plan", {"files": ["src/*"]})["data"]["files_covered"] == 2


# The closed folder.


def test_no_tool_reaches_the_closed_folder_whatever_a_plan_covers(site: Site, tool: Workspace) -> None:
    approved(site, tool, files=["**", ".failsoft/**", "a/.FAILSOFT/**"])
    (site.project / ".failsoft").mkdir()
    (site.project / ".failsoft/x.json").write_text("{}")
    site.begin(tool)
    for call in (
        ("read_file", {"path": ".failsoft/x.json"}),
        ("list_files", {"path": ".failsoft"}),
        ("write_file", {"path": ".failsoft/y.json", "content": "{}"}),
        ("write_file", {"path": "a/.FAILSOFT/x.json", "content": "{}"}),
        ("begin_session", {"workspace_root": str(site.project / ".failsoft"), "role": "WINDSURF"}),
    ):
        assert site.call(tool, *call)["error_code"] == "OUTSIDE_WORKSPACE", call
    assert site.call(tool, "list_files")["data"]["entries"] == []


# Waivers.


def test_a_plan_waives_a_rule_for_its_own_writes(site: Site) -> None:
    tool = site.tool(workspace_policies="generic,rust")
    approved(site, tool, files=["a.rs"])
    approved(site, tool, files=["b.rs"], waive=["unwrap"])
    site.begin(tool)
    refused = write(site, tool, "a.rs", "fn f() {\n    g().unwrap();\n}\n")
    assert refused["error_code"] == "RUST_POLICY_VIOLATION"
    (finding,) = refused["details"]["findings"]
    assert (finding["line"], finding["column"], finding["rule"], finding["policy"]) == (2, 9, "unwrap", "rust")
    allowed = write(site, tool, "b.rs", "fn f() {\n    g().unwrap();\n}\n")
    assert (allowed["success"], len(allowed["metadata"]["warnings"])) == (True, 1)
    assert write(site, tool, "c.rs", "unsafe fn f() {}")["error_code"] == "PLAN_SCOPE_VIOLATION"


def test_a_plan_that_waives_an_unknown_rule_is_refused(site: Site) -> None:
    tool = site.tool(workspace_policies="generic,rust")
    answer = submit(site, tool, site.begin(tool, "ANTIGRAVITY"), waive=["unwrapp"])
    assert answer["error_code"] == "PLAN_ENFORCEMENT_FAILED"
    assert (answer["violations"][0]["path"], answer["violations"][0]["suggestion"]) == ("waive.0", "unwrap")


# A server that is bound to one role.

ROLES = {"workspace_roles": "ANTIGRAVITY:read+plan+approve,REVIEW:approve,WINDSURF:read+write"}


def test_two_servers_share_plans_and_sessions_through_a_file_also_after_a_restart(site: Site, tmp_path: Path) -> None:
    def server(role: str | None = None) -> Workspace:
        return site.tool(state=LocalState(records=SqliteBackend(tmp_path / "s.sqlite")), workspace_role=role, **ROLES)

    planner, restarted, judge = server("ANTIGRAVITY"), server("ANTIGRAVITY"), server("REVIEW")
    author = site.begin(planner, "ANTIGRAVITY")
    plan_hash = submit(site, planner, author)["data"]["plan_hash"]
    params = {"plan_hash": plan_hash, "session_id": site.begin(restarted, "ANTIGRAVITY")}
    assert site.call(restarted, "approve_plan", params)["error_code"] == "UNAUTHORIZED_ACTION"
    params = {"plan_hash": plan_hash, "session_id": site.begin(judge, "REVIEW")}
    assert site.call(judge, "approve_plan", params)["data"]["approved"]
    worker = server("WINDSURF")
    session = site.begin(worker)
    again = server("WINDSURF")  # as after a restart: nothing is kept but the file
    params = {"path": "a.md", "content": "x", "session_id": session}
    assert site.call(again, "write_file", params)["success"]
    listed = site.call(again, "list_plans", {"session_id": session})["data"]["plans"]
    assert [(plan["plan_hash"], plan["approved"], plan["own"]) for plan in listed] == [(plan_hash, True, False)]
    for tool in (planner, restarted, judge, worker, again):
        asyncio.run(tool.runtime.state.close())


def test_a_bound_process_is_the_author_whatever_its_sessions(site: Site) -> None:
    state = LocalState()
    planner = site.tool(workspace_role="ANTIGRAVITY", state=state)
    first, second = site.begin(planner, "ANTIGRAVITY"), site.begin(planner, "ANTIGRAVITY")
    plan_hash = submit(site, planner, first)["data"]["plan_hash"]
    answer = site.call(planner, "approve_plan", {"plan_hash": plan_hash, "session_id": second})
    assert answer["error_code"] == "UNAUTHORIZED_ACTION"


@pytest.mark.parametrize("operation", ["approve_plan", "withdraw_plan", "write_failure_report", "end_session"])
def test_a_bound_process_takes_no_session_of_another_role(site: Site, tmp_path: Path, operation: str) -> None:
    state = LocalState(records=SqliteBackend(tmp_path / "s.sqlite"))
    planner, judge = (site.tool(state=state, workspace_role=role, **ROLES) for role in ("ANTIGRAVITY", "REVIEW"))
    theirs = site.begin(judge, "REVIEW")
    report = site.call(judge, "write_failure_report", {"title": "t", "body": "b", "session_id": theirs})["data"]
    own = site.begin(planner, "ANTIGRAVITY")
    plan_hash = submit(site, planner, own)["data"]["plan_hash"]
    read = site.call(planner, "read_file", {"path": report["path"], "session_id": own})["data"]["content"]
    assert theirs in read  # so the id of a session is no secret between the processes of one machine

    named = {"approve_plan": {"plan_hash": plan_hash}, "withdraw_plan": {"plan_hash": plan_hash}}
    more = named.get(operation, {"title": "t", "body": "b"} if operation == "write_failure_report" else {})
    answer = site.call(planner, operation, {**more, "session_id": theirs})
    assert (answer["error_code"], answer["effect"]) == ("UNAUTHORIZED_ACTION", "none")
    assert answer["next_step"]["arguments"]["role"] == "ANTIGRAVITY"
    (plan,) = site.call(planner, "list_plans", {"session_id": own})["data"]["plans"]
    assert not plan["approved"]
    asyncio.run(state.close())


def test_a_role_that_is_no_longer_granted_ends_with_the_restart_also_in_open_sessions(
    site: Site, tmp_path: Path
) -> None:
    state = LocalState(records=SqliteBackend(tmp_path / "s.sqlite"))

    def server(grants: str) -> Workspace:
        return site.tool(state=state, workspace_principals=grants)

    before, after = server("ada:ANTIGRAVITY,bob:ANTIGRAVITY"), server("ada:ANTIGRAVITY,bob:WINDSURF")
    ada, bob = (site.begin(before, "ANTIGRAVITY", principal=f"token:{name}") for name in ("ada", "bob"))
    plan = {"title": "Work", "files": ["**"], "session_id": ada}
    plan_hash = site.call(before, "submit_plan", plan, principal="token:ada")["data"]["plan_hash"]
    named = {"plan_hash": plan_hash, "session_id": bob}
    for operation, params in {"approve_plan": named, "list_plans": {"session_id": bob}}.items():
        assert site.call(after, operation, params, principal="token:bob")["error_code"] == "INSUFFICIENT_PERMISSIONS"
    assert site.call(before, "approve_plan", named, principal="token:bob")["data"]["approved"]
    asyncio.run(state.close())


def test_an_approver_withdraws_a_plan_though_its_role_may_not_plan(site: Site) -> None:
    tool = site.tool(**ROLES)
    author, approver = site.begin(tool, "ANTIGRAVITY"), site.begin(tool, "REVIEW")
    plan_hash = submit(site, tool, author)["data"]["plan_hash"]
    named = {"plan_hash": plan_hash, "session_id": approver}
    assert site.call(tool, "withdraw_plan", named)["error_code"] == "UNAUTHORIZED_ACTION"
    assert site.call(tool, "approve_plan", named)["success"]
    assert site.call(tool, "withdraw_plan", named)["data"]["withdrawn"]


def test_a_bound_process_offers_its_role_only(site: Site) -> None:
    tool = site.tool(workspace_role="ANTIGRAVITY")
    assert tool.operations["begin_session"].input_schema["properties"]["role"]["enum"] == ["ANTIGRAVITY"]
    answer = site.call(tool, "begin_session", {"workspace_root": str(site.project), "role": "WINDSURF"})
    assert (answer["error_code"], answer["violations"][0]["allowed"]) == ("INVALID_INPUT_VALUE", ["ANTIGRAVITY"])
    alone = site.call(tool, "write_file", {"path": "a.md", "content": "x"})
    assert (alone["error_code"], "next_step" in alone) == ("SESSION_NOT_INITIALIZED", False)


def test_what_one_server_says_of_its_folder_and_roles_is_not_said_by_another(site: Site, tmp_path: Path) -> None:
    site.tool(workspace_role="ANTIGRAVITY")
    (tmp_path / "other").mkdir()
    other = Workspace(tmp_path / "other", settings=Workspace.Settings())
    schemas = json.dumps([bound.input_schema for bound in other.operations.values()])
    assert (str(site.root) in schemas, str(tmp_path / "other") in schemas) == (False, True)
    role = other.operations["begin_session"].input_schema["properties"]["role"]
    assert role["enum"] == ["ANTIGRAVITY", "WINDSURF"]


def test_an_unknown_role_does_not_start(site: Site) -> None:
    with pytest.raises(ConfigurationError, match="NOBODY"):
        site.tool(workspace_role="NOBODY")
    command = [PYTHON, "-m", "failsoft", "serve", "workspace", "--root", str(site.root), "--role", "NOBODY"]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 4
    assert "NOBODY" in done.stderr


def test_the_roles_and_their_powers_are_in_the_schema_and_in_the_descriptions(tool: Workspace) -> None:
    role = tool.operations["begin_session"].input_schema["properties"]["role"]
    assert role["enum"] == ["ANTIGRAVITY", "WINDSURF"]
    assert "WINDSURF (may read and write)" in role["description"]
    for name, bound in tool.operations.items():
        power = tool.powers.get(name)
        assert (f"a role that may {power}:" in bound.description) is (power is not None), name


def test_a_workspace_that_is_refused_leads_to_the_folders_of_the_server(site: Site, tool: Workspace) -> None:
    relative, outside = (
        site.call(tool, "begin_session", {"workspace_root": path, "role": "WINDSURF"}) for path in (".", "/etc")
    )
    assert relative["violations"][0]["expected"] == "the absolute path of a folder of this server"
    assert outside["suggestions"] == [str(site.root)]


# Sessions that ended.


def test_a_session_that_ended_is_distinguished_from_one_that_never_was(site: Site, tool: Workspace) -> None:
    session = site.begin(tool)
    site.call(tool, "end_session", {"session_id": session})
    ended = site.call(tool, "read_file", {"path": "a.md", "session_id": session})
    never = site.call(tool, "submit_plan", {"title": "x", "files": ["*"], "session_id": "never"})
    assert {ended["error_code"], never["error_code"]} == {"SESSION_NOT_INITIALIZED"}
    assert "has ended" in ended["human_message"]
    assert "There is no session" in never["human_message"]
    assert ended["next_step"]["arguments"] == {"workspace_root": str(site.project), "role": "WINDSURF"}
    assert never["next_step"]["arguments"]["role"] == "ANTIGRAVITY"
    assert site.call(tool, ended["next_step"]["tool"], ended["next_step"]["arguments"])["success"]


def test_a_session_that_ended_cannot_end_again_and_no_other_is_begun_for_it(site: Site, tool: Workspace) -> None:
    session = site.begin(tool)
    site.call(tool, "end_session", {"session_id": session})
    for session_id in (session, "never"):
        answer = site.call(tool, "end_session", {"session_id": session_id})
        assert (answer["error_code"], answer.get("next_step")) == ("SESSION_NOT_INITIALIZED", None)


def test_a_session_that_expired_has_ended(site: Site) -> None:
    now = [1_000.0]
    tool = site.tool(state=LocalState(lambda: now[0]), workspace_session_s=60)
    session = site.begin(tool)
    now[0] += 61
    answer = site.call(tool, "list_files", {"session_id": session})
    assert (answer["error_code"], "has ended" in answer["human_message"]) == ("SESSION_NOT_INITIALIZED", True)


def test_after_the_root_was_replaced_following_the_next_steps_leads_to_a_new_session(
    site: Site, tool: Workspace
) -> None:
    site.begin(tool)
    site.project.rename(site.root / "aside")
    site.project.mkdir()
    (site.project / "a.md").write_text("x")
    wanted: tuple[str, dict[str, Any]] = ("read_file", {"path": "a.md"})
    steps: list[str] = []
    for _ in range(6):
        answer = site.call(tool, *wanted)
        if answer.get("success"):
            break
        step = answer["next_step"]
        steps.append(step["tool"])
        assert site.call(tool, step["tool"], step["arguments"])["success"], step
    assert answer["data"]["content"] == "x"
    assert steps == ["write_failure_report", "end_session", "begin_session"]
    assert len(list(Path(site.project / "docs/reports").iterdir())) == 1

"""Whose plan it is: nobody approves their own, only author and approver withdraw it, and nobody crowds it out."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.edit import Edit
from failsoft.tools.workspace import Workspace
from tests.doors import PLANS_AT_MOST, PLANS_PER_AUTHOR, open_risks, quota
from tests.tools.workspace.site import Site

ROLES = "LEAD:read+plan+approve,REVIEW:read+approve,WINDSURF:read+write"


def submit(site: Site, tool: Workspace, title: str) -> dict[str, Any]:
    """Submit a plan in the session begun last."""
    return site.call(tool, "submit_plan", {"title": title, "files": ["**"]})


def submitted(site: Site, tool: Workspace, session_id: str, title: str = "Work") -> str:
    """Return the hash of a new plan."""
    plan = {"title": title, "files": ["**"], "session_id": session_id}
    plan_hash: str = site.call(tool, "submit_plan", plan)["data"]["plan_hash"]
    return plan_hash


def test_a_second_session_in_the_authors_role_does_not_approve(site: Site) -> None:
    tool = site.tool(workspace_roles=ROLES)
    author, second = (site.begin(tool, "LEAD") for _ in range(2))
    plan_hash = submitted(site, tool, author)
    answer = site.call(tool, "approve_plan", {"plan_hash": plan_hash, "session_id": second})

    assert answer.get("error_code") in {"UNAUTHORIZED_ACTION", "APPROVAL_REQUIRED"}


def test_a_session_in_another_role_approves(site: Site) -> None:
    tool = site.tool(workspace_roles=ROLES)
    author, reviewer = site.begin(tool, "LEAD"), site.begin(tool, "REVIEW")
    answer = site.call(tool, "approve_plan", {"plan_hash": submitted(site, tool, author), "session_id": reviewer})

    assert answer["data"]["approved"]


def test_one_author_does_not_crowd_out_the_plans_of_others(site: Site, tool: Workspace) -> None:
    alice, bob = (site.begin(tool, "ANTIGRAVITY", principal=f"token:{name}") for name in ("alice", "bob"))
    plan = {"title": "Work", "files": ["**"], "session_id": alice}
    plan_hash = site.call(tool, "submit_plan", plan, principal="token:alice")["data"]["plan_hash"]

    async def submit_many() -> None:
        for number in range(200):
            many = {"title": f"Work {number}", "files": ["**"], "session_id": bob}
            await site.called(tool, "submit_plan", many, principal="token:bob")

    asyncio.run(submit_many())
    answer = site.call(tool, "list_plans", {"session_id": alice, "limit": 200}, principal="token:alice")

    assert plan_hash in [one["plan_hash"] for one in answer["data"]["plans"]]


def test_a_cursor_leads_to_the_other_plans(site: Site, tool: Workspace) -> None:
    session_id = site.begin(tool, "ANTIGRAVITY")
    hashes = {submitted(site, tool, session_id, f"Work {number}") for number in range(3)}
    first = site.call(tool, "list_plans", {"session_id": session_id, "limit": 2})["data"]
    assert first.get("next_cursor")
    rest = {"session_id": session_id, "limit": 2, "cursor": first["next_cursor"]}
    second = site.call(tool, "list_plans", rest)["data"]

    assert {plan["plan_hash"] for plan in (*first["plans"], *second["plans"])} == hashes


def test_plans_leave_nothing_untracked_in_a_git_work_tree(site: Site, tool: Workspace) -> None:
    make_work_tree(site.project)
    submitted(site, tool, site.begin(tool, "ANTIGRAVITY"))

    assert untracked(site.project) == []


def test_an_author_has_a_quota_of_plans_and_those_of_others_stay(site: Site, tool: Workspace) -> None:
    site.begin(tool, "ANTIGRAVITY")
    hashes = [submit(site, tool, f"Plan {number}")["data"]["plan_hash"] for number in range(PLANS_PER_AUTHOR)]
    refused = submit(site, tool, "One more")
    assert (refused["error_code"], refused["effect"]) == ("PLAN_ENFORCEMENT_FAILED", "none")
    assert submit(site, tool, "Plan 3")["success"]  # it is there already
    other = {"title": "One more", "files": ["**"], "session_id": site.begin(tool, "ANTIGRAVITY", principal="ada")}
    assert site.call(tool, "submit_plan", other, principal="ada")["success"]
    listed = site.call(tool, refused["next_step"]["tool"], {**refused["next_step"]["arguments"], "limit": 200})["data"]
    assert {plan["plan_hash"] for plan in listed["plans"]} > set(hashes)
    assert site.call(tool, "withdraw_plan", {"plan_hash": hashes[0]})["success"]
    assert submit(site, tool, "Another")["success"]


def test_junk_plans_of_ten_authors_leave_room_for_the_plans_of_another() -> None:
    def author(name: object) -> dict[str, str]:
        return {"author": f"principal token:{name}"}

    plans = {f"junk {number}": author(number // PLANS_PER_AUTHOR) for number in range(PLANS_AT_MOST)}
    assert quota(plans, "one more", author(3)["author"]) == "author"
    for number in range(5):
        assert quota(plans, f"work {number}", author("ada")["author"]) == "done"
        plans[f"work {number}"] = author("ada")
    assert quota(plans, "more work", author("ada")["author"]) == "workspace"


def test_callers_without_a_token_share_one_quota(site: Site, tool: Workspace) -> None:
    sessions = [site.begin(tool, "ANTIGRAVITY", principal=None) for _ in range(2)]

    async def submit_all() -> list[dict[str, Any]]:
        plans = [
            {"title": f"Plan {number}", "files": ["**"], "session_id": sessions[number % 2]}
            for number in range(PLANS_PER_AUTHOR + 2)
        ]
        return [await site.called(tool, "submit_plan", plan, principal=None) for plan in plans]

    codes = [answer.get("error_code") for answer in asyncio.run(submit_all())]
    assert codes == [None] * PLANS_PER_AUTHOR + ["PLAN_ENFORCEMENT_FAILED"] * 2
    site.begin(tool, "ANTIGRAVITY")
    assert submit(site, tool, "Of another author")["success"]


def test_submissions_at_once_do_not_exceed_the_quota(site: Site, tool: Workspace) -> None:
    session_id = site.begin(tool, "ANTIGRAVITY")

    async def submit_all() -> list[dict[str, Any]]:
        plan = {"files": ["**"], "session_id": session_id}
        plans = [{**plan, "title": f"Plan {number}"} for number in range(PLANS_PER_AUTHOR + 9)]
        return await asyncio.gather(*(site.called(tool, "submit_plan", plan) for plan in plans))

    answers = asyncio.run(submit_all())
    assert sum("error_code" not in answer for answer in answers) == PLANS_PER_AUTHOR
    assert site.call(tool, "list_plans", {"limit": 1})["data"]["total"] == PLANS_PER_AUTHOR


def test_roles_that_let_one_client_approve_are_a_risk_that_is_named(site: Site) -> None:
    assert [about for about, *_ in site.tool(workspace_roles=ROLES).open_risks()] == ["FAILSOFT_WORKSPACE_ROLES"]
    assert site.tool(workspace_roles=ROLES, workspace_role="LEAD").open_risks() == []
    assert site.tool().open_risks() == []


def test_a_toolset_that_writes_beside_it_without_a_plan_is_a_risk_that_is_named(site: Site) -> None:
    (site.root.parent / "state").mkdir()
    inside, elsewhere = Edit(site.project), Edit(site.root.parent / "state")
    tool = site.tool()
    assert [about for about, *_ in open_risks([inside, tool])] == [str(site.project)]
    assert "multi_edit" in next(open_risks([Edit(), tool]))[1]
    assert list(open_risks([elsewhere, tool])) == list(open_risks([inside])) == []


def test_a_role_that_may_not_is_led_to_one_that_the_caller_may_take(site: Site) -> None:
    tool = site.tool()
    site.begin(tool, "WINDSURF")
    step = submit(site, tool, "Work")["next_step"]
    assert (step["tool"], step["arguments"]["role"]) == ("begin_session", "ANTIGRAVITY")
    assert site.call(tool, step["tool"], step["arguments"])["success"]
    assert submit(site, tool, "Work")["success"]

    kept = site.begin(tool, "WINDSURF", principal="token:ada")
    plan = {"title": "Work", "files": ["**"], "session_id": kept}
    refused = site.call(tool, "submit_plan", plan, principal="token:ada")
    assert (refused["error_code"], refused["next_step"]["tool"]) == ("UNAUTHORIZED_ACTION", "list_plans")
    assert site.call(tool, "list_plans", refused["next_step"]["arguments"], principal="token:ada")["success"]
    granting = site.tool(workspace_principals="ada:WINDSURF+ANTIGRAVITY")
    plan["session_id"] = site.begin(granting, "WINDSURF", principal="token:ada")
    step = site.call(granting, "submit_plan", plan, principal="token:ada")["next_step"]
    assert (step["tool"], step["arguments"]["role"]) == ("begin_session", "ANTIGRAVITY")


def test_the_audit_log_is_not_untracked_in_a_git_work_tree(site: Site, tool: Workspace) -> None:
    make_work_tree(site.root)
    session_id = site.begin(tool, "ANTIGRAVITY", root=site.root)
    site.call(tool, "end_session", {"session_id": session_id})

    assert [path for path in untracked(site.root) if "audit" in path] == []


def test_a_link_in_the_place_of_the_exclusions_of_git_is_not_followed(site: Site, tool: Workspace) -> None:
    make_work_tree(site.root)
    exclude = site.root / ".git" / "info" / "exclude"
    outside = site.root.parent / "outside"
    outside.write_text("as it was")
    exclude.unlink(missing_ok=True)
    exclude.symlink_to(outside)
    site.begin(tool, "ANTIGRAVITY", root=site.root)

    assert outside.read_text() == "as it was"


def make_work_tree(folder: Path) -> None:
    """Make a folder a git work tree."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(folder)], check=True, capture_output=True)


def untracked(folder: Path) -> list[str]:
    """Return what git would add."""
    run = ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=all"]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()

"""What one author of plans can do to the plans of another."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.doors import CONTEXT_KEY
from tests.tools.workspace.site import REVIEWER, Site

KEY = "dev.failsoft/idempotency-key"
ADA, EVE, BOB = "token:ada", "token:eve", "token:bob"


def begun(site: Site, tool: Workspace, principal: str) -> str:
    return site.begin(tool, "ANTIGRAVITY", principal=principal)


def submitted(site: Site, tool: Workspace, session: str, principal: str) -> str:
    """Return the hash of a new plan."""
    plan = {"title": "Work", "files": ["*"], "session_id": session}
    plan_hash: str = site.call(tool, "submit_plan", plan, principal=principal)["data"]["plan_hash"]
    return plan_hash


@pytest.mark.parametrize("is_approved", [False, True])
def test_a_plan_is_withdrawn_by_its_author_or_approver_only(site: Site, tool: Workspace, is_approved: bool) -> None:
    author, other, approver = (begun(site, tool, principal) for principal in (ADA, EVE, BOB))
    plan_hash = submitted(site, tool, author, ADA)
    if is_approved:
        approval = {"plan_hash": plan_hash, "session_id": approver}
        if not site.call(tool, "approve_plan", approval, principal=BOB)["success"]:
            raise RuntimeError
    refused = site.call(tool, "withdraw_plan", {"plan_hash": plan_hash, "session_id": other}, principal=EVE)
    assert refused["error_code"] == "UNAUTHORIZED_ACTION"
    plans = site.call(tool, "list_plans", {"session_id": author}, principal=ADA)["data"]["plans"]
    assert [plan["plan_hash"] for plan in plans] == [plan_hash]


@pytest.mark.parametrize(("principal", "is_approved"), [(ADA, False), (ADA, True), (BOB, True)])
def test_author_and_approver_may_withdraw_a_plan(
    site: Site, tool: Workspace, principal: str, is_approved: bool
) -> None:
    sessions = {principal: begun(site, tool, principal) for principal in (ADA, BOB)}
    plan_hash = submitted(site, tool, sessions[ADA], ADA)
    if is_approved:
        approval = {"plan_hash": plan_hash, "session_id": sessions[BOB]}
        assert site.call(tool, "approve_plan", approval, principal=BOB)["success"]
    withdrawal = {"plan_hash": plan_hash, "session_id": sessions[principal]}
    assert site.call(tool, "withdraw_plan", withdrawal, principal=principal)["success"]


def test_what_was_approved_once_is_not_approved_again_by_a_repeated_call(site: Site, tool: Workspace) -> None:
    def approve() -> dict[str, Any]:
        named = {"plan_hash": plan_hash, "session_id": reviewer}
        return site.call(tool, "approve_plan", named, principal=REVIEWER, meta={KEY: "approval"})

    def write() -> dict[str, Any]:
        named = {"path": "a.md", "content": "x", "plan_hash": plan_hash, "session_id": writer}
        return site.call(tool, "write_file", named, meta={KEY: "write"})

    author, writer = site.begin(tool, "ANTIGRAVITY"), site.begin(tool)
    reviewer = site.begin(tool, "ANTIGRAVITY", principal=REVIEWER)
    plan = {"title": "Work", "files": ["a.md"], "session_id": author}
    plan_hash = site.call(tool, "submit_plan", plan)["data"]["plan_hash"]
    assert approve()["success"]
    assert write()["success"]
    (site.project / "a.md").unlink()
    assert site.call(tool, "withdraw_plan", {"plan_hash": plan_hash, "session_id": author})["success"]
    assert site.call(tool, "submit_plan", plan)["data"]["plan_hash"] == plan_hash

    assert approve()["success"]
    assert write()["success"]  # as is kept for the keys; neither is done again
    assert not (site.project / "a.md").exists()
    (listed,) = site.call(tool, "list_plans", {"session_id": author})["data"]["plans"]
    assert (listed["plan_hash"], listed["approved"]) == (plan_hash, False)


@pytest.mark.parametrize(
    "said", [{"approved": True}, {"approver": "person"}, {"principal": REVIEWER}, {"role": "LEAD"}]
)
def test_facts_that_a_caller_states_about_itself_approve_nothing(
    site: Site, tool: Workspace, said: dict[str, Any]
) -> None:
    author, writer = site.begin(tool, "ANTIGRAVITY"), site.begin(tool)
    plan = {"title": "Work", "files": ["a.md"], "session_id": author}
    plan_hash = site.call(tool, "submit_plan", plan)["data"]["plan_hash"]
    meta = {CONTEXT_KEY: {"plan_hash": plan_hash, **said}, **said}
    approval = site.call(tool, "approve_plan", {"plan_hash": plan_hash, "session_id": author}, meta=meta)
    assert approval["error_code"] == "UNAUTHORIZED_ACTION"
    write = {"path": "a.md", "content": "x", "session_id": writer}
    assert site.call(tool, "write_file", write, meta=meta)["error_code"] == "PLAN_NOT_APPROVED"

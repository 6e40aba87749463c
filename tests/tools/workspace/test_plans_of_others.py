"""What one author of plans can do to the plans of another."""

from __future__ import annotations

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site

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

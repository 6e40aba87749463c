"""More plans than a workspace lists, of one author."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.workspace.plans.test_plans_of_others import ADA, EVE, begun, submitted
from tests.tools.workspace.site import Site


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="200 junk plans of one author push the plans of all others out of the list; each author should have a "
    "quota of plans.",
)
def test_junk_plans_of_one_author_push_nobody_s_plan_out(tmp_path: Path) -> None:
    site = Site(tmp_path / "served")
    site.project.mkdir(parents=True)
    tool = site.tool()
    author, other = begun(site, tool, ADA), begun(site, tool, EVE)
    plan_hash = submitted(site, tool, author, ADA)
    for number in range(250):
        junk = {"title": f"junk {number}", "files": ["*"], "session_id": other}
        if not site.call(tool, "submit_plan", junk, principal=EVE)["success"]:
            break
    found: set[str] = set()
    more: dict[str, str] = {}
    while True:
        page = site.call(tool, "list_plans", {"session_id": author, **more}, principal=ADA)["data"]
        found |= {plan["plan_hash"] for plan in page["plans"]}
        if not (cursor := page.get("next_cursor")):
            break
        more = {"cursor": cursor}
    assert plan_hash in found

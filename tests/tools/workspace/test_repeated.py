"""Calls that are sent twice under one idempotency key: the rules of sessions hold for the second one, too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site

META = {"dev.failsoft/idempotency-key": "once"}


def write(site: Site, tool: Workspace, **more: Any) -> dict[str, Any]:
    return site.call(tool, "write_file", {"path": "a.md", "content": "x", **more}, meta=META)


@pytest.fixture
def worker(site: Site, tool: Workspace) -> str:
    """Return a session that has written once."""
    site.allow(tool)
    session = site.begin(tool)
    assert write(site, tool)["success"]
    return session


def test_a_repetition_is_answered_with_the_first_outcome_and_the_log_says_so(
    site: Site, tool: Workspace, worker: str
) -> None:
    assert write(site, tool)["data"]["created"]
    *_, first, again = [json.loads(line) for line in (site.root / "audit-log.jsonl").read_text().splitlines()]
    assert first["facts"]["created"]
    assert (again["event"], again["session_id"], again["facts"]) == ("success", worker, {"replayed": True})


def test_another_session_has_no_part_in_it(site: Site, tool: Workspace, worker: str) -> None:
    site.begin(tool, "ANTIGRAVITY")
    assert write(site, tool)["error_code"] == "UNAUTHORIZED_ACTION"
    site.begin(tool)
    assert write(site, tool)["error_code"] == "FILE_ALREADY_EXISTS"


@pytest.mark.parametrize("is_named", [False, True])
def test_nor_has_one_that_has_ended(site: Site, tool: Workspace, worker: str, is_named: bool) -> None:
    named = {"session_id": worker} if is_named else {}
    assert site.call(tool, "end_session", {"session_id": worker})["success"]
    assert write(site, tool, **named)["error_code"] == "SESSION_NOT_INITIALIZED"

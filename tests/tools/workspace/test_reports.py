"""Failure reports: where they go, what is in them, and that nothing else can be written through them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from failsoft import ConfigurationError
from failsoft.tools.workspace import Workspace
from tests.doors import report_name
from tests.tools.workspace.site import Site

NAME = re.compile(r"\d{8}T\d{6}Z-[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{8}\.md")


def report(site: Site, tool: Workspace, title: str = "It broke", body: str = "What I saw.", **more: Any) -> Any:
    return site.call(tool, "write_failure_report", {"title": title, "body": body, **more})


def head_of(file: Path) -> dict[str, Any]:
    _, head, _ = file.read_text().split("---\n", 2)
    facts: dict[str, Any] = yaml.safe_load(head)
    return facts


@pytest.mark.parametrize("role", ["ANTIGRAVITY", "WINDSURF"])
def test_any_session_may_report_without_a_power_and_without_a_plan(site: Site, tool: Workspace, role: str) -> None:
    session = site.begin(tool, role)
    data = report(site, tool, "Größe: 5 €", "# Seen\n\nNothing.")["data"]
    file = site.project / data["path"]
    assert file.parent == site.project / "docs/reports"
    assert NAME.fullmatch(file.name)
    assert (data["bytes"], data["error_id"], data["locked"]) == (file.stat().st_size, None, False)
    facts = head_of(file)
    assert (facts["title"], facts["session_id"], facts["role"]) == ("Größe: 5 €", session, role)
    assert (facts["error_id"], facts["invariant_id"], facts["violations"]) == (None, None, 0)
    assert file.read_text().endswith("# Größe: 5 €\n\n# Seen\n\nNothing.\n")


def test_a_role_without_any_power_may_report(site: Site) -> None:
    tool = site.tool(workspace_roles=("GUEST:read", "WINDSURF:read+write"))
    site.begin(tool, "GUEST")
    assert report(site, tool)["success"]


def test_without_a_session_nothing_is_written(site: Site, tool: Workspace) -> None:
    assert report(site, tool)["error_code"] == "SESSION_NOT_INITIALIZED"
    assert site.entries() == []


def test_reports_with_one_title_do_not_meet(site: Site, tool: Workspace) -> None:
    site.begin(tool)
    paths = {report(site, tool)["data"]["path"] for _ in range(5)}
    assert len(paths) == len(list((site.project / "docs/reports").iterdir())) == 5


@given(title=st.text(max_size=200))
def test_whatever_the_title_the_name_is_plain(title: str) -> None:
    name = report_name(title, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert NAME.fullmatch(name)
    assert name.startswith("20260102T030405Z-")
    assert len(name) < 100


@pytest.mark.parametrize(
    "title",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "a\nrole: ADMIN",
        '"\nrole: ADMIN\n---\n',
        "---",
        "{{x}}",
        "\u2028role: ADMIN",
        ".",
        "\U0001f600",
        "a\tb\x01c",
    ],
    ids=ascii,
)
def test_a_title_is_one_line_and_no_key_and_no_path(site: Site, tool: Workspace, title: str) -> None:
    session = site.begin(tool)
    answer = report(site, tool, title)
    file = site.project / answer["data"]["path"]
    assert file.parent == site.project / "docs/reports"
    facts = head_of(file)
    assert (facts["title"], facts["role"], facts["session_id"]) == (" ".join(title.split()), "WINDSURF", session)


@pytest.mark.parametrize("arguments", [{"title": ""}, {"body": ""}, {"title": "x" * 201}, {"body": "x" * 100_001}])
def test_a_report_is_bounded(site: Site, tool: Workspace, arguments: dict[str, str]) -> None:
    site.begin(tool)
    assert report(site, tool, **arguments)["error_code"] == "INVALID_INPUT_VALUE"
    assert site.entries() == []


def test_the_settings_say_where_reports_go(site: Site) -> None:
    tool = site.tool(workspace_reports="./records//failures/")
    site.begin(tool)
    assert report(site, tool)["data"]["path"].startswith("records/failures/2")


@pytest.mark.parametrize("folder", ["/reports", "..", "a/../b", "\0", "x" * 5_000])
def test_a_folder_that_is_not_within_keeps_the_server_from_starting(site: Site, folder: str) -> None:
    with pytest.raises(ConfigurationError):
        site.tool(workspace_reports=folder)


@pytest.mark.parametrize("place", ["docs", "docs/reports"])
@pytest.mark.parametrize("leads_to", ["outside", "within"])
def test_a_link_on_the_way_is_refused(site: Site, tool: Workspace, tmp_path: Path, place: str, leads_to: str) -> None:
    target = tmp_path / "outside" if leads_to == "outside" else site.project / "src"
    target.mkdir()
    link = site.project / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    site.begin(tool)
    answer = report(site, tool)
    assert (answer["error_code"], answer["effect"]) == ("OUTSIDE_WORKSPACE", "none")
    assert list(target.iterdir()) == []


def test_the_audit_log_cannot_be_reached_through_the_reports_folder(site: Site) -> None:
    tool = site.tool(workspace_reports="audit-log.jsonl.d")
    session = {"workspace_root": str(site.root), "role": "WINDSURF"}
    assert site.call(tool, "begin_session", session)["success"]
    assert report(site, tool)["error_code"] == "OUTSIDE_WORKSPACE"


def test_a_file_where_the_folder_should_be_is_reported(site: Site, tool: Workspace) -> None:
    (site.project / "docs").write_text("x")
    site.begin(tool)
    answer = report(site, tool)
    assert (answer["error_code"], answer["effect"]) == ("PATH_NOT_FOUND", "none")
    assert (site.project / "docs").read_text() == "x"

"""The invariants of a workspace: each is broken for real, and each is in the guide."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.doors import INVARIANTS, Transaction, Written, is_same_root
from tests.tools.workspace.site import Site

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs/toolsets/workspace.md"
SOURCE = ROOT / "src/failsoft/tools/workspace"
REPORT = {"title": "It broke", "body": "This is what I saw."}


def failure_of(answer: dict[str, Any]) -> tuple[Any, Any]:
    return answer.get("error_code"), answer.get("invariant_id")


@pytest.fixture
def working(site: Site, tool: Workspace) -> Workspace:
    """Return the toolset with a session that may write anything."""
    site.allow(tool, "**")
    site.begin(tool)
    return tool


def test_the_guide_has_every_invariant_in_the_words_of_the_code() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \|$", GUIDE.read_text(), re.MULTILINE)
    assert rows == [(one.id, one.holds, one.checked) for one in INVARIANTS.values()]


def test_every_invariant_is_checked_somewhere() -> None:
    code = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    checked = set(re.findall(r"violated\(\s*([A-Z_]+)", code))
    assert checked == set(INVARIANTS)


def swapped_for_a_folder(project: Path) -> None:
    project.rename(project.with_name("aside"))
    shutil.copytree(project.with_name("aside"), project)


def swapped_for_a_link(project: Path) -> None:
    project.rename(project.with_name("aside"))
    project.symlink_to(project.with_name("aside"))


def swapped_for_a_file(project: Path) -> None:
    project.rename(project.with_name("aside"))
    project.write_text("x")


def taken_away(project: Path) -> None:
    project.rename(project.with_name("aside"))


@pytest.mark.parametrize("swap", [swapped_for_a_folder, swapped_for_a_link, swapped_for_a_file, taken_away])
@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("read_file", {"path": "a.md"}),
        ("list_files", {}),
        ("write_file", {"path": "b.md", "content": "x"}),
        ("list_plans", {}),
    ],
)
def test_a_folder_put_in_place_of_the_workspace_is_noticed_before_anything_is_touched(
    site: Site, working: Workspace, swap: Any, operation: str, arguments: dict[str, Any]
) -> None:
    (site.project / "a.md").write_text("x")
    swap(site.project)
    answer = site.call(working, operation, arguments)
    assert failure_of(answer) == ("INVARIANT_VIOLATION", "WORKSPACE_ROOT_UNCHANGED")
    assert answer["effect"] == "none"
    assert not (site.root / "aside/b.md").exists()


def test_a_session_whose_folder_was_replaced_can_be_reported_on_and_ended(site: Site, working: Workspace) -> None:
    swapped_for_a_folder(site.project)
    site.call(working, "list_files")
    assert site.call(working, "write_failure_report", REPORT)["success"]
    assert failure_of(site.call(working, "list_files"))[0] == "INVARIANT_VIOLATION"
    assert site.call(working, "write_failure_report", REPORT)["success"]
    assert site.call(working, "end_session")["success"]
    site.begin(working)
    assert site.call(working, "list_files")["success"]


def test_a_folder_that_was_moved_and_put_back_is_the_same(site: Site, working: Workspace) -> None:
    site.project.rename(site.root / "aside")
    (site.root / "aside").rename(site.project)
    assert site.call(working, "list_files")["success"]


@pytest.mark.parametrize(
    ("noted", "now", "is_same"),
    [
        ("a/1/2", "a/1/2", True),
        ("a/1/2", "a/1/3", False),
        ("a/1/2", "a/9/2", False),
        ("a/1/2", "b/9/2", True),
        ("a/1/2", "b/9/3", False),
        ("a/1/2", "", False),
        ("", "", False),
        ("", "a/1/2", False),
    ],
)
def test_devices_are_compared_on_one_machine_only(noted: str, now: str, is_same: bool) -> None:
    assert is_same_root(noted, now) is is_same


def after_commit(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Have something happen to the file between the commit and the second look, while its lock is held."""
    commit = Transaction.commit

    def then(work: Transaction) -> list[Written]:
        written = commit(work)
        change(Path(work.real_path(written[0].path)))
        return written

    monkeypatch.setattr(Transaction, "commit", then)


def lying_disk(file: Path) -> None:
    """Hold other bytes than were written, as a faulty disk would: no other process touched the file."""
    facts = file.stat()
    with file.open("r+b") as stream:
        stream.write(b"X")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def other_writer(file: Path) -> None:
    file.with_name("new").write_text("somebody else's")
    file.with_name("new").replace(file)


def writer_in_place(file: Path) -> None:
    file.write_text("somebody else's, in place")


@pytest.mark.parametrize("is_new", [True, False])
def test_a_disk_that_does_not_hold_what_was_written_is_noticed(
    site: Site, working: Workspace, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    arguments: dict[str, Any] = {"path": "a.md", "content": "new text\n"}
    if not is_new:
        (site.project / "a.md").write_text("old text\n")
        arguments["expected_hash"] = site.call(working, "read_file", {"path": "a.md"})["data"]["sha256"]
    with monkeypatch.context() as patched:
        after_commit(patched, lying_disk)
        answer = site.call(working, "write_file", arguments)
    assert failure_of(answer) == ("INVARIANT_VIOLATION", "WRITTEN_IS_ON_DISK")
    assert answer["effect"] == "applied"
    assert failure_of(site.call(working, "read_file", {"path": "a.md"}))[0] == "SESSION_LOCKED"


@pytest.mark.parametrize("change", [other_writer, writer_in_place, Path.unlink])
def test_another_process_that_writes_right_after_is_no_false_alarm(
    site: Site, working: Workspace, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    with monkeypatch.context() as patched:
        after_commit(patched, change)
        answer = site.call(working, "write_file", {"path": "a.md", "content": "new text\n"})
    assert answer["success"]
    assert len(answer["metadata"]["warnings"]) == 1
    assert site.call(working, "list_files")["success"]


def test_a_write_that_is_as_it_should_be_says_nothing(site: Site, working: Workspace) -> None:
    for _ in range(2):  # the second changes nothing
        known = site.call(working, "read_file", {"path": "a.md"}).get("data", {}).get("sha256")
        expected = {} if known is None else {"expected_hash": known}
        answer = site.call(working, "write_file", {"path": "a.md", "content": "text\n", **expected})
        assert answer["success"]
        assert "warnings" not in answer.get("metadata", {})

"""`apply_patch`: patches of the files of a session, within its plan."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.doors import Transaction
from tests.tools.workspace.site import Site

CHANGE = "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
CREATION = "--- /dev/null\n+++ b/new/a.md\n@@ -0,0 +1 @@\n+one\n"


def hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def failure_of(answer: dict[str, Any]) -> tuple[Any, Any]:
    return answer.get("error_code"), answer.get("effect")


@pytest.fixture
def working(site: Site, tool: Workspace) -> Workspace:
    """Return the toolset with a session of the role that writes, a plan for all files, and a file."""
    (site.project / "a.md").write_bytes(b"one\ntwo\n")
    site.allow(tool)
    site.begin(tool)
    return tool


def patched(site: Site, tool: Workspace, path: str = "a.md", patch: str = CHANGE, **more: Any) -> dict[str, Any]:
    return site.call(tool, "apply_patch", {"path": path, "patch": patch, **more})


def test_a_patch_changes_the_file(site: Site, working: Workspace) -> None:
    done = patched(site, working, expected_hash=hashed(b"one\ntwo\n"))["data"]
    assert done == {"path": "a.md", "created": False, "bytes": 8, "sha256": hashed(b"one\nTWO\n")}
    assert (site.project / "a.md").read_bytes() == b"one\nTWO\n"


def test_bytes_that_the_patch_does_not_name_stay_as_they_are(site: Site, working: Workspace) -> None:
    (site.project / "a.md").write_bytes(b"\xff\r\n\r\none\r\n\xfe end")
    assert patched(site, working, patch="@@ -3 +3,2 @@\n-one\r\n+ONE\r\n+\u00fc\n")["success"]
    assert (site.project / "a.md").read_bytes() == b"\xff\r\n\r\nONE\r\n\xc3\xbc\n\xfe end"


def test_a_patch_from_nothing_makes_the_file_and_its_folders(site: Site, working: Workspace) -> None:
    done = patched(site, working, "new/a.md", CREATION)["data"]
    assert (done["created"], (site.project / "new/a.md").read_bytes()) == (True, b"one\n")
    again = patched(site, working, "new/a.md", CREATION)
    assert failure_of(again) == ("FILE_ALREADY_EXISTS", "none")
    known = patched(site, working, "new/a.md", CREATION, expected_hash=hashed(b"one\n"))
    assert failure_of(known) == ("PATCH_INVALID", "none")


def test_the_header_may_name_the_file_as_the_call_does(site: Site, working: Workspace) -> None:
    absolute = f"{site.project}/a.md"
    assert patched(site, working, absolute, f"--- {absolute}\n+++ {absolute}\n{CHANGE}")["success"]
    assert failure_of(patched(site, working, patch=f"--- a/b.md\n+++ b/b.md\n{CHANGE}")) == ("PATCH_INVALID", "none")


FAULTS: list[tuple[str, str, dict[str, Any], str]] = [
    ("a.md", "@@ -1 +1 @@\n-zero\n+ONE\n", {}, "PATCH_APPLY_FAILED"),
    ("a.md", "@@ -2,0 +3 @@\n+three\n", {}, "PATCH_APPLY_FAILED"),
    ("a.md", "one\n", {}, "PATCH_INVALID"),
    ("a.md", "", {}, "INVALID_INPUT_VALUE"),
    ("a.md", "@@ -1 +1 @@\n-one\n+\ud800\n", {}, "INVALID_INPUT_FORMAT"),
    ("a.md", CHANGE, {"expected_hash": "0" * 64}, "HASH_MISMATCH"),
    ("a.md", CHANGE, {"expected_hash": "0"}, "INVALID_INPUT_FORMAT"),
    ("gone.md", CHANGE, {}, "FILE_NOT_FOUND"),
    ("folder", CHANGE, {}, "INVALID_PATH"),
    ("folder/", CREATION.replace("new/a.md", "folder"), {}, "INVALID_PATH"),
    ("../a.md", CHANGE, {}, "PATH_TRAVERSAL_BLOCKED"),
    ("/etc/passwd", CHANGE, {}, "OUTSIDE_WORKSPACE"),
    ("a.md/b", CREATION.replace("new/a.md", "a.md/b"), {}, "PATH_NOT_FOUND"),
]


def test_every_condition_has_its_code_and_changes_nothing(site: Site, working: Workspace) -> None:
    (site.project / "folder").mkdir()
    for path, patch, more, code in FAULTS:
        assert failure_of(patched(site, working, path, patch, **more)) == (code, "none"), (path, patch, more)
        assert [file.name for file in site.entries()] == ["a.md", "folder"]
        assert (site.project / "a.md").read_bytes() == b"one\ntwo\n"


def test_what_does_not_fit_is_shown_to_the_caller_and_not_logged(site: Site, working: Workspace) -> None:
    answer = patched(site, working, patch="@@ -1,2 +1,2 @@\n one\n-private words\n+TWO\n")
    assert answer["error_code"] == "PATCH_APPLY_FAILED"
    assert any("private words" in text for text in answer["suggestions"])
    assert any("two" in text for text in answer["suggestions"])
    step = answer["next_step"]
    assert site.call(working, step["tool"], step["arguments"])["data"]["content"] == "one\ntwo\n"
    assert "private" not in (site.root / "audit-log.jsonl").read_text()


def test_a_file_that_changes_meanwhile_is_not_written(
    site: Site, working: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Transaction.commit

    def late(work: Transaction) -> Any:
        (site.project / "a.md").write_bytes(b"one\ntwo\nthree\n")
        return commit(work)

    monkeypatch.setattr(Transaction, "commit", late)
    assert failure_of(patched(site, working)) == ("HASH_MISMATCH", "none")
    assert (site.project / "a.md").read_bytes() == b"one\ntwo\nthree\n"


def test_of_a_result_above_the_limit_nothing_is_written(site: Site) -> None:
    tool = site.tool(workspace_max_file_bytes=9)
    (site.project / "a.md").write_bytes(b"one\ntwo\n")
    site.allow(tool)
    site.begin(tool)
    assert failure_of(patched(site, tool, patch=CHANGE.replace("+TWO", "+TWELVE"))) == ("FILE_TOO_LARGE", "none")
    assert failure_of(patched(site, tool, "new/b.md", CREATION.replace("a.md", "b.md").replace("one", "x" * 9))) == (
        "FILE_TOO_LARGE",
        "none",
    )
    assert [file.name for file in site.entries()] == ["a.md"]


def test_what_was_patched_is_on_record_without_its_content(site: Site, working: Workspace) -> None:
    patched(site, working)
    entry = json.loads((site.root / "audit-log.jsonl").read_text().splitlines()[-1])
    assert entry["facts"] == {"path": "a.md", "created": False, "sha256": hashed(b"one\nTWO\n")}
    assert len(entry["plan_hash"]) == 64


def test_a_patch_outside_the_plan_learns_nothing_of_the_file(site: Site, tool: Workspace, tmp_path: Path) -> None:
    (site.project / "b.md").write_text("secret\n")
    site.allow(tool, "a.md")
    site.begin(tool)
    for patch in (CHANGE, "nonsense", CREATION):
        answer = patched(site, tool, "b.md", patch)
        assert failure_of(answer) == ("PLAN_SCOPE_VIOLATION", "none")
        assert "secret" not in json.dumps(answer)

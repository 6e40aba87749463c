"""The files of a session: read, listed and written, within its workspace and its role."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.docs.hostile_paths import MISSING, REFUSED
from tests.tools.workspace.site import Site

PLANNER, WORKER = "ANTIGRAVITY", "WINDSURF"


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(site: Site, tool: Workspace, path: str, content: str = "x\n", **more: Any) -> dict[str, Any]:
    return site.call(tool, "write_file", {"path": path, "content": content, **more})


def read(site: Site, tool: Workspace, path: str, **more: Any) -> dict[str, Any]:
    return site.call(tool, "read_file", {"path": path, **more})


def failure_of(answer: dict[str, Any]) -> tuple[Any, Any]:
    return answer.get("error_code"), answer.get("effect")


@pytest.fixture
def working(site: Site, tool: Workspace) -> Workspace:
    """Return the toolset with a session of the role that writes, and a plan for all files."""
    site.allow(tool)
    site.begin(tool)
    return tool


def test_what_is_written_is_read_again(site: Site, working: Workspace) -> None:
    text = "# Grüße\n"
    made = write(site, working, "docs/new/a.md", text)["data"]
    assert made == {"path": "docs/new/a.md", "created": True, "bytes": 10, "sha256": hashed(text)}
    found = read(site, working, "docs/new/a.md")["data"]
    assert found == {"path": "docs/new/a.md", "content": text, "bytes": 10, "sha256": hashed(text)}
    assert read(site, working, f"{site.project}/docs/new/a.md")["data"]["content"] == text


def test_a_file_is_replaced_only_by_who_has_read_it(site: Site, working: Workspace) -> None:
    file = site.project / "a.md"
    file.write_text("one")
    blind = write(site, working, "a.md", "two")
    assert failure_of(blind) == ("FILE_ALREADY_EXISTS", "none")
    stale = write(site, working, "a.md", "two", expected_hash=hashed("zero"))
    assert failure_of(stale) == ("HASH_MISMATCH", "none")
    assert "dry run" not in stale["human_message"]  # there is none in this toolset
    for answer in (blind, stale):
        step = answer["next_step"]
        seen = site.call(working, step["tool"], step["arguments"])["data"]
        assert seen["content"] == "one"
    done = write(site, working, "a.md", "two", expected_hash=seen["sha256"])
    assert (done["data"]["created"], file.read_text()) == (False, "two")


def test_without_a_session_nothing_is_touched(site: Site, tool: Workspace) -> None:
    (site.project / "a.md").write_text("one")
    assert failure_of(read(site, tool, "a.md")) == ("SESSION_NOT_INITIALIZED", "none")
    assert failure_of(site.call(tool, "list_files")) == ("SESSION_NOT_INITIALIZED", "none")
    assert failure_of(write(site, tool, "b.md")) == ("SESSION_NOT_INITIALIZED", "none")
    assert [file.name for file in site.entries()] == ["a.md"]


def test_the_role_that_plans_does_not_write(site: Site, tool: Workspace) -> None:
    (site.project / "a.md").write_text("one")
    session = site.begin(tool, PLANNER)
    assert read(site, tool, "a.md")["data"]["content"] == "one"
    answer = write(site, tool, "b.md", session_id=session)
    assert failure_of(answer) == ("UNAUTHORIZED_ACTION", "none")
    assert (answer["role"], answer["session_id"], answer["workspace_root"]) == (PLANNER, session, str(site.project))
    assert not (site.project / "b.md").exists()


def test_a_role_without_a_power_neither_reads_nor_lists(site: Site) -> None:
    tool = site.tool(workspace_roles=("SCRIBE:write",))
    site.begin(tool, "SCRIBE")
    assert failure_of(read(site, tool, "a.md")) == ("UNAUTHORIZED_ACTION", "none")
    assert failure_of(site.call(tool, "list_files")) == ("UNAUTHORIZED_ACTION", "none")


def test_a_folder_is_listed(site: Site, working: Workspace) -> None:
    (site.project / "src").mkdir()
    (site.project / "a.md").write_text("one")
    (site.project / "link").symlink_to("/etc")
    os.mkfifo(site.project / "pipe")
    listed = site.call(working, "list_files")["data"]
    assert [(one["name"], one["kind"], one["bytes"]) for one in listed["entries"]] == [
        ("a.md", "file", 3),
        ("link", "link", 0),
        ("pipe", "other", 0),
        ("src", "folder", 0),
    ]
    assert (listed["path"], listed["total"]) == (".", 4)
    assert site.call(working, "list_files", {"path": "src"})["data"]["entries"] == []


def test_a_long_list_says_that_it_is_cut(site: Site, working: Workspace) -> None:
    for number in range(1_001):
        (site.project / f"{number:04}").touch()
    answer = site.call(working, "list_files")
    assert (len(answer["data"]["entries"]), answer["data"]["total"]) == (1_000, 1_001)
    assert answer["data"]["next_cursor"] == "0999"


FAULTS = [
    ("read_file", "gone.md", "FILE_NOT_FOUND"),
    ("read_file", "gone/a.md", "FILE_NOT_FOUND"),
    ("read_file", "file/a.md", "PATH_NOT_FOUND"),
    ("read_file", "folder", "INVALID_PATH"),
    ("read_file", "", "INVALID_PATH"),
    ("read_file", "a\0b", "INVALID_PATH"),
    ("read_file", "x" * 300, "INVALID_PATH"),
    ("read_file", "../twin/a.md", "PATH_TRAVERSAL_BLOCKED"),
    ("read_file", "out/a.md", "OUTSIDE_WORKSPACE"),
    ("read_file", "/etc/passwd", "OUTSIDE_WORKSPACE"),
    ("read_file", "loop", "FILE_READ_FAILED"),
    ("read_file", "binary", "INVALID_ENCODING"),
    ("list_files", "gone", "PATH_NOT_FOUND"),
    ("list_files", "file", "INVALID_PATH"),
    ("list_files", "pipe", "INVALID_PATH"),
    ("list_files", "out", "OUTSIDE_WORKSPACE"),
    ("list_files", "/", "OUTSIDE_WORKSPACE"),
    ("list_files", "..", "PATH_TRAVERSAL_BLOCKED"),
    ("list_files", "loop", "FILE_READ_FAILED"),
    ("write_file", "folder", "INVALID_PATH"),
    ("write_file", ".", "INVALID_PATH"),
    ("write_file", "new/", "INVALID_PATH"),
    ("write_file", "file/a.md", "PATH_NOT_FOUND"),
    ("write_file", "new/../a.md", "PATH_TRAVERSAL_BLOCKED"),
    ("write_file", "out/new/a.md", "OUTSIDE_WORKSPACE"),
    ("write_file", "loop", "FILE_WRITE_FAILED"),
    ("write_file", "new/" + "x" * 300, "INVALID_PATH"),
]


def test_every_condition_has_its_code_and_changes_nothing(site: Site, working: Workspace) -> None:
    (site.project / "file").write_text("x")
    (site.project / "folder").mkdir()
    (site.project / "binary").write_bytes(b"\xff\xfe")
    (site.root / "twin").mkdir()
    (site.project / "out").symlink_to("../twin")
    (site.project / "loop").symlink_to("loop")
    os.mkfifo(site.project / "pipe")
    before = sorted(path.name for path in site.root.rglob("*") if not path.name.startswith("audit-log"))
    for operation, path, code in FAULTS:
        params = {"path": path} | ({"content": "x"} if operation == "write_file" else {})
        assert failure_of(site.call(working, operation, params)) == (code, "none"), (operation, path)
    assert sorted(path.name for path in site.root.rglob("*") if not path.name.startswith("audit-log")) == before


def test_a_folder_that_is_read_as_a_file_leads_to_its_list(site: Site, working: Workspace) -> None:
    (site.project / "folder").mkdir()
    step = site.call(working, "read_file", {"path": "folder/"})["next_step"]
    assert site.call(working, step["tool"], step["arguments"])["data"]["entries"] == []


def test_a_misspelt_folder_leads_to_the_only_similar_one(site: Site, working: Workspace) -> None:
    (site.project / "source").mkdir()
    answer = site.call(working, "list_files", {"path": "sources"})
    assert answer["suggestions"] == ["source"]
    step = answer["next_step"]
    assert step["arguments"]["path"] == "source"
    assert site.call(working, step["tool"], step["arguments"])["data"]["entries"] == []


def test_a_neighbor_of_the_workspace_is_outside_whether_or_not_it_exists(site: Site, working: Workspace) -> None:
    (site.root / "other").mkdir()
    (site.root / "other/a.md").write_text("x")
    (site.root / "projector").write_text("x")
    for path in ("other/a.md", "other/gone.md", "gone/a.md", "projector"):
        assert failure_of(read(site, working, f"{site.root}/{path}"))[0] == "OUTSIDE_WORKSPACE", path


def test_a_workspace_that_was_swapped_for_a_link_leads_nowhere(site: Site, working: Workspace) -> None:
    (site.root / "other").mkdir()
    (site.root / "other/a.md").write_text("x")
    site.project.rename(site.root / "aside")
    site.project.symlink_to(site.root / "other")
    assert failure_of(read(site, working, "a.md")) == ("INVARIANT_VIOLATION", "none")
    assert failure_of(write(site, working, "b.md")) == ("SESSION_LOCKED", "none")
    assert failure_of(site.call(working, "list_files")) == ("SESSION_LOCKED", "none")
    assert not (site.root / "other/b.md").exists()


def test_no_hostile_path_reads_or_makes_anything_outside(site: Site, working: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")

    async def run() -> list[str]:
        paths = (*REFUSED, *MISSING)
        was_read = [
            ascii(path) for path in paths if "success" in await site.called(working, "read_file", {"path": path})
        ]
        for path in paths:
            await site.called(working, "write_file", {"path": path, "content": "x\n"})
        return was_read

    assert asyncio.run(run()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"secret.md", "served", "state"}
    assert (tmp_path / "secret.md").read_text() == "secret"
    assert {path.name for path in site.root.iterdir()} == {"project", "audit-log.jsonl"}


def test_a_path_that_lacks_too_many_folders_makes_none(site: Site, working: Workspace) -> None:
    assert failure_of(write(site, working, "a/" * 33 + "b.md")) == ("INVALID_PATH", "none")
    assert site.entries() == []
    assert failure_of(write(site, working, "a/" * 32 + "b.md")) == (None, None)


@pytest.mark.parametrize(
    "name", ["audit-log.jsonl", "audit-log.jsonl.head", "audit-log.jsonl.000000000001", "Audit-Log.jsonl"]
)
def test_no_tool_reaches_the_audit_log(site: Site, tool: Workspace, name: str) -> None:
    site.allow(tool, "*", name, root=site.root)
    site.begin(tool, root=site.root)
    before = (site.root / "audit-log.jsonl").read_bytes()
    assert failure_of(read(site, tool, name)) == ("OUTSIDE_WORKSPACE", "none")
    assert failure_of(write(site, tool, name)) == ("OUTSIDE_WORKSPACE", "none")
    assert [one["name"] for one in site.call(tool, "list_files")["data"]["entries"]] == ["project"]
    assert (site.root / "audit-log.jsonl").read_bytes().startswith(before)


def test_a_file_above_the_limit_is_neither_read_nor_written(site: Site) -> None:
    tool = site.tool(workspace_max_file_bytes=3)
    site.allow(tool)
    site.begin(tool)
    (site.project / "long").write_text("four")
    assert failure_of(read(site, tool, "long")) == ("FILE_TOO_LARGE", "none")
    assert failure_of(write(site, tool, "new/b", "four")) == ("FILE_TOO_LARGE", "none")
    assert failure_of(write(site, tool, "new/b", "one")) == (None, None)


def test_a_file_with_another_name_is_neither_read_nor_replaced_unless_the_settings_say_so(site: Site) -> None:
    (site.root / "elsewhere.md").write_text("one")
    os.link(site.root / "elsewhere.md", site.project / "a.md")
    strict, lenient = site.tool(), site.tool(workspace_hard_links=True)
    for tool in (strict, lenient):
        site.allow(tool)
        site.begin(tool)
    assert failure_of(read(site, strict, "a.md")) == ("OUTSIDE_WORKSPACE", "none")
    assert failure_of(write(site, strict, "a.md", "two", expected_hash=hashed("one"))) == ("OUTSIDE_WORKSPACE", "none")
    assert read(site, lenient, "a.md")["data"]["content"] == "one"
    assert write(site, lenient, "a.md", "two", expected_hash=hashed("one"))["success"]
    assert read(site, strict, "a.md")["data"]["content"] == "two"
    assert (site.root / "elsewhere.md").read_text() == "one"


def test_a_replaced_file_has_to_exist(site: Site, working: Workspace) -> None:
    assert failure_of(write(site, working, "gone.md", expected_hash=hashed(""))) == ("FILE_NOT_FOUND", "none")


def test_what_was_written_is_on_record_without_its_content(site: Site, working: Workspace) -> None:
    write(site, working, "a.md", "confidential words")
    log = (site.root / "audit-log.jsonl").read_text()
    entry = json.loads(log.splitlines()[-1])
    assert (entry["event"], entry["operation"], entry["role"]) == ("success", "write_file", WORKER)
    assert entry["facts"] == {"path": "a.md", "created": True, "sha256": hashed("confidential words")}
    assert "confidential" not in log


LONG = "".join(f"line {number} of a long file\n" for number in range(1, 40_001))


def test_a_file_too_large_for_one_answer_is_read_line_by_line_as_the_next_step_says(
    site: Site, working: Workspace
) -> None:
    (site.project / "long.txt").write_text(LONG)
    answer = read(site, working, "long.txt", session_id=site.begin(working))
    assert answer["error_code"] == "RESULT_TOO_LARGE"
    arguments, parts = answer["next_step"]["arguments"], []
    while True:
        data = site.call(working, "read_file", arguments)["data"]
        assert (data["sha256"], data["total_lines"]) == (hashed(LONG), 40_000)
        parts.append(data["content"])
        if "next_line" not in data:
            break
        arguments = {**arguments, "first_line": data["next_line"]}
    assert "".join(parts) == LONG
    assert len(parts) > 1


@pytest.mark.parametrize(
    ("asked", "content", "next_line"),
    [
        ({"line_limit": 2}, "a\nb\r\n", 3),
        ({"first_line": 2, "line_limit": 1}, "b\r\n", 3),
        ({"first_line": 3}, "c\x0cd", None),
        ({"first_line": 4}, "", None),
    ],
)
def test_lines_are_returned_as_they_stand(
    site: Site, working: Workspace, asked: dict[str, int], content: str, next_line: int | None
) -> None:
    (site.project / "few.txt").write_bytes(b"a\nb\r\nc\x0cd")
    data = read(site, working, "few.txt", **asked)["data"]
    assert (data["content"], data.get("next_line"), data["total_lines"]) == (content, next_line, 3)


def test_a_line_too_large_for_any_answer_is_stepped_over(site: Site, working: Workspace) -> None:
    (site.project / "wide.txt").write_text("x" * 700_000 + "\nend\n")
    answer = read(site, working, "wide.txt")
    assert (answer["error_code"], answer["next_step"]["arguments"]["line_limit"]) == ("RESULT_TOO_LARGE", 1)
    answer = site.call(working, "read_file", answer["next_step"]["arguments"])
    assert answer["error_code"] == "RESULT_TOO_LARGE"
    assert site.call(working, "read_file", answer["next_step"]["arguments"])["data"]["content"] == "end\n"


def test_what_a_patch_expected_and_found_is_sent_as_it_is(site: Site, working: Workspace) -> None:
    (site.project / "lexer.py").write_text('password = "hunter2"\ntoken = "sk-proj-abcdefghijklmnop1234"\n')
    patch = '@@ -1,2 +1,2 @@\n-password = "hunter3"\n+password = "hunter4"\n token = "sk-proj-abcdefghijklmnop1234"\n'
    answer = site.call(working, "apply_patch", {"path": "lexer.py", "patch": patch})
    assert answer["error_code"] == "PATCH_APPLY_FAILED"
    shown = json.dumps(answer)
    assert "hunter2" in shown
    assert "hunter3" in shown
    assert "<redacted>" not in shown

"""The edit toolset on real files: what is written, kept and reported, and what is safe to send twice."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft import ConfigurationError, configure_logging
from failsoft.tools.edit import Edit
from tests.tools.edit.desk import Desk, change
from tests.zygote import PYTHON

TEXT = "one\ntwo\nthree\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_success_says_what_became_of_the_file(desk: Desk) -> None:
    file = desk.file()
    wire = desk.edit(file, change("two", "2"), change("e", "E", replace_all=True))
    assert file.read_text() == "onE\n2\nthrEE\n"
    assert wire.pop("message")
    assert wire == {
        "success": True,
        "file_path": str(file),
        "dry_run": False,
        "edits_applied": 2,
        "edits": [{"edit_index": 0, "occurrences_replaced": 1}, {"edit_index": 1, "occurrences_replaced": 3}],
        "replacements": 4,
        "bytes_before": 14,
        "bytes_after": 12,
        "sha256": digest(b"onE\n2\nthrEE\n"),
        "sha256_before": digest(TEXT.encode()),
    }


def test_several_files_have_one_such_entry_each(desk: Desk) -> None:
    one, two = desk.file("one"), desk.file("two")
    wire = desk.edit_files((two, [change("two", "2")]), (one, [change("o", "0", replace_all=True)]))
    assert (one.read_text(), two.read_text()) == ("0ne\ntw0\nthree\n", "one\n2\nthree\n")
    assert (wire["success"], wire["edits_applied"], wire["replacements"]) == (True, 2, 3)
    assert [(entry["success"], entry["file_path"], entry["replacements"]) for entry in wire["files"]] == [
        (True, str(two), 1),
        (True, str(one), 2),
    ]
    assert [entry["sha256"] for entry in wire["files"]] == [digest(two.read_bytes()), digest(one.read_bytes())]


def test_a_dry_run_shows_the_diff_and_writes_nothing(desk: Desk) -> None:
    file = desk.file()
    before = file.stat()
    wire = desk.edit(file, change("two", "2"), dry_run=True, backup=True)
    assert wire["diff"] == f"--- {file}\n+++ {file}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert (wire["sha256"], wire["sha256_before"]) == (digest(b"one\n2\nthree\n"), digest(TEXT.encode()))
    assert "backup_path" not in wire
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert [path.name for path in desk.root.iterdir()] == ["a.txt"]


def test_a_dry_run_fails_as_the_call_would(desk: Desk) -> None:
    file = desk.file()
    assert desk.edit(file, change("four", "4"), dry_run=True)["error_code"] == "MATCH_NOT_FOUND"


def test_a_diff_that_is_too_long_is_cut_and_says_so(desk: Desk) -> None:
    file = desk.file(content="line\n" * 5_000)
    wire = desk.edit(
        file, change("line", "LINE", replace_all=True), dry_run=True, tool=desk.tool(edit_max_diff_bytes=1_000)
    )
    assert 900 < len(wire["diff"].encode()) <= 1_000
    assert wire["diff"].endswith("\n")
    assert len(wire["metadata"]["warnings"]) == 1


def test_a_backup_never_takes_an_older_ones_place(desk: Desk) -> None:
    file = desk.file()
    first = desk.edit(file, change("two", "2"), backup=True)
    second = desk.edit(file, change("three", "3"), backup=True)
    assert first["backup_path"] == f"{file}.bak"
    assert Path(first["backup_path"]).read_text() == TEXT
    assert second["backup_path"] != first["backup_path"]
    assert Path(second["backup_path"]).read_text() == "one\n2\nthree\n"


def test_an_edit_that_changes_nothing_is_not_written(desk: Desk) -> None:
    file = desk.file()
    before = file.stat()
    wire = desk.edit(file, change("two", "two"), backup=True)
    assert (wire["success"], wire["replacements"]) == (True, 0)
    assert wire["edits"] == [{"edit_index": 0, "occurrences_replaced": 0}]
    assert "backup_path" not in wire
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\ntwo\r\nb\r\n", b"a\r\n2\r\n2\r\nb\r\n"),
        (b"\xef\xbb\xbfa\r\ntwo\r\n", b"\xef\xbb\xbfa\r\n2\r\n2\r\n"),
        (b"\xef\xbb\xbftwo", b"\xef\xbb\xbf2\n2"),
        (b"a\r\ntwo\nb\n", b"a\r\n2\n2\nb\n"),
        ("ä\u2028two\x00".encode(), "ä\u20282\n2\x00".encode()),
    ],
)
def test_endings_and_byte_order_mark_stay(desk: Desk, before: bytes, after: bytes) -> None:
    file = desk.file(content=before)
    assert desk.edit(file, change("two", "2\n2"))["success"]
    assert file.read_bytes() == after


def test_the_new_content_is_returned_on_request(desk: Desk) -> None:
    one, two = desk.file("one"), desk.file("two", b"a\r\ntwo\r\n")
    assert "content" not in desk.edit(one, change("one", "1"))
    wire = desk.edit(one, change("two", "2"), include_content=True, dry_run=True)
    assert (wire["dry_run"], wire["content"]) == (True, "1\n2\nthree\n")
    wire = desk.edit_files((one, [change("two", "2")]), (two, [change("a\ntwo", "2\n3")]), include_content=True)
    assert [entry["content"] for entry in wire["files"]] == ["1\n2\nthree\n", "2\r\n3\r\n"]
    assert two.read_bytes() == b"2\r\n3\r\n"


def test_a_content_that_is_too_long_for_the_answer_is_left_out_with_a_warning(desk: Desk) -> None:
    file = desk.file(content="two" + "\n" * 600_000)
    wire = desk.edit(file, change("two", "2"), include_content=True)
    assert wire["success"]
    assert "content" not in wire
    assert len(wire["metadata"]["warnings"]) == 1


def test_every_failure_of_a_batch_is_reported_with_its_file(desk: Desk) -> None:
    one, two = desk.file("one"), desk.file("two", b"\xe4")
    gone, also_gone = desk.root / "gone" / "a.txt", desk.root / "tow"
    wire = desk.edit_files(
        (gone, [change("a", "b")]),
        (one, [change("two", "2"), change("four", "4"), change("three", "3"), change("five", "5")]),
        (two, [change("a", "b")]),
        (also_gone, [change("a", "b")]),
    )
    assert (wire["error_code"], wire["file_index"], wire["effect"]) == ("FILE_NOT_FOUND", 0, "none")
    assert wire["context"]["failures"] == [
        {"file_index": 0, "file_path": str(gone), "error_code": "FILE_NOT_FOUND"},
        {"file_index": 1, "file_path": str(one), "error_code": "MATCH_NOT_FOUND", "edit_index": 1},
        {"file_index": 1, "file_path": str(one), "error_code": "MATCH_NOT_FOUND", "edit_index": 3},
        {"file_index": 2, "file_path": str(two), "error_code": "INVALID_ENCODING"},
        {"file_index": 3, "file_path": str(also_gone), "error_code": "FILE_NOT_FOUND"},
    ]
    assert [(item["file_index"], item["edit_index"], item["status"]) for item in wire["edit_status"]] == [
        (1, 1, "failed"),
        (1, 2, "skipped"),
        (1, 3, "skipped"),
    ]
    assert all(json.dumps(str(path)) in wire["message"] for path in (gone, one, two, also_gone))
    assert one.read_text() == TEXT


def test_a_later_edit_that_a_failed_one_may_have_enabled_is_not_called_a_failure(desk: Desk) -> None:
    wire = desk.edit(desk.file(), change("four", "4\nfive"), change("five", "5"), change("one", "1"))
    assert (wire["edit_index"], "failures" in wire.get("context", {})) == (0, False)


def test_a_missing_file_is_named_with_the_closest_ones(desk: Desk) -> None:
    menu = desk.file("menu.txt")
    wire = desk.edit(desk.root / "meu.txt", change("a", "b"))
    assert (wire["error_code"], wire["retryable"]) == ("FILE_NOT_FOUND", True)
    assert str(menu) in wire["recovery_hints"]
    assert json.dumps(str(menu)) in wire["message"]


def test_a_refusal_outside_the_root_names_the_root(desk: Desk, tmp_path: Path) -> None:
    message = desk.edit(tmp_path / "x.txt", change("a", "b"))["message"]
    assert json.dumps(str(desk.root)) in message
    assert "Nothing was changed." in message


def test_the_folder_of_the_server_is_closed_at_any_depth(desk: Desk) -> None:
    file = desk.file("a/.failsoft/plans/x.json", "two")
    assert desk.edit(file, change("two", "2"))["error_code"] == "PERMISSION_DENIED"
    assert file.read_text() == "two"


@pytest.mark.parametrize("edit", [{"a": 1}, change("one", "1"), None])
def test_more_edits_than_a_call_may_have_are_refused_in_few_words(desk: Desk, edit: Any) -> None:
    edits = [edit or change(f"<{number}>", "x") for number in range(20_000)]
    wire = desk.call("multi_edit", {"file_path": str(desk.file()), "edits": edits})
    assert wire["error_code"] == "VALIDATION_FAILED"
    assert len(json.dumps(wire)) < 2_000
    assert edit == {"a": 1} or [fault["path"] for fault in wire["violations"]] == ["edits"]


def test_mode_and_link_stay(desk: Desk) -> None:
    file = desk.file()
    file.chmod(0o640)
    link = desk.root / "link"
    link.symlink_to(file.name)
    assert desk.edit(link, change("two", "2"))["success"]
    assert link.is_symlink()
    assert file.read_text() == "one\n2\nthree\n"
    assert file.stat().st_mode & 0o777 == 0o640


def test_all_or_none_of_the_edits_of_a_file(desk: Desk) -> None:
    file = desk.file()
    wire = desk.edit(file, change("one", "1"), change("four", "4"), change("three", "3"), change("x" * 50, "y"))
    assert file.read_text() == TEXT
    assert (wire["error_code"], wire["edit_index"], wire["effect"]) == ("MATCH_NOT_FOUND", 1, "none")
    assert [(one["edit_index"], one["status"], one["old_string_preview"]) for one in wire["edit_status"]] == [
        (1, "failed", "four"),
        (2, "skipped", "three"),
        (3, "skipped", "x" * 40),
    ]
    assert wire["edit_status"][0]["error_code"] == "MATCH_NOT_FOUND"


def test_all_or_none_of_the_files_of_a_call(desk: Desk) -> None:
    one, two, three = desk.file("one"), desk.file("two"), desk.file("three")
    edits = [change("two", "2")]
    wire = desk.edit_files((one, edits), (two, [change("o", "0")]), (three, edits), backup=True)
    assert (wire["error_code"], wire["file_index"], wire["file_path"]) == ("AMBIGUOUS_MATCH", 1, str(two))
    assert [location["line"] for location in wire["context"]["match_locations"]] == [1, 2]
    assert {path.name: path.read_text() for path in desk.root.iterdir()} == {"one": TEXT, "two": TEXT, "three": TEXT}


def test_one_file_under_two_names_is_refused(desk: Desk) -> None:
    file = desk.file()
    (desk.root / "link").symlink_to(file)
    for other in (file, desk.root / "link", f"{desk.root}/./a.txt"):
        wire = desk.edit_files((file, [change("one", "1")]), (other, [change("two", "2")]))
        assert (wire["error_code"], wire["file_index"]) == ("VALIDATION_FAILED", 1)
        assert wire["violations"][0]["path"] == "files.1.file_path"
    assert file.read_text() == TEXT


# Sent twice.


def test_with_the_hash_a_batch_that_is_sent_twice_is_applied_once(desk: Desk) -> None:
    file = desk.file()
    batch = {"expected_hash": digest(TEXT.encode()).upper()}
    assert desk.edit(file, change("two", "two\ntwo and a half"), **batch)["success"]
    wire = desk.edit(file, change("two", "two\ntwo and a half"), **batch)
    assert (wire["error_code"], wire["retryable"], wire["effect"]) == ("HASH_MISMATCH", True, "none")
    assert wire["context"]["actual_hash"] == digest(file.read_bytes())
    assert file.read_text() == "one\ntwo\ntwo and a half\nthree\n"


def test_with_an_idempotency_key_the_second_call_gets_the_first_answer(desk: Desk) -> None:
    file = desk.file()
    tool = desk.tool()
    params = {"file_path": str(file), "edits": [change("two", "two\ntwo and a half")]}
    meta = {"dev.failsoft/idempotency-key": "once"}
    first, second = (desk.call("multi_edit", params, tool=tool, meta=meta, principal="local") for _ in range(2))
    assert first["success"]
    assert second["sha256"] == first["sha256"]
    assert file.read_text() == "one\ntwo\ntwo and a half\nthree\n"


def test_the_hash_of_an_answer_fits_the_next_call(desk: Desk) -> None:
    file = desk.file()
    first = desk.edit(file, change("two", "2"))
    assert desk.edit(file, change("three", "3"), expected_hash=first["sha256"])["success"]


def test_after_a_mismatch_the_next_step_shows_the_state_and_can_be_taken_as_it_is(desk: Desk) -> None:
    file = desk.file()
    wire = desk.edit(file, change("two", "2"), expected_hash="0" * 64, backup=True)
    step = wire["next_step"]
    assert step["arguments"]["dry_run"] is True
    look = desk.call(step["tool"], step["arguments"])
    assert (look["success"], look["sha256_before"]) == (True, digest(TEXT.encode()))
    assert file.read_text() == TEXT


def test_one_mismatch_among_several_files_stops_all_of_them(desk: Desk) -> None:
    one, two = desk.file("one"), desk.file("two")
    edits = [change("two", "2")]
    files = [
        {"file_path": str(one), "edits": edits, "expected_hash": digest(TEXT.encode())},
        {"file_path": str(two), "edits": edits, "expected_hash": "f" * 64},
    ]
    wire = desk.call("multi_edit_files", {"files": files})
    assert (wire["error_code"], wire["file_index"]) == ("HASH_MISMATCH", 1)
    step = wire["next_step"]["arguments"]
    assert [set(file) for file in step["files"]] == [{"file_path", "edits"}] * 2
    assert one.read_text() == two.read_text() == TEXT


# Limits.


def test_too_many_edits(desk: Desk) -> None:
    tool = desk.tool(edit_max_edits=2)
    file, other = desk.file(), desk.file("b.txt")
    edits = [change("one", "1"), change("two", "2")]
    assert desk.edit(file, *edits, tool=tool)["success"]
    wire = desk.edit_files((file, [change("three", "3")]), (other, edits), tool=tool)
    assert (wire["error_code"], wire["retryable"]) == ("VALIDATION_FAILED", True)
    assert [(fault["path"], fault["reason"]) for fault in wire["violations"]] == [("files.1.edits", "length")]
    assert "at most 2 edits" in wire["violations"][0]["expected"]
    assert other.read_text() == TEXT


@pytest.mark.parametrize("new", ["2", "2" * 30])
def test_a_file_may_be_too_large_before_and_after(desk: Desk, new: str) -> None:
    file = desk.file(content=TEXT if len(new) > 1 else TEXT * 2)
    wire = desk.edit(
        file,
        change("two\nthree\n" * (2 // len(new) or 1), new, replace_all=True),
        tool=desk.tool(edit_max_file_bytes=20),
    )
    assert (wire["error_code"], wire["retryable"], wire["effect"]) == ("FILE_TOO_LARGE", False, "none")
    assert wire["context"]["limit_bytes"] == 20


def test_a_lock_that_is_not_given_back_in_time(desk: Desk) -> None:
    file = desk.file()
    with desk.tool().files.transaction([str(file)]):
        wire = desk.edit(file, change("two", "2"), tool=desk.tool(edit_lock_timeout_s=0.05))
    assert (wire["error_code"], wire["retryable"], wire["effect"]) == ("LOCK_TIMEOUT", True, "none")
    assert wire["next_step"] == {
        "tool": "multi_edit",
        "arguments": {"file_path": str(file), "edits": [change("two", "2")]},
    }
    assert desk.call(wire["next_step"]["tool"], wire["next_step"]["arguments"])["success"]


# What is said of the effect.


def test_a_call_that_ran_out_of_time_before_it_wrote_never_writes(desk: Desk) -> None:
    file = desk.file()
    holder = desk.tool()
    with holder.files.transaction([str(file)]):
        wire = desk.edit(file, change("two", "2"), tool=desk.tool(default_timeout_s=0.2))
        assert (wire["error_code"], wire["effect"]) == ("DEADLINE_EXCEEDED", "unknown")
    with holder.files.transaction([str(file)], wait_s=30):
        pass  # the lock is free, so every call that waited for it had it or gave up
    assert file.read_text() == TEXT


@pytest.mark.parametrize(("hashed", "advice"), [(True, True), (False, False)])
def test_a_call_of_unknown_effect_may_be_repeated_only_with_the_hash(desk: Desk, hashed: bool, advice: bool) -> None:
    file = desk.file()
    more = {"expected_hash": digest(TEXT.encode())} if hashed else {}
    with desk.tool().files.transaction([str(file)]):
        wire = desk.edit(file, change("two", "2"), tool=desk.tool(default_timeout_s=0.2), **more)
    assert (wire["error_code"], wire["retryable"]) == ("DEADLINE_EXCEEDED", advice)


def test_a_dry_run_has_no_effect_whatever_happens_to_it(desk: Desk) -> None:
    file = desk.file()
    with desk.tool().files.transaction([str(file)]):
        wire = desk.edit(file, change("two", "2"), dry_run=True, tool=desk.tool(default_timeout_s=0.2))
    assert (wire["error_code"], wire["effect"], wire["retryable"]) == ("DEADLINE_EXCEEDED", "none", True)


def test_concurrent_edits_of_one_file_are_all_kept(desk: Desk) -> None:
    file = desk.file(content="".join(f"<{number}>\n" for number in range(40)))
    tool = desk.tool()

    async def run() -> list[Any]:
        calls = [
            tool.multi_edit(file_path=str(file), edits=[change(f"<{number}>", f"[{number}]")])  # type: ignore[list-item]
            for number in range(20)
        ]
        return await asyncio.gather(*calls)

    assert all(response.success for response in asyncio.run(run()))
    assert file.read_text() == "".join(f"[{number}]\n" if number < 20 else f"<{number}>\n" for number in range(40))


# Roots, and what is not disclosed.


def test_nothing_outside_the_roots_is_touched(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(TEXT)
    (desk.root / "link").symlink_to(outside)
    for path in (outside, desk.root / "link"):
        wire = desk.edit(path, change("two", "2"))
        assert (wire["error_code"], wire["retryable"], wire["file_path"]) == ("PERMISSION_DENIED", False, str(path))
    assert outside.read_text() == TEXT


def test_several_roots_may_be_given(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text(TEXT)
    tool = Edit([desk.root, other], state_folder=desk.state)
    wire = desk.edit_files((desk.file(), [change("two", "2")]), (other / "b.txt", [change("two", "2")]), tool=tool)
    assert wire["success"]


def test_without_a_root_every_absolute_path_goes(desk: Desk) -> None:
    assert desk.edit(desk.file(), change("two", "2"), tool=Edit(state_folder=desk.state))["success"]


@pytest.mark.parametrize("path", ["/proc/self/environ", "/sys/kernel/uevent_helper"])
def test_the_kernels_own_files_are_never_edited_nor_shown(desk: Desk, path: str) -> None:
    wire = desk.edit(path, change("PATH", "x"), tool=Edit(state_folder=desk.state))
    assert (wire["error_code"], "context" in wire) == ("PERMISSION_DENIED", False)


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        Edit(tmp_path / "gone")


def test_what_files_and_edits_hold_is_never_logged(desk: Desk) -> None:
    stream = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=stream)
    try:
        file = desk.file(content="canary of the file\ncanary of the file\n")
        for old in ("canary of the edit", "canary of the file"):
            wire = desk.edit(file, change(old, "canary of the text"), tool=desk.tool(environment="development"))
            assert "canary" in json.dumps(wire["context"])
            assert "canary" not in json.dumps(wire["details"])
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {line.get("code") for line in lines} >= {"MATCH_NOT_FOUND", "AMBIGUOUS_MATCH"}
    assert "canary" not in stream.getvalue()


def test_the_toolset_says_that_it_may_overwrite_and_may_not_be_repeated(edit: Edit) -> None:
    for bound in edit.operations.values():
        assert bound.annotations == {"destructiveHint": True, "idempotentHint": False, "openWorldHint": False} | {
            "readOnlyHint": False
        }


CRASHES = """
import asyncio, os, sys
from pathlib import Path
from failsoft.tools.edit import Edit

from tests.tools.files.faulty_system import watched

left = [2]

def interfere(number, name, call, arguments):
    left[0] -= name == "rename"
    if not left[0]:
        os._exit(9)

root, state, *paths = sys.argv[1:]
edits = [{"old_string": "two", "new_string": "2"}]
call = Edit(Path(root), state_folder=Path(state)).multi_edit_files
with watched(interfere):
    asyncio.run(call(files=[{"file_path": path, "edits": edits} for path in paths]))
"""


def test_what_a_crash_left_half_done_is_taken_up_at_the_start(desk: Desk) -> None:
    files = [desk.file(f"{number}.txt") for number in range(3)]
    command = [PYTHON, "-c", CRASHES, str(desk.root), str(desk.state), *map(str, files)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 9
    assert len({file.read_text() for file in files}) == 2  # some are new, some are old
    stream = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=stream)
    try:
        asyncio.run(desk.tool().startup())
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert [json.loads(line)["outcome"] for line in stream.getvalue().splitlines() if "outcome" in line] == ["forward"]
    assert len({file.read_text() for file in files}) == 1
    assert sorted(path.name for path in desk.root.iterdir()) == ["0.txt", "1.txt", "2.txt"]


def test_what_an_agent_has_to_copy_is_sent_as_it_is(desk: Desk) -> None:
    text = 'if token == "(":\n    password = "hunter2"\n    api_key: "sk-proj-abcdefghijklmnop1234"\n'
    answer = desk.edit(desk.file("lexer.py", text), change('if token = "("', ""))
    shown = json.dumps(answer["context"])
    assert "<redacted>" not in shown
    assert all(json.dumps(line)[1:-1] in shown for line in text.splitlines())

"""What callers of multi-edit servers in other languages rely on, as calls on real files: none of it is worse here.

The rows restate the behavior that the tests of such a server hold, without its internals: matching and counting,
refusals, batches, text of all kinds, and what an answer says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.edit.desk import Desk, change

LARGE = "\n".join(f"line {number}: {'x' * 50}" for number in range(20_000))
LONG = "A" * 49_000 + "MARKER" + "B" * 50_994
EDITED = {
    "one match": ("hello world", [change("world", "there")], "hello there", [1]),
    "a match at the beginning": ("hello world", [change("hello", "goodbye")], "goodbye world", [1]),
    "every match": ("foo bar foo", [change("foo", "baz", replace_all=True)], "baz bar baz", [2]),
    "three matches": ("aaa bbb aaa ccc aaa", [change("aaa", "xxx", replace_all=True)], "xxx bbb xxx ccc xxx", [3]),
    "matches on two lines": ("l1\nl2\nl1", [change("l1", "new", replace_all=True)], "new\nl2\nnew", [2]),
    "overlapping places, all": ("aaa", [change("aa", "b", replace_all=True)], "ba", [1]),
    "removed text": ("hello world", [change("world", "")], "hello ", [1]),
    "an emptied file": ("delete me", [change("delete me", "")], "", [1]),
    "two independent edits": ("aaa bbb ccc", [change("aaa", "x"), change("bbb", "y")], "x y ccc", [1, 1]),
    "an edit of what the one before wrote": (
        "hello world",
        [change("world", "there"), change("there", "you")],
        "hello you",
        [1, 1],
    ),
    "an old_string within another's new_string": (
        "foo",
        [change("foo", "foobar"), change("bar", "baz")],
        "foobaz",
        [1, 1],
    ),
    "an old_string within another": ("foobar foo", [change("foobar", "y"), change("foo", "x")], "y x", [1, 1]),
    "nothing to change": ("hello", [change("hello", "hello")], "hello", [0]),
    "Chinese and Japanese": ("Hello, 世界!", [change("世界", "こんにちは")], "Hello, こんにちは!", [1]),
    "emoji": ('"🚀 launch"', [change("🚀 launch", "🌟 star")], '"🌟 star"', [1]),
    "accents": ("café naïve résumé", [change("café", "coffee")], "coffee naïve résumé", [1]),
    "tabs and blanks": ("line1\n\ttabbed\n  spaced\n", [change("\ttabbed", "\tnew")], "line1\n\tnew\n  spaced\n", [1]),
    "several lines at once": ("a\nb\nc\n", [change("a\nb", "x\ny\nz")], "x\ny\nz\nc\n", [1]),
    "CRLF": ("line1\r\nline2\r\nline3", [change("line2", "new")], "line1\r\nnew\r\nline3", [1]),
    "mixed line ends": ("unix\nmixed\r\nfile", [change("mixed", "changed")], "unix\nchanged\r\nfile", [1]),
    "more than a megabyte": (
        LARGE,
        [change("line 10000:", "LINE 10000:")],
        LARGE.replace("line 10000:", "LINE 10000:"),
        [1],
    ),
    "a line of 100,000 characters": (LONG, [change("MARKER", "REPLACED")], LONG.replace("MARKER", "REPLACED"), [1]),
    "characters of patterns": ("a.b*c", [change("a.b*c", "$1\\n&")], "$1\\n&", [1]),
    "no newline at the end": ("x", [change("x", "y\n")], "y\n", [1]),
}
REFUSED = {
    "no match": ([change("xyz", "abc")], "MATCH_NOT_FOUND", 0),
    "another case": ([change("FOO BAR", "x")], "MATCH_NOT_FOUND", 0),
    "two matches": ([change("foo", "x")], "AMBIGUOUS_MATCH", 0),
    "the second edit": ([change("bar", "x"), change("none", "y")], "MATCH_NOT_FOUND", 1),
    "an edit that an earlier one makes impossible": (
        [change("bar", "x"), change("bar foo", "y")],
        "MATCH_NOT_FOUND",
        1,
    ),
    "the first of two": ([change("none", "a"), change("bar", "b")], "MATCH_NOT_FOUND", 0),
    "no edits": ([], "EMPTY_EDITS", None),
    "an empty old_string": ([change("", "x")], "EMPTY_OLD_STRING", 0),
    "the same old_string twice": ([change("foo", "a"), change("foo", "b")], "DUPLICATE_OLD_STRING", 1),
    "the same old_string three times": ([change("bar", c) for c in "abc"], "DUPLICATE_OLD_STRING", 1),
    "no new_string": ([{"old_string": "bar"}], "VALIDATION_FAILED", 0),
    "a number for text": ([change("bar", 5)], "VALIDATION_FAILED", 0),  # type: ignore[arg-type]  # what a caller may send
    "no list": ("bar", "VALIDATION_FAILED", None),
}
CONTENT = "foo bar foo\n"


@pytest.mark.parametrize("case", EDITED)
def test_text_is_edited_byte_by_byte(desk: Desk, case: str) -> None:
    before, edits, after, counts = EDITED[case]
    file = desk.file(content=before)
    answer = desk.edit(file, *edits)
    assert (answer["success"], answer["edits_applied"], answer["dry_run"]) == (True, len(edits), False)
    assert [edit["occurrences_replaced"] for edit in answer["edits"]] == counts
    assert file.read_bytes() == after.encode()
    assert [path.name for path in desk.root.iterdir()] == [file.name]


@pytest.mark.parametrize("case", EDITED)
def test_a_dry_run_says_the_same_and_leaves_the_file(desk: Desk, case: str) -> None:
    before, edits, after, counts = EDITED[case]
    file = desk.file(content=before)
    answer = desk.edit(file, *edits, dry_run=True, include_content=True)
    fits = len(after) < 1_000_000  # what does not fit into an answer is left out, with a warning
    assert (answer.get("content"), answer["dry_run"]) == (after if fits else None, True)
    assert [edit["occurrences_replaced"] for edit in answer["edits"]] == counts
    assert bool(answer["diff"]) is (before != after)
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_the_code_and_the_edit_and_leaves_the_file(desk: Desk, case: str, several: bool) -> None:
    edits, code, index = REFUSED[case]
    file = desk.file(content=CONTENT)
    arguments: dict[str, Any] = {"file_path": str(file), "edits": edits}
    call = ("multi_edit_files", {"files": [arguments]}) if several else ("multi_edit", arguments)
    answer = desk.call(*call)
    assert (answer["success"], answer["error_code"], answer["retryable"]) == (False, code, True)
    assert (answer.get("edit_index"), answer["effect"]) == (index, "none")
    assert all(isinstance(hint, str) and hint for hint in answer["recovery_hints"])
    assert answer["recovery_hints"]
    assert file.read_text() == CONTENT


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("file.ts", "RELATIVE_PATH"),
        ("./file.ts", "RELATIVE_PATH"),
        ("../file.ts", "RELATIVE_PATH"),
        ("{root}/../etc/passwd", "PATH_TRAVERSAL"),
        ("{root}/none.ts", "FILE_NOT_FOUND"),
        ("{root}/none/none.ts", "FILE_NOT_FOUND"),
        ("", "RELATIVE_PATH"),
        (123, "VALIDATION_FAILED"),
        ("/", "PERMISSION_DENIED"),
    ],
)
def test_a_path_that_cannot_be_edited(desk: Desk, path: Any, code: str) -> None:
    given = path.format(root=desk.root) if isinstance(path, str) else path
    answer = desk.call("multi_edit", {"file_path": given, "edits": [change("a", "b")]})
    assert (answer["error_code"], bool(answer["recovery_hints"])) == (code, True), answer
    batch = desk.call("multi_edit_files", {"files": [{"file_path": given, "edits": [change("a", "b")]}]})
    assert batch["error_code"] == code


@pytest.mark.parametrize("missing", ["file_path", "edits", "files"])
def test_a_call_without_an_argument_names_it(desk: Desk, missing: str) -> None:
    arguments = {"file_path": str(desk.file()), "edits": [change("one", "1")]}
    name = "multi_edit_files" if missing == "files" else "multi_edit"
    answer = desk.call(
        name, {key: value for key, value in arguments.items() if key != missing and name == "multi_edit"}
    )
    assert answer["error_code"] == "VALIDATION_FAILED"
    assert [(fault["path"], fault["reason"]) for fault in answer["violations"]] == [(missing, "missing")]


def test_a_name_with_blanks_is_a_name(desk: Desk) -> None:
    file = desk.file("file with spaces.txt", "hello")
    assert desk.edit(file, change("hello", "goodbye"))["success"]
    assert file.read_text() == "goodbye"


def test_lines_of_ambiguous_matches_are_counted_from_1_and_five_are_shown(desk: Desk) -> None:
    answer = desk.edit(desk.file(content="foo\nbar\nfoo"), change("foo", "x"))
    assert [place["line"] for place in answer["context"]["match_locations"]] == [1, 3]
    many = desk.edit(desk.file(content="match\n" * 7), change("match", "x"))
    assert [place["line"] for place in many["context"]["match_locations"]] == [1, 2, 3, 4, 5]
    assert "7" in many["message"] + str(many["context"].get("snippet", ""))


@pytest.mark.parametrize("sought", ["UNIQUE_MARKER_ABCDEF and more", "UNIQUE_MAR", "UNIQUE_MARKER_ABCDEX", "zzz"])
def test_a_miss_shows_the_text_around_the_longest_beginning_that_matches(desk: Desk, sought: str) -> None:
    lines = [f"row {number}" for number in range(1, 40)]
    lines[29] = "UNIQUE_MARKER_ABCDEF found here"
    answer = desk.edit(desk.file(content="\n".join(lines)), change(f"{sought} plus", "x"))
    assert ("UNIQUE_MARKER" in answer["context"]["snippet"]) is (sought != "zzz")
    assert 10 <= len(answer["context"]["snippet"].splitlines()) <= 15


def test_the_status_of_edits_lists_the_failed_and_the_skipped_with_forty_characters(desk: Desk) -> None:
    edits = [change("one", "1"), change("x" * 60, "y"), change("two", "2")]
    status = desk.edit(desk.file(), *edits)["edit_status"]
    assert [(item["edit_index"], item["status"]) for item in status] == [(1, "failed"), (2, "skipped")]
    assert (status[0]["old_string_preview"], status[0]["error_code"]) == ("x" * 40, "MATCH_NOT_FOUND")


def test_backup_and_content_are_given_on_request_only(desk: Desk) -> None:
    plain = desk.edit(desk.file(), change("two", "2"))
    assert plain.keys().isdisjoint({"backup_path", "content", "diff"})
    file = desk.file("b.txt")
    asked = desk.edit(file, change("two", "2"), backup=True, include_content=True)
    assert asked["content"] == file.read_text() == "one\n2\nthree\n"
    assert Path(asked["backup_path"]).read_text() == "one\ntwo\nthree\n"
    assert asked["backup_path"] == f"{file}.bak"


# Several files.


def test_several_files_are_edited_in_one_call_with_their_sums(desk: Desk) -> None:
    first, second = desk.file("1.txt", "你好世界"), desk.file("2.txt", "🚀 launch 🚀")
    answer = desk.edit_files((first, [change("你好", "こんにちは")]), (second, [change("🚀", "🌟", replace_all=True)]))
    assert (first.read_text(), second.read_text()) == ("こんにちは世界", "🌟 launch 🌟")
    assert (len(answer["files"]), answer["edits_applied"], answer["replacements"]) == (2, 2, 3)


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("fault", ["no match", "gone", "binary", "folder"])
def test_one_bad_file_among_three_leaves_all_of_them_and_their_folder(desk: Desk, fault: str, failing: int) -> None:
    files = [desk.file(f"{name}.txt", name) for name in ("alpha", "beta", "gamma")]
    edits = [[change(path.stem, path.stem.upper())] for path in files]
    bad = files[failing]
    code = {"no match": "MATCH_NOT_FOUND", "gone": "FILE_NOT_FOUND", "binary": "INVALID_ENCODING"}.get(fault)
    if fault == "no match":
        edits[failing] = [change("nothing", "x")]
    elif fault == "binary":
        bad.write_bytes(b"\xff\xfe" + bad.stem.encode())
    else:
        bad.unlink()
        if fault == "folder":
            bad.mkdir()
    before = {path: path.read_bytes() for path in files if path.is_file()}
    answer = desk.edit_files(*zip(files, edits, strict=True), backup=True)
    assert (answer["file_index"], answer["file_path"], answer["effect"]) == (failing, str(bad), "none"), answer
    assert answer["error_code"] == code or fault == "folder"
    assert {path: path.read_bytes() for path in files if path.is_file()} == before
    assert not list(desk.root.glob("*.bak"))


def test_all_faults_of_a_batch_are_reported_at_once(desk: Desk) -> None:
    one, two = desk.file("1.txt", "aaa bbb aaa"), desk.file("2.txt", "ok")
    gone = desk.root / "gone.txt"
    answer = desk.edit_files((one, [change("aaa", "x")]), (gone, [change("a", "b")]), (two, [change("no", "x")]))
    assert [(item["file_index"], item["error_code"]) for item in answer["context"]["failures"]] == [
        (0, "AMBIGUOUS_MATCH"),
        (1, "FILE_NOT_FOUND"),
        (2, "MATCH_NOT_FOUND"),
    ]


def test_one_file_twice_is_refused_also_through_a_link(desk: Desk) -> None:
    file = desk.file()
    link = desk.root / "link.txt"
    link.symlink_to(file)
    for again in (file, link):
        answer = desk.edit_files((file, [change("one", "1")]), (again, [change("two", "2")]))
        assert (answer["success"], answer["file_index"]) == (False, 1)
    assert file.read_text() == "one\ntwo\nthree\n"


def test_faults_of_two_paths_of_a_batch_are_both_listed(desk: Desk) -> None:
    answer = desk.call(
        "multi_edit_files",
        {
            "files": [
                {"file_path": "relative.ts", "edits": [change("a", "b")]},
                {"file_path": str(desk.file()), "edits": [change("a", "b"), change("", "c")]},
            ]
        },
    )
    assert answer["error_code"] == "RELATIVE_PATH"
    assert [fault["path"] for fault in answer["violations"]] == ["files.0.file_path", "files.1.edits.1.old_string"]

"""Faulty arguments: each code of the seed by its own fault, the first in its order deciding, all of them listed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.edit.desk import Desk, change

GOOD = "/srv/a.txt"
FINE = change("a", "b")


def single(file_path: Any = GOOD, edits: Any = (FINE,), **more: Any) -> dict[str, Any]:
    return {"file_path": file_path, "edits": list(edits) if isinstance(edits, tuple) else edits, **more}


def refused(desk: Desk, params: Any, operation: str = "multi_edit") -> dict[str, Any]:
    wire = desk.call(operation, params)
    assert wire["success"] is False
    assert wire["retryable"] is True
    assert wire["effect"] == "none"
    assert wire["recovery_hints"]
    return wire


CASES: list[tuple[Any, str, list[str]]] = [
    (single("a.txt"), "RELATIVE_PATH", ["file_path"]),
    (single(""), "RELATIVE_PATH", ["file_path"]),
    (single("../a.txt"), "RELATIVE_PATH", ["file_path"]),
    (single("/srv/../a.txt"), "PATH_TRAVERSAL", ["file_path"]),
    (single("/srv/.."), "PATH_TRAVERSAL", ["file_path"]),
    (single(edits=()), "EMPTY_EDITS", ["edits"]),
    (single(edits=(change("", "b"),)), "EMPTY_OLD_STRING", ["edits.0.old_string"]),
    (single(edits=(FINE, change("a", "c"))), "DUPLICATE_OLD_STRING", ["edits.1.old_string"]),
    (single(edits=(FINE, FINE, FINE)), "DUPLICATE_OLD_STRING", ["edits.*.old_string"]),
    (single(5), "VALIDATION_FAILED", ["file_path"]),
    (single(edits="a"), "VALIDATION_FAILED", ["edits"]),
    (single(edits=({"old_string": "a"},)), "VALIDATION_FAILED", ["edits.0.new_string"]),
    (single(edits=(change("a", 5),)), "VALIDATION_FAILED", ["edits.0.new_string"]),
    (single(edits=(change("a", "b", replace_all="yes"),)), "VALIDATION_FAILED", ["edits.0.replace_all"]),
    (single(edits=(change("a", "b", count=1),)), "VALIDATION_FAILED", ["edits.0.count"]),
    (single(expected_hash="abc"), "VALIDATION_FAILED", ["expected_hash"]),
    (single(dry_run="yes"), "VALIDATION_FAILED", ["dry_run"]),
    ({}, "VALIDATION_FAILED", ["file_path", "edits"]),
    (single("a.txt", edits=()), "RELATIVE_PATH", ["file_path", "edits"]),
    (single("/a/../b", edits=(change("", "b"),)), "PATH_TRAVERSAL", ["file_path", "edits.0.old_string"]),
    (
        single(edits=(change("a", 1), change("", ""), change("a", ""))),
        "EMPTY_OLD_STRING",
        ["edits.0.new_string", "edits.1.old_string"],  # repetitions are looked for once all edits are well-formed
    ),
    (single(5, edits=()), "EMPTY_EDITS", ["file_path", "edits"]),
    (single(edits=(), surplus=1), "EMPTY_EDITS", ["edits", "surplus"]),
]


@pytest.mark.parametrize(("params", "code", "paths"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_fault_is_the_seeds_code_and_all_faults_are_listed(
    desk: Desk, params: Any, code: str, paths: list[str]
) -> None:
    wire = refused(desk, params)
    assert wire["error_code"] == code
    assert sorted(item["path"] for item in wire["violations"]) == sorted(paths)
    assert wire.get("file_path") == (params["file_path"] if isinstance(params.get("file_path"), str) else None)
    assert "file_index" not in wire


@pytest.mark.parametrize(
    ("params", "index"),
    [
        (single(edits=(FINE, change("", "b"))), 1),
        (single(edits=(FINE, change("x", "y"), FINE)), 2),
        (single(edits=(FINE, {"old_string": "b"})), 1),
        (single(edits=()), None),
        (single("a"), None),
    ],
)
def test_the_edit_that_is_at_fault_is_named(desk: Desk, params: Any, index: int | None) -> None:
    assert refused(desk, params).get("edit_index") == index


FILES_CASES: list[tuple[list[Any], str, int, int | None]] = [
    ([single(), single("a.txt")], "RELATIVE_PATH", 1, None),
    ([single(edits=()), single("a.txt")], "RELATIVE_PATH", 1, None),
    ([single(edits=(change("", "b"),)), single("/b", edits=())], "EMPTY_EDITS", 1, None),
    ([single(edits=(FINE, FINE)), single("/b", edits=(FINE, change("", "b")))], "EMPTY_OLD_STRING", 1, 1),
    ([single(), single("/b", edits=(FINE, FINE))], "DUPLICATE_OLD_STRING", 1, 1),
    ([single(), single("/srv/../b")], "PATH_TRAVERSAL", 1, None),
    ([single(), {"file_path": "/b"}], "VALIDATION_FAILED", 1, None),
]


@pytest.mark.parametrize(("files", "code", "file_index", "edit_index"), FILES_CASES)
def test_in_several_files_the_order_of_the_seed_decides_and_not_that_of_the_files(
    desk: Desk, files: list[Any], code: str, file_index: int, edit_index: int | None
) -> None:
    wire = refused(desk, {"files": files}, "multi_edit_files")
    assert (wire["error_code"], wire["file_index"], wire.get("edit_index")) == (code, file_index, edit_index)
    assert wire["file_path"] == files[file_index]["file_path"]


def test_no_file_at_all_is_refused(desk: Desk) -> None:
    assert refused(desk, {"files": []}, "multi_edit_files")["error_code"] == "VALIDATION_FAILED"


def test_too_many_files_are_refused(desk: Desk) -> None:
    wire = refused(desk, {"files": [single(f"/srv/{number}") for number in range(201)]}, "multi_edit_files")
    assert (wire["error_code"], wire["violations"][0]["reason"]) == ("VALIDATION_FAILED", "length")


def test_the_same_old_string_may_stand_in_the_edits_of_two_files(desk: Desk) -> None:
    one, two = desk.file("one"), desk.file("two")
    assert desk.edit_files((one, [change("two", "2")]), (two, [change("two", "2")]))["success"]


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "a/" * 2_100])
def test_a_path_that_can_name_no_file_is_refused(desk: Desk, name: str) -> None:
    wire = refused(desk, single(f"{desk.root}/{name}"))
    assert (wire["error_code"], wire["violations"][0]["path"]) == ("VALIDATION_FAILED", "file_path")


@pytest.mark.parametrize(
    ("edit", "place"),
    [(change("\ud800", "b"), "edits.0.old_string"), (change("two", "\udfff"), "edits.0.new_string")],
)
def test_text_that_is_no_unicode_is_refused(desk: Desk, edit: dict[str, Any], place: str) -> None:
    file = desk.file()
    wire = refused(desk, single(str(file), edits=(edit,)))
    assert (wire["error_code"], wire["violations"][0]["path"]) == ("VALIDATION_FAILED", place)
    assert (wire["edit_index"], file.read_text()) == (0, "one\ntwo\nthree\n")


@pytest.mark.parametrize(
    "params", [None, {"files": 5}, {"files": [5]}, {"file_path": [1], "edits": [[]]}, {"edits": {}}]
)
@pytest.mark.parametrize("operation", ["multi_edit", "multi_edit_files"])
def test_arguments_of_any_form_are_answered(desk: Desk, operation: str, params: Any) -> None:
    assert refused(desk, params, operation)["error_code"] == "VALIDATION_FAILED"

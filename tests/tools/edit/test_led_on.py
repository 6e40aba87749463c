"""What a refused edit leads on to: the same edit in the right form, the place where it departs from the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.tools.edit.desk import Desk, change

TEXT = "import os\n\ndef main():\n    x = 1\n    y = 2\n    return x + y\n\nmain()\n" + "".join(
    f"# line {number}\n" for number in range(40)
)


@pytest.mark.parametrize(
    ("sought", "line"),
    [("def main():\n    x = 1\n    y = 3\n", 5), ("    return x + y\n\n\nmain()", 8), ("def main() -> None:\n", 3)],
)
def test_a_near_miss_names_the_line_at_which_it_departs(desk: Desk, sought: str, line: int) -> None:
    answer = desk.edit(desk.file(content=TEXT), change(sought, "z"))

    assert answer["error_code"] == "MATCH_NOT_FOUND"
    assert answer["context"].get("line") == line


def test_nothing_is_claimed_of_text_that_resembles_nothing(desk: Desk) -> None:
    answer = desk.edit(desk.file(content=TEXT), change("zebra quagga okapi", "z"))

    assert answer["error_code"] == "MATCH_NOT_FOUND"
    assert "line" not in answer["context"]
    assert "copy it from the excerpt" not in answer["message"]


@pytest.mark.parametrize(
    "sent",
    [change("one", "1"), json.dumps([change("one", "1")]), json.dumps(change("one", "1"))],
    ids=["an object", "a text of a list", "a text of an object"],
)
def test_edits_in_another_form_are_corrected_in_the_next_step(desk: Desk, sent: Any) -> None:
    file = desk.file()
    answer = desk.call("multi_edit", {"file_path": str(file), "edits": sent})

    assert answer["error_code"] == "VALIDATION_FAILED"
    arguments = {"file_path": str(file), "edits": [change("one", "1")]}
    assert answer.get("next_step") == {"tool": "multi_edit", "arguments": arguments}


def test_one_file_in_place_of_the_list_is_corrected_in_the_next_step(desk: Desk) -> None:
    sent = {"file_path": str(desk.file()), "edits": [change("one", "1")]}
    answer = desk.call("multi_edit_files", {"files": sent})

    assert answer["error_code"] == "VALIDATION_FAILED"
    assert answer.get("next_step") == {"tool": "multi_edit_files", "arguments": {"files": [sent]}}


@pytest.mark.parametrize("sent", ["x = 1", None, 5])
def test_a_fault_of_a_whole_edit_has_its_index(desk: Desk, sent: Any) -> None:
    answer = desk.call("multi_edit", {"file_path": str(desk.file()), "edits": [change("one", "1"), sent]})

    assert (answer["error_code"], answer["edit_index"]) == ("VALIDATION_FAILED", 1)


@pytest.mark.parametrize(("old", "code"), [("one", "DUPLICATE_OLD_STRING"), ("", "EMPTY_OLD_STRING")])
def test_a_refused_old_string_comes_with_the_status_of_each_edit(desk: Desk, old: str, code: str) -> None:
    answer = desk.edit(desk.file(), change("one", "1"), change(old, "2"), change("three", "3"))

    assert (answer["error_code"], answer["edit_index"]) == (code, 1)
    status = [(entry["edit_index"], entry["status"]) for entry in answer.get("edit_status", [])]
    assert status == [(1, "failed"), (2, "skipped")]


@pytest.mark.parametrize("path", ["a.txt", "./a.txt"])
def test_a_relative_path_leads_to_the_file_below_the_root(desk: Desk, path: str) -> None:
    file = desk.file()
    answer = desk.edit(path, change("one", "1"))

    assert answer["error_code"] == "RELATIVE_PATH"
    arguments = {"file_path": str(file), "edits": [change("one", "1")]}
    assert answer.get("next_step") == {"tool": "multi_edit", "arguments": arguments}


def test_the_number_of_edits_is_that_of_the_setting(desk: Desk) -> None:
    numbers = range(10_001)
    file = desk.file(content="".join(f"<{number}>" for number in numbers[:10]))
    edits = [change(f"<{number}>", "x") for number in numbers]
    answer = desk.edit(file, *edits, tool=desk.tool(edit_max_edits=50_000))

    assert (answer["error_code"], answer.get("edit_index")) == ("MATCH_NOT_FOUND", 10)

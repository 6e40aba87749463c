"""What a refused edit shows, and the call that it leads to."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.doors import lean_text
from tests.tools.edit.desk import Desk, change


@pytest.mark.parametrize("is_several", [False, True])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_misspelt_file_leads_to_the_similar_one_only_in_a_dry_run(
    desk: Desk, *, is_several: bool, dry_run: bool
) -> None:
    file = desk.file("calendar.txt")
    before = file.read_bytes()
    meant = {"file_path": str(file), "edits": [change("two", "2")]}
    wrong = {**meant, "file_path": str(file.with_name("calender.txt"))}
    operation = "multi_edit_files" if is_several else "multi_edit"
    asked, led = [{"files": [given]} if is_several else given for given in (wrong, meant)]
    wire = desk.call(operation, {**asked, "dry_run": True} if dry_run else asked)
    assert wire["error_code"] == "FILE_NOT_FOUND"
    assert "calendar.txt" in wire["message"]
    step = {"tool": operation, "arguments": {**led, "dry_run": True}}
    assert wire.get("next_step") == (step if dry_run else None)
    assert file.read_bytes() == before


@pytest.mark.parametrize("old", ["four", "e"])
def test_lean_text_shows_the_excerpts_that_the_message_speaks_of(desk: Desk, old: str) -> None:
    arguments = {"file_path": str(desk.file()), "edits": [change(old, "x")]}
    error = asyncio.run(desk.tool().execute_with_error_handling("multi_edit", arguments)).error
    assert error is not None
    lines = lean_text(error, error.code).splitlines()
    shown = [json.loads(line.partition(": ")[2]) for line in lines if line.startswith("Excerpt")]
    assert shown
    assert all("two" in text for text in shown)
    assert not any(line.startswith("Candidates") for line in lines)

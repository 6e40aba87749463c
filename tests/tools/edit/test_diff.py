"""The diff of a dry run: applying it gives exactly the text that the edits make."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from tests.doors import Edited, TextEdit, apply_edits, changed_ranges, unified_diff

texts = st.text("ab\n", max_size=40)
edits = st.lists(st.builds(TextEdit, st.text("ab\n", min_size=1, max_size=3), texts, st.booleans()), max_size=5)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def edited(text: str, edits: list[TextEdit]) -> Edited | None:
    result = apply_edits(text, edits, trace=True)
    return result if isinstance(result, Edited) else None


def applied(text: str, diff: str) -> str:
    """Apply a unified diff strictly: every line that it shows has to be there, and every number has to be right."""
    old = text.split("\n")
    old = [f"{line}\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    new: list[str] = []
    at = 0
    heading, *parts = re.split(r"(?m)^(?=@@ )", diff)
    assert heading == "--- f\n+++ f\n"
    for part in parts:
        found = HUNK.match(part)
        assert found is not None
        start, length, new_start, new_length = (int(number) if number else 1 for number in found.groups())
        begin = start if length == 0 else start - 1
        new += old[at:begin]
        assert len(new) == (new_start if new_length == 0 else new_start - 1)
        shown = part[found.end() :].replace("\n\\ No newline at end of file\n", "\0").split("\n")
        body = [line for chunk in shown for line in _lines(chunk)]
        assert [line for mark, line in body if mark in " -"] == old[begin : begin + length]
        added = [line for mark, line in body if mark in " +"]
        assert len(added) == new_length
        new += added
        at = begin + length
    return "".join(new + old[at:])


def _lines(chunk: str) -> list[tuple[str, str]]:
    *unended, ended = chunk.split("\0")
    lines = [(line[0], line[1:]) for line in unended]
    return [*lines, (ended[0], f"{ended[1:]}\n")] if ended else lines


@given(text=texts, edits=edits)
def test_the_diff_applied_gives_the_edited_text(text: str, edits: list[TextEdit]) -> None:
    result = edited(text, edits)
    if result is not None:
        diff = "".join(unified_diff(text, result.text, result.steps, name="f"))
        assert applied(text, diff) == result.text if diff else text == result.text


@given(text=texts, edits=edits)
def test_what_lies_between_the_changed_ranges_is_the_same_in_both_texts(text: str, edits: list[TextEdit]) -> None:
    result = edited(text, edits)
    if result is None:
        return
    at = at_new = 0
    for old_start, old_end, new_start, new_end in changed_ranges(result.steps):
        assert text[at:old_start] == result.text[at_new:new_start]
        at, at_new = old_end, new_end
    assert text[at:] == result.text[at_new:]


def test_an_edit_far_from_another_is_a_hunk_of_its_own() -> None:
    text = "".join(f"{number}\n" for number in range(100))
    result = edited(text, [TextEdit("10\n", "ten\n"), TextEdit("\n90\n", "\nninety\n")])
    assert result is not None
    diff = "".join(unified_diff(text, result.text, result.steps, name="f"))
    assert diff.count("@@ -") == 2
    assert [line for line in diff.splitlines()[2:] if line[0] in "+-"] == ["-10", "+ten", "-90", "+ninety"]


def test_changes_all_over_a_text_are_one_stretch() -> None:
    text = "a\nb\n" * 20_001
    result = edited(text, [TextEdit("a", "c", replace_all=True)])
    assert result is not None
    diff = "".join(unified_diff(text, result.text, result.steps, name="f"))
    assert diff.count("@@ -") == 1
    assert applied(text, diff) == result.text


def test_many_changes_that_are_carried_through_many_edits_are_one_stretch() -> None:
    text = "a\nb\n" * 10_000 + "".join(f"line {number};\n" for number in range(200))
    steps = [TextEdit("a", "c", replace_all=True), *(TextEdit(f"line {number};", "x") for number in range(150))]
    result = edited(text, steps)
    assert result is not None
    diff = "".join(unified_diff(text, result.text, result.steps, name="f"))
    assert [line for line in diff.splitlines()[2:] if line[0] == "-"][1] == "-b"  # not compared line by line
    assert applied(text, diff) == result.text

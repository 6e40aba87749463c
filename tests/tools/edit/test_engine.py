"""Edits of one text: in order, all or none, and the same as the simplest program that could do it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.doors import Edited, FailedEdit, TextEdit, TextTooLong, apply_edits, as_crlf, is_crlf


def made(text: str, *edits: TextEdit) -> str:
    result = apply_edits(text, edits)
    assert isinstance(result, Edited)
    return result.text


def stuck(text: str, *edits: TextEdit) -> FailedEdit:
    result = apply_edits(text, edits)
    assert isinstance(result, FailedEdit)
    return result


def simplest(text: str, edits: list[TextEdit]) -> str | int:
    """Return the text, or the index of the edit that cannot be done: every place is looked at by itself."""
    for index, (old, new, replace_all) in enumerate(edits):
        places = [place for place in range(len(text)) if text[place : place + len(old)] == old]
        if not places or (len(places) > 1 and not replace_all):
            return index
        text = text.replace(old, new) if replace_all else text[: places[0]] + new + text[places[0] + len(old) :]
    return text


letters = st.text("ab\n", max_size=12)
edits = st.lists(st.builds(TextEdit, st.text("ab\n", min_size=1, max_size=3), letters, st.booleans()), max_size=5)


@given(text=letters, edits=edits)
def test_it_does_what_the_simplest_program_does(text: str, edits: list[TextEdit]) -> None:
    result = apply_edits(text, edits)
    assert (result.text if isinstance(result, Edited) else result.edit_index) == simplest(text, edits)


@given(text=st.text(max_size=30), old=st.text(min_size=1, max_size=3), new=st.text(max_size=5))
def test_what_no_edit_names_stays_as_it_is(text: str, old: str, new: str) -> None:
    result = apply_edits(text, [TextEdit(old, new, replace_all=True)])
    if isinstance(result, Edited) and not is_crlf(text):
        assert result.text == text.replace(old, new)
        assert result.replacements == (0 if old == new else text.count(old))


@given(lines=st.lists(st.text("ab", max_size=3), max_size=6), edits=edits)
def test_a_file_that_is_crlf_throughout_is_edited_as_its_twin_with_line_feeds(
    lines: list[str], edits: list[TextEdit]
) -> None:
    text = "".join(f"{line}\n" for line in lines)
    twin = apply_edits(text, edits)
    result = apply_edits(as_crlf(text), edits)
    if not lines:
        return
    assert type(result) is type(twin)
    if isinstance(result, Edited) and isinstance(twin, Edited):
        assert result.text == as_crlf(twin.text)
        assert result.replacements == twin.replacements


def test_each_edit_sees_what_the_ones_before_it_made() -> None:
    assert made("a", TextEdit("a", "b"), TextEdit("b", "c")) == "c"
    assert stuck("a", TextEdit("a", "b"), TextEdit("a", "c")).edit_index == 1


def test_a_later_edit_may_match_only_once_an_earlier_one_took_the_twin_away() -> None:
    assert made("x\nx y\n", TextEdit("x y", "z"), TextEdit("x", "w")) == "w\nz\n"


def test_an_edit_that_is_stuck_has_the_text_as_it_found_it() -> None:
    found = stuck("one two", TextEdit("one", "1"), TextEdit("gone", "x"))
    assert found == FailedEdit(1, "gone", "1 two", is_missing=True)


@pytest.mark.parametrize(("text", "old"), [("aaa", "aa"), ("abcab ab", "ab"), ("a\n\n\nb", "\n\n")])
def test_places_that_overlap_are_several(text: str, old: str) -> None:
    assert stuck(text, TextEdit(old, "x")) == FailedEdit(0, old, text, is_missing=False)
    assert made(text, TextEdit(old, "x", replace_all=True)) == text.replace(old, "x")


@pytest.mark.parametrize(
    ("text", "crlf"),
    [
        ("a\r\nb\r\n", True),
        ("a\r\nb", True),
        ("a\r\nb\n", False),
        ("a\rb\r\n", False),
        ("a\nb\n", False),
        ("ab", False),
        ("", False),
        ("a\rb", False),
    ],
)
def test_a_text_is_crlf_only_if_it_is_so_throughout(text: str, crlf: bool) -> None:
    assert is_crlf(text) is crlf


def test_new_text_in_a_crlf_file_is_written_with_crlf_whatever_the_edit_has() -> None:
    text = "a\r\nb\r\n"
    assert made(text, TextEdit("a\nb", "c\nd\n")) == "c\r\nd\r\n\r\n"
    assert made(text, TextEdit("a\r\nb", "c\r\nd")) == "c\r\nd\r\n"
    assert made(text, TextEdit("b", "x\ny")) == "a\r\nx\r\ny\r\n"


def test_a_file_of_mixed_endings_is_taken_literally() -> None:
    text = "a\r\nb\nc\n"
    assert stuck(text, TextEdit("a\nb", "x")).is_missing
    assert made(text, TextEdit("a\r\nb", "x")) == "x\nc\n"


@pytest.mark.parametrize("text", ["\ufeffone\n", "one", "one\n", "\n\none\n\n", "one\x00\x0c\u2028"])
def test_mark_and_ends_stay(text: str) -> None:
    assert made(text, TextEdit("one", "two")) == text.replace("one", "two")


@pytest.mark.parametrize("replace_all", [True, False])
def test_a_text_that_would_grow_beyond_its_limit_is_not_made(*, replace_all: bool) -> None:
    text = "a" * 1_000 if replace_all else "ab"
    edit = TextEdit("a", "b" * 100_000_000 if not replace_all else "b" * 1_000_000, replace_all=replace_all)
    with pytest.raises(TextTooLong) as raised:
        apply_edits(text, [edit], length_at_most=10_000_000)
    assert raised.value.length >= 100_000_001
    assert isinstance(apply_edits(text, [TextEdit("a", "", replace_all=True)], length_at_most=1), Edited)

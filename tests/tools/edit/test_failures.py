"""The context of an edit that did not match: the right lines, raw, and never too many."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from tests.doors import (
    CONTEXT_BYTES_AT_MOST,
    FailedEdit,
    TextEdit,
    ambiguous_context,
    apply_edits,
    missing_context,
    window,
)

LINES = [f"{number:02} line of text" for number in range(40)]
TEXT = "\n".join(LINES) + "\n"


def missing(text: str, sought: str) -> str:
    stuck = apply_edits(text, [TextEdit(sought, "x")])
    assert isinstance(stuck, FailedEdit)
    return str(missing_context(stuck)["snippet"])


def ambiguous(text: str, sought: str) -> dict[str, object]:
    stuck = apply_edits(text, [TextEdit(sought, "x")])
    assert isinstance(stuck, FailedEdit)
    return ambiguous_context(stuck)


def lines(first: int, last: int) -> str:
    return "\n".join(LINES[first : last + 1])


def test_seven_lines_on_each_side_of_a_near_miss() -> None:
    assert missing(TEXT, "20 line of code") == lines(13, 27)


@pytest.mark.parametrize(
    ("sought", "around"), [("02 line of code", (0, 14)), ("38 line of code", (25, 39)), ("39 line of code", (25, 39))]
)
def test_the_window_shifts_at_the_ends_of_the_file_and_keeps_its_size(sought: str, around: tuple[int, int]) -> None:
    assert missing(TEXT, sought) == lines(*around)


def test_without_a_near_miss_the_head_of_the_file_is_shown() -> None:
    assert missing(TEXT, "nothing of the kind") == lines(0, 14)


@pytest.mark.parametrize("text", ["", "one", "one\ntwo\n", "\n"])
def test_a_short_file_is_shown_whole(text: str) -> None:
    assert missing(text, "nothing of the kind") == text.removesuffix("\n")


def test_the_longest_prefix_wins_over_an_earlier_shorter_one() -> None:
    text = "\n".join(["abcde", *["-"] * 30, "abcdefghij", *["-"] * 30, "abcdefghijklmnopqrst", *["-"] * 30])
    assert "abcdefghijklmnopqrst" in missing(text, "abcdefghijklmnopqrst!")
    assert "abcdefghij\n" in missing(text, "abcdefghij!")
    assert missing(text, "abcde!").startswith("abcde\n")
    assert missing(text, "abcd!") == missing(text, "zzz!")


def test_crlf_files_are_searched_and_shown_as_they_are() -> None:
    text = TEXT.replace("\n", "\r\n")
    assert missing(text, "20 line of text\n22") == "\r\n".join(LINES[13:28])


@pytest.mark.parametrize("sought", ["39 line of text!", "nothing of the kind"])
def test_the_last_line_shown_is_without_its_end_so_that_it_can_be_replaced_as_it_is(sought: str) -> None:
    for end in ("\n", "\r\n"):
        assert missing(end.join([*LINES, ""]), sought).endswith("text")


def test_every_match_has_its_line_and_three_lines_around_it() -> None:
    found = ambiguous(f"{TEXT}{LINES[20]}\n", LINES[20])
    assert found == {
        "match_locations": [
            {"line": 21, "snippet": lines(17, 23)},
            {"line": 41, "snippet": f"{lines(37, 39)}\n{LINES[20]}"},
        ]
    }


def test_five_matches_are_shown_and_the_others_counted() -> None:
    found = ambiguous(TEXT, "of text")
    assert [one["line"] for one in found["match_locations"]] == [1, 2, 3, 4, 5]  # type: ignore[attr-defined]
    assert found["more_matches"] == 35


def test_lines_are_counted_in_the_text_as_that_edit_found_it() -> None:
    stuck = apply_edits("a\nb\nb\n", [TextEdit("a", "1\n2\n3"), TextEdit("b", "x")])
    assert isinstance(stuck, FailedEdit)
    assert [one["line"] for one in ambiguous_context(stuck)["match_locations"]] == [4, 5]


@pytest.mark.parametrize("character", ["x", "é", "\x00", '"', "\U0001f600"])
@pytest.mark.parametrize("sought", ["<place>?", "<place>"])
def test_a_context_is_never_larger_than_ten_kilobytes(character: str, sought: str) -> None:
    line = character * 30_000
    text = f"{line}<place>{line}\n" * 7
    found = {"snippet": missing(text, sought)} if sought.endswith("?") else ambiguous(text, sought)
    size = len(json.dumps(found))
    assert CONTEXT_BYTES_AT_MOST / 2 < size <= CONTEXT_BYTES_AT_MOST
    assert "<place>" in json.dumps(found)


@given(st.text("a\nü\x01", max_size=60), st.data(), st.integers(0, 5), st.booleans(), st.integers(1, 60))
def test_a_window_is_part_of_the_text_around_the_place_and_within_its_limit(
    text: str, data: st.DataObject, around: int, is_filled: bool, limit: int
) -> None:
    place = data.draw(st.integers(0, max(0, len(text) - 1)))
    shown = window(text, place, around, is_filled=is_filled, limit=limit)
    assert shown in text
    assert len(json.dumps(shown)) <= max(limit, 2)
    assert shown.count("\n") <= 2 * around
    whole = window(text, place, around, is_filled=is_filled)
    assert shown in whole
    if is_filled and text:
        all_lines = text.removesuffix("\n").split("\n") if text != "\n" else [""]
        assert whole.count("\n") + 1 == min(2 * around + 1, len(all_lines))


def test_matches_of_a_long_text_that_overlap_everywhere_are_not_compared_one_by_one() -> None:
    text = "a" * 4_000_000  # one by one this would take hours
    context = ambiguous_context(FailedEdit(0, "a" * 2_000_000, text, is_missing=False))
    assert [one["line"] for one in context["match_locations"]] == [1] * 5
    assert context["more_matches"] > 1


def test_places_that_overlap_are_counted_one_by_one_where_that_is_cheap() -> None:
    assert ambiguous("a" * 5_000, "aa")["more_matches"] == 4_999 - 5
    assert ambiguous("a" * 300_000, "a")["more_matches"] == 300_000 - 5

"""What is true of how far a correction may go, whatever is corrected; the table is beside this."""

from __future__ import annotations

import copy
import json
import re
import time
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.doors import correction
from tests.framework.errors.test_how_far import (
    FAR,
    NEAR,
    OPPOSITES,
    PREFIXED,
    SAME_LETTERS,
    SPELLED,
    STEPS,
    Kind,
    Row,
    What,
)

# Laws. Hypothesis mixes words of the tables with any text, lone surrogates among it.

WORDS = sorted({word for pair in OPPOSITES[:30] + NEAR[:30] + SAME_LETTERS + FAR + PREFIXED[:30] for word in pair})
TEXTS = st.one_of(
    st.sampled_from([*WORDS, "", "_", " ", "\ud800", "min_\udfff", "500 ms", "50%", '"', "{", "[1", "NaN", "1e999"]),
    st.text(max_size=30), st.text(st.sampled_from("aAeimnux_-. 05\ud800ßİ\u0301\x00"), max_size=30),
)  # fmt: skip
JSON_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    JSON_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


@st.composite
def any_rows(draw: st.DrawFn, *whats: What) -> Row:
    """A row of anything; only a reference takes another kind of name than a spelled one."""
    what = draw(st.sampled_from(whats or (*SPELLED, "value")))
    sent, accepted = draw(st.tuples(VALUES, VALUES) if what == "value" else st.tuples(TEXTS, TEXTS))
    kinds: tuple[Kind, ...] = ("spelled", "identifier", "handle", "secret")
    return Row(
        sent, accepted, what, draw(st.booleans()), "list",
        kind=draw(st.sampled_from(kinds)) if what == "reference" else "spelled",
        about=draw(st.sampled_from(["", "timeout in milliseconds", "share in %"]) | TEXTS),
    )  # fmt: skip


def step(row: Row) -> int:
    """How far the answer goes, as a number."""
    return STEPS.index(row.answer())


@settings(deadline=None)
@given(any_rows())
def test_it_answers_anything_alike_twice_and_touches_nothing(row: Row) -> None:
    before = repr(copy.deepcopy(row))
    first = row.answer()
    assert first in STEPS
    assert row.answer() == first
    assert repr(row) == before


@settings(deadline=None)
@given(any_rows())
def test_a_write_never_goes_further_than_a_read(row: Row) -> None:
    assert step(row._replace(changes=True)) <= step(row._replace(changes=False))


@settings(deadline=None)
@given(any_rows(*SPELLED), TEXTS)
def test_a_rival_never_makes_it_go_further(row: Row, rival: str) -> None:
    found = correction(row.given, [row.meant, rival], what=row.what, changes=row.changes)
    assert found is None or STEPS.index(found.how_far) <= step(row._replace(meant=found.meant, kind="spelled"))


@settings(deadline=None)
@given(any_rows("reference"))
def test_the_kind_of_a_reference_is_a_ceiling(row: Row) -> None:
    assert row._replace(kind="secret").answer() == row._replace(kind="handle").answer() == "drop"
    assert row._replace(kind="identifier").answer() in ("list", "drop")


@settings(deadline=None)
@given(any_rows("tool"))
def test_another_tool_that_changes_something_is_never_put_into_a_step(row: Row) -> None:
    assume(row.given != row.meant)
    assert row._replace(changes=True).answer() != "use"


@settings(deadline=None)
@given(st.text("abcdeilmnorstu", min_size=1, max_size=30), st.text("abcdeilmnorstu", min_size=1, max_size=30),
       st.sampled_from(SPELLED), st.booleans())  # fmt: skip
def test_names_whose_lengths_differ_by_more_than_the_edit_limit_are_listed(
    sent: str, accepted: str, what: What, changes: bool
) -> None:
    assume(abs(len(sent) - len(accepted)) > max(len(sent), len(accepted)) // 5)
    assert Row(sent, accepted, what, changes, "list").answer() == "list"


@settings(deadline=None)
@given(st.recursive(st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                    max_leaves=6), st.booleans())  # fmt: skip
def test_json_text_and_a_list_of_one_are_forms_of_any_value(value: Any, changes: bool) -> None:
    assume(re.fullmatch(r"-?\d{1,3}(\.\d{3})+", json.dumps(value)) is None)  # `41.300` may be 41,300
    assert Row(json.dumps(value), value, "value", changes, "use").answer() == "use"
    assert isinstance(value, list) or Row(value, [value], "value", changes, "use").answer() == "use"


def deep(levels: int) -> list[Any]:
    """A list inside a list, so many times."""
    tree: list[Any] = []
    for _ in range(levels):
        tree = [tree]
    return tree


@pytest.mark.parametrize("changes", [False, True])
def test_huge_and_deep_values_are_answered(changes: bool) -> None:
    said = [
        Row("[" * 100_000, [], "value", changes, "list").answer(),
        Row('{"a":' * 100_000, {"a": 1}, "value", changes, "list").answer(),
        Row("9" * 100_000, 9, "value", changes, "list").answer(),
        Row("9" * 100_000 + " ms", 9, "value", changes, "list", about="milliseconds").answer(),
        Row("1e400", 5, "value", changes, "list").answer(),
        Row("5", 10**5000, "value", changes, "list").answer(),
    ]
    assert said == ["list"] * 6
    for sent, accepted in ((10**5000, [10**5000]), ("9" * 5000, 10**5000 - 1), (deep(20_000), deep(20_001))):
        answer = Row(sent, accepted, "value", changes, "use").answer()
        assert answer in STEPS


def cpu_s(row: Row) -> float:
    """The least processor time of three answers."""
    spent = []
    for _ in range(3):
        began = time.process_time()
        row.answer()
        spent.append(time.process_time() - began)
    return min(spent)


def plain_pass_s(text: str) -> float:
    """The processor time of ten plain passes over the letters: the yardstick."""
    began = time.process_time()
    for _ in range(10):
        "".join(letter for letter in text if letter.isalnum()).casefold()
    return time.process_time() - began


@pytest.mark.parametrize("part", ["a", "A", "_", "aB", "min_", "un", "5", " ", "\ud800"])
def test_a_very_long_name_costs_a_few_passes_over_its_letters(part: str) -> None:
    # 4,000 first: there a quadratic answer still ends, and fails.
    for letters in (4_000, 100_000):
        name = part * (letters // len(part))
        row = Row(name, "z" * letters, "parameter", False, "list")
        assert cpu_s(row) < 20 * plain_pass_s(name + "z" * letters)
        assert row.answer() == "list"

"""Faults in a sentence, and what to provide instead."""

from __future__ import annotations

import pytest

from failsoft import InvalidParameter
from failsoft.framework.violations import Reason, Violation, advice, summarize


def test_a_fault_of_the_arguments_at_large_names_no_parameter() -> None:
    whole = Violation(path="", reason="type", message="expected object, got array")
    one = Violation(path="limit", reason="missing", message="is required")
    assert "''" not in summarize([whole])
    assert "''" not in summarize([whole, one])
    assert "'limit'" in summarize([whole, one])


@pytest.mark.parametrize(
    ("suggestion", "shown"), [("limit", "'limit'"), (True, "true"), (["a", "é"], '["a", "é"]'), (1.5, "1.5")]
)
def test_a_suggested_value_is_shown_as_json_has_it(suggestion: object, shown: str) -> None:
    fault = Violation(path="a", reason="type", message="expected array", suggestion=suggestion)
    assert f"(did you mean {shown}?)" in summarize([fault])


@pytest.mark.parametrize(
    ("reason", "expected", "words"),
    [
        ("type", "integer", "Provide a valid integer"),
        ("missing", "array of string", "Provide a valid array of string"),
        ("range", "at least 1", "Provide a value that is at least 1"),
        ("range", "a multiple of 5", "Provide a multiple of 5"),
        ("length", "at least 1 character", "Provide at least 1 character"),
        ("format", "a date as YYYY-MM-DD", "Provide a date as YYYY-MM-DD"),
        ("enum", "one of 'a', 'b'", "Provide one of 'a', 'b'"),
        ("enum", "5", "Provide 5"),
        ("reference", "type of some document", "Provide a valid type of some document"),
        ("unexpected", "one of 'a', 'b'", "Use one of 'a', 'b'"),
        ("value", "", ""),
    ],
)
def test_the_advice_reads_well_whatever_was_expected(reason: Reason, expected: str, words: str) -> None:
    assert advice(Violation(path="a", reason=reason, message="is wrong", expected=expected)) == words


def test_the_hint_of_a_refused_call_is_about_its_first_fault() -> None:
    low = Violation(path="limit", reason="range", message="expected at least 1", expected="at least 1")
    odd = Violation(path="odd", reason="value", message="leads nowhere")
    said = "Check the parameter documentation"
    one, two = InvalidParameter.from_violations([low]), InvalidParameter.from_violations([low, odd])
    assert one.rendered_hints() == ("Provide a value that is at least 1", said)
    assert two.rendered_hints() == ("Provide a value that is at least 1 for 'limit'", said)
    assert InvalidParameter.from_violations([odd]).rendered_hints() == (said,)
    assert InvalidParameter(param="a", expected="string").rendered_hints() == ("Provide a valid string", said)


def test_a_violation_can_be_compared_and_put_into_a_set() -> None:
    one, other = (Violation(path="a", reason="type", message="is wrong") for _ in range(2))
    assert one == other
    assert len({one, other}) == 1

"""Faults in a sentence, and what to provide instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from failsoft import InvalidParameter, Violation
from tests.doors import Reason, advice, clause, collapsed, summarize


def test_a_fault_of_the_arguments_at_large_names_no_parameter() -> None:
    whole = Violation(path="", reason="type", message="expected object, got array")
    one = Violation(path="limit", reason="missing", message="is required")
    assert "``" not in summarize([whole])
    assert "``" not in summarize([whole, one])
    assert "`limit`" in summarize([whole, one])


@pytest.mark.parametrize(
    ("suggestion", "shown"), [("limit", '"limit"'), (True, "true"), (["a", "é"], '["a", "é"]'), (1.5, "1.5")]
)
def test_a_suggested_value_is_shown_as_json_has_it(suggestion: object, shown: str) -> None:
    fault = Violation(path="a", reason="enum", message="expected array", suggestion=suggestion)
    assert f"did you mean {shown}?" in summarize([fault])


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
    one, two = InvalidParameter.from_violations([low]), InvalidParameter.from_violations([low, odd])
    assert one.rendered_hints() == ("Provide a value that is at least 1",)
    assert two.rendered_hints() == ("Provide a value that is at least 1 for `limit`",)
    assert InvalidParameter.from_violations([odd]).rendered_hints() == ()
    assert InvalidParameter(param="a", expected="string").rendered_hints() == ("Provide a valid string",)


def test_a_violation_can_be_compared_and_put_into_a_set() -> None:
    one, other = (Violation(path="a", reason="type", message="is wrong") for _ in range(2))
    assert one == other
    assert len({one, other}) == 1


def test_equal_faults_of_a_list_are_one_and_the_wire_says_each_thing_once() -> None:
    faults = [
        Violation(path=f"edits.{n}.old", reason="type", message="expected string", expected="string", is_standard=True)
        for n in (*range(40), 50)
    ]
    (one,) = collapsed(faults)
    assert one.to_dict() == {"path": "edits.*.old", "reason": "type", "at": "0-39,50", "expected": "string"}
    assert one.first_path() == "edits.0.old"


def test_what_an_author_says_is_sent_and_what_only_repeats_the_rest_is_not() -> None:
    own = Violation(path="a", reason="value", message="is in the past")
    listed = Violation(
        path="b", reason="enum", message="expected x", expected='one of "x", "y"', allowed=("x", "y"), is_standard=True
    )
    assert own.to_dict() == {"path": "a", "reason": "value", "message": "is in the past"}
    assert listed.to_dict() == {"path": "b", "reason": "enum", "allowed": ["x", "y"]}


def test_existing_names_are_in_the_sentence_about_one_that_does_not_exist():
    fault = Violation(
        path="reactions.0", reason="reference", message='no reaction "pgk"', allowed=("PGK", "PGI`", "PGL", "PGM")
    )
    assert clause(fault) == '`reactions.0`: no reaction "pgk"; existing: "PGK", "PGI\'", "PGL"'
    assert "existing" not in clause(replace(fault, suggestion="PGK"))

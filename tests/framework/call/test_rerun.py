"""May it run again: every combination of facts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest

from failsoft import DocumentNotFound
from tests.doors import Facts, RunFacts, StopReason, could_do_twice, effect_of_run, retry_of, why_not_rerun, worst

EFFECTS = ("none", "unknown", "applied")
RETRIES = ("after_fix", "after_delay", "never")
FAR = 1e9

PRODUCT: dict[str, tuple[Any, ...]] = {
    "retry": (None, *RETRIES),
    "is_circuit_open": (False, True),
    "effect": EFFECTS,
    "is_repeatable": (False, True),
    "runs_left": (None, 0, 1),
    "was_retried_below": (False, True),
    "jitter_s": (0.0, 0.25),
    "patience_s": (0.5, 1.0),
    "remaining_s": (None, 1.0, 1.25, 1.5),
    "is_over": (False, True),
    "has_token": (False, True),
}


def table() -> Iterator[Facts]:
    """Yield the whole product of facts, each with a wait of one second that was asked for."""
    for values in itertools.product(*PRODUCT.values()):
        yield Facts(wait_s=1.0, **dict(zip(PRODUCT, values, strict=True)))


def test_the_first_reason_against_another_run_for_every_combination_of_facts() -> None:
    for facts in table():
        against = {
            "circuit_open": facts.is_circuit_open,
            "not_transient": facts.retry in {"after_fix", "never"},
            "effect_possible": facts.effect in {"unknown", "applied"} and not facts.is_repeatable,
            "attempts": facts.was_retried_below or facts.runs_left == 0,
            "wait_too_long": facts.patience_s == 0.5,
            "deadline": facts.is_over or facts.remaining_s == 1.0 or (facts.remaining_s == 1.25 and facts.jitter_s > 0),
            "budget": not facts.has_token,
        }
        reasons = [reason for reason, holds in against.items() if holds]
        assert why_not_rerun(facts) == (reasons[0] if reasons else None), facts
        assert {*against} <= {*get_args(StopReason)}


def test_a_caller_never_repeats_what_may_have_been_done_and_else_does_as_the_error_says() -> None:
    for facts in table():
        is_safe = facts.effect == "none" or facts.is_repeatable
        error = DocumentNotFound(path="guide/intro.md")
        error.retry = facts.retry
        forbids_repeat = could_do_twice(facts.effect, is_repeatable=facts.is_repeatable)
        advised = retry_of(error, forbids_repeat=forbids_repeat).when
        assert advised == (facts.retry or "never" if is_safe else "never"), facts
        framework = why_not_rerun(facts)
        assert framework is not None or facts.retry is None or advised == "after_delay", facts


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (Facts(), None),
        (Facts(effect="unknown"), "effect_possible"),
        (Facts(effect="applied"), "effect_possible"),
        (Facts(effect="applied", is_repeatable=True), None),
        (Facts(retry="never", effect="applied"), "not_transient"),
        (Facts(is_circuit_open=True, runs_left=0), "circuit_open"),
        (Facts(runs_left=0, remaining_s=0.0), "attempts"),
        (Facts(remaining_s=0.0), "deadline"),
        (Facts(is_over=True, has_token=False), "deadline"),
        (Facts(remaining_s=None, wait_s=FAR), None),
        (Facts(wait_s=FAR, patience_s=5.0, remaining_s=1.0), "wait_too_long"),
        (Facts(wait_s=5.0, jitter_s=2.0, patience_s=5.0), None),
        (Facts(jitter_s=9.0, patience_s=5.0, remaining_s=9.0), "deadline"),
        (Facts(has_token=False), "budget"),
    ],
)
def test_the_most_fundamental_reason_is_reported(facts: Facts, reason: str | None) -> None:
    assert why_not_rerun(facts) == reason


RUNS = [RunFacts(stated, *flags) for stated in (None, *EFFECTS) for flags in itertools.product((False, True), repeat=5)]


def test_what_a_failed_run_has_changed_for_every_combination_of_facts() -> None:
    for run in RUNS:
        is_clean = [
            run.stated == "none" and run.is_own,
            run.stated in {None, "none"} and run.has_ended and run.atomic,
            run.stated in {None, "none"} and run.has_ended and run.marks_effects and not run.has_begun,
        ]
        expected = "none" if any(is_clean) else "applied" if run.stated == "applied" else "unknown"
        assert effect_of_run(run) == expected, run


def test_a_statement_that_is_not_the_author_s_never_makes_a_run_safer() -> None:
    for run in RUNS:
        if run.stated == "none" and not run.is_own:
            assert effect_of_run(run) == effect_of_run(replace(run, stated=None)), run


def test_the_worst_of_several_effects_counts() -> None:
    for effects in itertools.product((None, *EFFECTS), repeat=3):
        harm = [effect for effect in ("applied", "unknown") if effect in effects]
        assert worst(*effects) == (harm[0] if harm else "none"), effects


@pytest.mark.parametrize(
    ("run", "effect"),
    [
        (RunFacts(), "unknown"),
        (RunFacts(stated="none"), "unknown"),
        (RunFacts(atomic=True), "none"),
        (RunFacts(marks_effects=True), "none"),
    ],
)
def test_a_run_is_taken_to_have_ended_and_nothing_else_that_would_make_it_safe(run: RunFacts, effect: str) -> None:
    assert effect_of_run(run) == effect

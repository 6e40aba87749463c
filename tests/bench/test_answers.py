"""Failures, successes and lists of tools stay small."""

from __future__ import annotations

from tests.bench.running import missed, run_benchmark

GOALS = {
    "failure: text bytes": "<= 190",
    "failure: object bytes": "<= 320",
    "failure: whole result bytes": "<= 900",
    "failures of them": ">= 10",
    "success: text over FastMCP's bytes at most": "<= 30",
}


def test_a_sample_of_answers_is_small_and_every_failure_fails() -> None:
    figures = run_benchmark("answers", "--quick")
    goals = {name: one["goal"] for name, one in figures.items() if one["goal"] and "token" not in name}
    assert goals == GOALS
    assert missed(figures) == {}

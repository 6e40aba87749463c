"""Chaos at length: more seeds, more calls."""

from __future__ import annotations

import pytest

from tests.chaos.laboratory import KINDS
from tests.chaos.test_no_duplicate_effects import check_timed_out_writes, check_writes_whose_answer_was_lost
from tests.slow.soak.test_accounting import check_a_storm
from tests.thorough import THOROUGH

COUNT = 10_000 if THOROUGH else 1_000


@pytest.mark.parametrize("seed", range(3, 20))
@pytest.mark.parametrize("kind", KINDS)
def test_the_books_are_right_in_many_storms(kind: str, seed: int) -> None:
    check_a_storm(kind, seed)


@pytest.mark.parametrize("chain", ["default", "full"])
def test_of_many_writes_that_timed_out_none_is_repeated(chain: str) -> None:
    check_timed_out_writes(COUNT, chain)


def test_of_many_writes_whose_answer_was_lost_none_is_repeated() -> None:
    check_writes_whose_answer_was_lost(COUNT)

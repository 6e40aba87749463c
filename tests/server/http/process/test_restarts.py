"""When a worker is started again, and when its silence counts as a stall: by numbers, without processes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from tests.doors import STABLE_S, Restarts, Silence


def pauses(*served_s: float) -> list[float]:
    """Return the pauses after ends, each with how long the worker had served."""
    found = itertools.accumulate(served_s, Restarts.after, initial=Restarts())
    return [one.pause_s for one in found][1:]


def test_the_first_restart_is_immediate_and_further_pauses_double_to_a_bound() -> None:
    assert pauses(0, 0, 0, 0, 0, 0, 0, 0) == [0, 0.5, 1, 2, 4, 8, 10, 10]


def test_a_stable_time_is_a_new_beginning() -> None:
    assert pauses(0, 0, 0, STABLE_S, 0, 0) == [0, 0.5, 1, 0, 0.5, 1]


def test_a_loop_is_told_once_in_a_row_of_ends() -> None:
    found = itertools.accumulate([0.0] * 9 + [STABLE_S] + [0.0] * 4, Restarts.after, initial=Restarts())
    assert [number for number, one in enumerate(found) if one.is_loop] == [4, 13]


@given(st.integers(0, 100_000))
def test_no_number_of_ends_leads_to_a_longer_pause(ends: int) -> None:
    assert 0 <= Restarts(ends).pause_s <= 10


def silence(*looks_s: float, limit_s: float = 8) -> Silence:
    """Return one that has looked at these times."""
    made = Silence(limit_s, 0)
    for look_s in looks_s:
        made.look(look_s)
    return made


@pytest.mark.parametrize(
    ("looks", "silent_s", "is_stall"),
    [
        (range(0, 20, 2), 9, True),
        (range(0, 20, 2), 8, False),
        ((0, 2, 60), 60, False),  # all was stopped for a minute
        ((0, 2, 60, 62, 64, 66, 68), 68, False),
        ((0, 2, 60, 62, 64, 66, 68, 70), 70, True),  # and the other part has not gone on with this one
        ((2, 4, 6), 6, False),
    ],
)
def test_silence_counts_only_while_it_was_listened_to(looks: tuple[int, ...], silent_s: float, is_stall: bool) -> None:
    assert silence(*looks).is_stall(silent_s) is is_stall

"""Waits that a service asks for: how long a call is held for them, and when the caller is told to wait instead."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from failsoft import BaseTool, RateLimited, Retry, Unavailable, operation
from failsoft.testing import InstantClock, fresh_runtime
from tests.recovery.protected import protected

CALLS = 200


class Busy(BaseTool):
    """Is always busy."""

    runs = 0

    @operation(read_only=True, timeout=60)
    async def look(self) -> str:
        """Look something up."""
        self.runs += 1
        raise RateLimited(retry_after_seconds=6)


def waits(asked_s: Any, calls: int = CALLS, **options: float) -> list[float]:
    """Return how long each of many calls waits for a service that asks for a wait, sorted."""

    runs: list[float] = []

    def busy() -> None:
        runs.append(clock.now_s)
        raise RateLimited(retry_after_seconds=asked_s)

    random.seed(7)
    clock, tool = InstantClock(), protected(Retry(attempts=2, **options), work=busy)
    found: list[float] = []
    with clock:
        for _ in range(calls):
            runs.clear()
            assert clock.run(tool.code()) == "RATE_LIMITED"
            found += [later - first for first, later in itertools.pairwise(runs)]
    return sorted(found)


def test_by_default_a_wait_of_more_than_five_seconds_goes_to_the_caller() -> None:
    assert waits(5.5, calls=3) == []
    clock, tool = InstantClock(), Busy(runtime=fresh_runtime())
    with clock:
        for runs, wait_s in ((1, 6), (2, 12)):
            error = clock.run(tool.look()).error
            assert error is not None
            assert (error.retry.when, error.retry.after_seconds) == ("after_delay", wait_s)
            assert (error.stop_reason, tool.runs, clock.elapsed_s) == ("wait_too_long", runs, 0)


@pytest.mark.parametrize(
    ("asked_s", "options"),
    [
        (3.0, {"patience_s": 1.0, "cap_s": 5.0}),
        (12.01, {"patience_s": 12}),
        (3600, {"patience_s": 12}),
        (float("inf"), {}),
    ],
)
def test_a_wait_above_the_patience_goes_to_the_caller_also_below_the_cap_of_own_pauses(
    asked_s: float, options: dict[str, float]
) -> None:
    assert waits(asked_s, calls=3, **options) == []


@pytest.mark.parametrize(
    ("asked_s", "patience_s"),
    [(0.01, 5.0), (0.5, 5.0), (3.0, 60.0), (3.5, 5.0), (5.0, 5.0), (12.0, 12.0), (20.0, 60.0)],
)
def test_callers_that_are_asked_to_wait_do_not_all_come_back_at_once(asked_s: float, patience_s: float) -> None:
    """200 callers after one `Retry-After`, spread over [after, after + max(2 s, after / 2)]."""
    found = waits(asked_s, patience_s=patience_s, base_s=0.1, cap_s=0.2)
    spread_s = max(2.0, asked_s / 2)
    assert asked_s <= found[0] < asked_s + 0.1 * spread_s
    assert asked_s + 0.9 * spread_s < found[-1] <= asked_s + spread_s
    most = max(sum(at <= other < at + 0.05 * spread_s for other in found) for at in found)
    assert most <= 0.15 * CALLS


def test_the_spread_ends_before_the_deadline() -> None:
    found = waits(500.0, patience_s=500.0)  # the call has 600 s
    assert 500 <= found[0] < found[-1] <= 540
    assert found[-1] - found[0] > 30


def test_a_wait_beyond_the_deadline_goes_to_the_caller() -> None:
    errors = [Unavailable(), RateLimited(retry_after_seconds=601)]

    def work() -> None:
        raise errors[min(tool.runs, 2) - 1]

    for first, runs in ((0, 2), (1, 1)):
        del errors[:first]
        clock, tool = InstantClock(), protected(Retry(patience_s=9_999), work=work)
        error = clock.run(tool.fetch()).error
        assert error is not None
        assert (error.code, error.stop_reason, error.retry.after_seconds) == ("RATE_LIMITED", "deadline", 601)
        assert (tool.runs, clock.elapsed_s < 1) == (runs, True)


@pytest.mark.parametrize("odd", [float("nan"), -5.0, "5", None, 0])
def test_a_wait_that_makes_no_sense_is_not_waited_for(odd: Any) -> None:
    found = waits(odd, calls=5)
    assert (len(found), max(found) <= 0.1) == (5, True)

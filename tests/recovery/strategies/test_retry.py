"""Retrying: how often, how long in between, and when not at all. No test waits: sleep and randomness are injected."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from failsoft import (
    BaseTool,
    CallContext,
    CircuitOpen,
    ConfigurationError,
    NotFound,
    Overloaded,
    RateLimited,
    RecoveryManager,
    Retry,
    Timeout,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.recovery import RetryOptions
from tests.doors import decorrelated_jitter, full_jitter
from tests.framework.recording import Recording, quiet_runtime

pytestmark = pytest.mark.anyio


class Clock:
    """Sleeps without waiting, and notes for how long; draws given numbers."""

    def __init__(self, draw: Callable[[float, float], float] = lambda _low, high: high) -> None:
        self.slept: list[float] = []
        self.bounds: list[tuple[float, float]] = []
        self._draw = draw

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def uniform(self, low: float, high: float) -> float:
        self.bounds.append((low, high))
        return self._draw(low, high)

    def retry(self, **options: Any) -> Retry:
        return Retry(**options, sleep=self.sleep, uniform=self.uniform)


class Failing(BaseTool):
    """Raises configured errors, run by run; then returns the number of the run."""

    def __init__(self, retry: Retry, *raised: Any, metrics: Recording | None = None) -> None:
        manager = RecoveryManager()
        manager.register(ToolError, retry)
        super().__init__(runtime=quiet_runtime(recovery=manager, metrics=metrics))
        self.raised = list(raised)
        self.attempts: list[int] = []

    def _run(self, call: CallContext) -> int:
        self.attempts.append(call.attempt)
        if self.raised:
            raise self.raised.pop(0)
        return call.attempt

    @operation(read_only=True, timeout=20)
    async def read(self, call: CallContext) -> int:
        """Change nothing."""
        return self._run(call)

    @operation(idempotent=True, timeout=20)
    def put(self, call: CallContext) -> int:
        """Do it again without harm, in a thread."""
        return self._run(call)

    @operation(timeout=20)
    async def write(self, call: CallContext) -> int:
        """Do it twice if it is run twice."""
        return self._run(call)


async def test_a_transient_error_is_tried_again_until_it_works() -> None:
    clock, metrics = Clock(), Recording()
    tool = Failing(clock.retry(), Timeout(), Unavailable(), metrics=metrics)
    response = await tool.read()
    assert response.data == 3
    assert tool.attempts == [1, 2, 3]
    assert response.metadata.recovery is not None
    assert response.metadata.recovery.to_dict() == {
        "strategy": "retry",
        "message": response.metadata.recovery.message,
        "attempts": 3,
    }
    assert metrics.of("attempted") == ["timeout", "error", "ok"]
    assert metrics.of("recovery") == [("retry", "recovered")]
    assert metrics.of("finished") == ["recovered"]


async def test_pauses_double_up_to_the_cap_with_full_jitter() -> None:
    clock = Clock()
    tool = Failing(clock.retry(attempts=6, base_s=0.5, cap_s=3), *[Unavailable() for _ in range(5)])
    assert (await tool.read()).data == 6
    assert clock.slept == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert {low for low, _ in clock.bounds} == {0.0}


async def test_the_pause_that_is_made_is_the_one_that_was_found_to_fit() -> None:
    drawn = iter([0.0, 0.2, 0.1, 0.05, 0.3, 0.01, 0.02, 0.03])
    clock = Clock(lambda _low, _high: next(drawn))
    tool = Failing(clock.retry(attempts=4), *[Unavailable() for _ in range(3)])
    await tool.read()
    assert len(clock.slept) == 3
    assert len(clock.bounds) == 3


@pytest.mark.parametrize("attempts", [2, 3, 5])
async def test_it_gives_up_after_the_attempts_and_raises_the_last_error(attempts: int) -> None:
    clock = Clock()
    errors = [*[Unavailable() for _ in range(attempts - 1)], Overloaded(), Overloaded()]
    tool = Failing(clock.retry(attempts=attempts), *errors)
    response = await tool.read()
    assert response.error is not None
    assert response.error.code == "OVERLOADED"
    assert tool.attempts == list(range(1, attempts + 1))
    assert len(clock.slept) == attempts - 1


@pytest.mark.parametrize(
    ("asked", "latest"),
    [(2.0, 4.0), (8.0, 12.0), (0.01, 2.01), (0, 0.1), (12.0, 12.0), (12.01, None), (3600, None), (float("inf"), None)],
)
async def test_a_wait_that_the_service_asks_for_is_a_minimum_whatever_caps_our_own(
    asked: float, latest: float | None
) -> None:
    clock = Clock()
    tool = Failing(clock.retry(base_s=0.1, cap_s=0.2, patience_s=12), RateLimited(retry_after_seconds=asked))
    response = await tool.read()
    assert response.success is (latest is not None)
    assert [asked <= slept <= latest for slept in clock.slept if latest is not None] == [True] * len(clock.slept)
    assert len(clock.slept) == (latest is not None)


@pytest.mark.parametrize("asked", [0.5, 3, 8])
@pytest.mark.parametrize("seed", range(3))
async def test_callers_that_are_asked_to_wait_do_not_all_come_back_at_once(asked: float, seed: int) -> None:
    """200 callers after one `Retry-After`: in no tenth of a second more than a tenth of them."""
    clock = Clock(random.Random(seed).uniform)  # noqa: S311 - the same spread each time
    tool = Failing(clock.retry())
    for _ in range(200):
        tool.raised = [RateLimited(retry_after_seconds=asked)]
        await tool.read()
    slept = clock.slept
    assert len(slept) == 200
    assert asked <= min(slept) < max(slept) <= asked + max(2, asked / 2)
    most = max(sum(1 for other in slept if at <= other < at + 0.1) for at in slept)
    assert most <= 20


@pytest.mark.parametrize("odd", [float("nan"), -5.0, "5", None, 0])
async def test_a_wait_that_makes_no_sense_is_not_waited_for(odd: float) -> None:
    clock = Clock()
    tool = Failing(clock.retry(base_s=0.1), RateLimited(retry_after_seconds=odd))
    assert (await tool.read()).success
    assert clock.slept == [0.1]


async def test_it_never_waits_past_the_deadline() -> None:
    clock = Clock()
    tool = Failing(clock.retry(cap_s=60), RateLimited(retry_after_seconds=30))
    response = await tool.read()
    assert response.error is not None
    assert (response.error.code, clock.slept) == ("RATE_LIMITED", [])
    later = Failing(clock.retry(cap_s=60, attempts=3), Unavailable(), RateLimited(retry_after_seconds=30))
    response = await later.read()
    assert response.error is not None
    assert (response.error.code, later.attempts, len(clock.slept)) == ("RATE_LIMITED", [1, 2], 1)
    assert response.error.retry.after_seconds == 30


@pytest.mark.parametrize("error", [NotFound(), ConfigurationError(issue="x"), ValueError(), SystemExit()])
async def test_only_what_waiting_may_cure_is_tried_again(error: BaseException) -> None:
    clock = Clock()
    tool = Failing(clock.retry(), error)
    assert not (await tool.read()).success
    assert (tool.attempts, clock.slept) == ([1], [])


async def test_an_error_that_ends_the_retrying_is_the_one_that_is_raised() -> None:
    clock = Clock()
    tool = Failing(clock.retry(), Unavailable(), NotFound(message="It is gone now."))
    response = await tool.read()
    assert response.error is not None
    assert (response.error.code, tool.attempts) == ("NOT_FOUND", [1, 2])


@pytest.mark.parametrize(
    ("name", "errors", "attempts"),
    [
        ("put", [Timeout(), Timeout()], [1, 2, 3]),
        ("write", [Timeout()], [1]),
        ("write", [RateLimited(effect="none"), Timeout()], [1, 2]),
        ("write", [RateLimited(effect="none"), RateLimited(effect="none")], [1, 2, 3]),
        ("write", [ConnectionResetError(104, "reset")], [1]),
        ("write", [ConnectionRefusedError(111, "refused")], [1]),
    ],
)
async def test_the_guard_holds_for_every_run(name: str, errors: list[Any], attempts: list[int]) -> None:
    tool = Failing(Clock().retry(), *errors)
    await tool.execute_with_error_handling(name, {})
    assert tool.attempts == attempts


async def test_decorrelated_pauses_grow_from_the_pause_before_up_to_the_cap() -> None:
    clock = Clock()
    retry = clock.retry(attempts=6, base_s=0.5, cap_s=10, jitter="decorrelated")
    tool = Failing(retry, *[Unavailable() for _ in range(5)])
    assert (await tool.read()).data == 6
    assert clock.slept == [0.5, 1.5, 4.5, 10.0, 10.0]
    assert clock.bounds == [(0.5, 0.5), (0.5, 1.5), (0.5, 4.5), (0.5, 13.5), (0.5, 30.0)]


@pytest.mark.parametrize(
    ("errors", "stop_reason", "attempts"),
    [
        ([Unavailable() for _ in range(9)], "attempts", 3),
        ([RateLimited(retry_after_seconds=9.01)], "wait_too_long", 1),
        ([Unavailable(), RateLimited(retry_after_seconds=9.01)], "wait_too_long", 2),
        ([Unavailable(), NotFound()], "not_transient", 2),
        ([CircuitOpen(retry_after_seconds=0)], "circuit_open", 1),
    ],
)
async def test_the_answer_says_why_there_was_no_further_run(errors: Any, stop_reason: str, attempts: int) -> None:
    tool = Failing(Clock().retry(patience_s=9), *errors)
    response = await tool.read()
    assert response.error is not None
    assert (response.error.stop_reason, tool.attempts[-1]) == (stop_reason, attempts)


async def test_a_wait_beyond_the_deadline_is_the_reported_reason() -> None:
    response = await Failing(Clock().retry(cap_s=60), RateLimited(retry_after_seconds=30)).read()
    assert response.error is not None
    assert response.error.stop_reason == "deadline"


class Purse:
    """A budget of so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.asked = 0

    async def withdraw(self) -> bool:
        self.asked += 1
        self.tokens -= 1
        return self.tokens >= 0


async def test_every_further_run_takes_a_token_and_none_is_asked_for_in_vain() -> None:
    tool, purse = Failing(Clock().retry(attempts=9), *[Unavailable() for _ in range(9)]), Purse(2)
    bound = tool.operations["read"]
    bound.use(replace(bound.chain, recovery=replace(bound.chain.recovery, budget=purse)))
    response = await tool.read()
    assert response.error is not None
    assert (response.error.stop_reason, tool.attempts, purse.asked) == ("budget", [1, 2, 3], 3)
    for raised in (NotFound(), RateLimited(retry_after_seconds=99)):
        tool.raised = [raised]
        await tool.read()
    tool.raised = []
    await tool.read()
    assert purse.asked == 3


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 1},
        {"base_s": -1},
        {"base_s": 2, "cap_s": 1},
        {"attempts": 0},
        {"jitter": "none"},
        {"patience_s": -1},
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="Retry"):
        Retry(**options)


@given(attempt=st.integers(1, 10_000), base_s=st.floats(0, 10), factor=st.floats(1, 100), part=st.floats(0, 1))
def test_the_jitter_stays_between_zero_and_the_cap(attempt: int, base_s: float, factor: float, part: float) -> None:
    options = RetryOptions(attempts=2, base_s=base_s, cap_s=base_s * factor)
    pause = full_jitter(attempt, options, lambda low, high: low + part * (high - low))
    assert 0 <= pause <= options.cap_s
    assert pause <= base_s * 2.0 ** min(attempt - 1, 64)


@given(before_s=st.floats(0, 100), base_s=st.floats(0, 10), factor=st.floats(1, 100), part=st.floats(0, 1))
def test_a_decorrelated_pause_is_at_least_the_base_and_at_most_the_cap(
    before_s: float, base_s: float, factor: float, part: float
) -> None:
    options = RetryOptions(attempts=2, base_s=base_s, cap_s=base_s * factor, jitter="decorrelated")
    pause = decorrelated_jitter(before_s, options, lambda low, high: min(high, low + part * (high - low)))
    assert base_s <= pause <= options.cap_s

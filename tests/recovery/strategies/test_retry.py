"""Retrying: how often, how long in between, and when not at all. No test waits: its clock jumps."""

from __future__ import annotations

import random
import weakref
from dataclasses import replace
from typing import Any

import pytest

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
from failsoft.testing import InstantClock
from tests.framework.recording import Recording, noted, quiet_runtime, without_garbage_collection


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


def called(tool: Failing, name: str = "read") -> tuple[Any, list[float]]:
    """Return the answer of a call, and its pauses in seconds."""
    clock = InstantClock()
    return clock.run(tool.execute_with_error_handling(name, {})), clock.jumps


def test_a_transient_error_is_tried_again_until_it_works() -> None:
    metrics = Recording()
    tool = Failing(Retry(), Timeout(), Unavailable(), metrics=metrics)
    response, pauses = called(tool)
    assert response.data == 3
    assert tool.attempts == [1, 2, 3]
    assert len(pauses) == 2
    assert response.metadata.recovery.to_dict() == {
        "strategy": "retry",
        "message": response.metadata.recovery.message,
        "attempts": 3,
    }
    assert metrics.of("attempted") == ["timeout", "error", "ok"]
    assert metrics.of("recovery") == [("retry", "recovered")]
    assert metrics.of("finished") == ["recovered"]


def test_pauses_double_up_to_the_cap_with_full_jitter() -> None:
    random.seed(1)
    retry = Retry(attempts=6, base_s=0.5, cap_s=3)
    drawn = [called(Failing(retry, *[Unavailable() for _ in range(5)]))[1] for _ in range(100)]
    for bound, pauses in zip([0.5, 1.0, 2.0, 3.0, 3.0], zip(*drawn, strict=True), strict=True):
        assert 0 < min(pauses) < 0.1 * bound
        assert 0.9 * bound < max(pauses) <= bound


def test_a_pause_either_ends_before_the_deadline_or_is_not_made() -> None:
    random.seed(1)
    outcomes: set[bool] = set()
    for _ in range(50):
        response, pauses = called(Failing(Retry(attempts=2, base_s=40, cap_s=40), Unavailable()))
        outcomes.add(response.success)
        assert max(pauses, default=0) < 20
        assert response.success or (response.error.stop_reason, pauses) == ("deadline", [])
    assert outcomes == {True, False}


@pytest.mark.parametrize("attempts", [2, 3, 5])
def test_it_gives_up_after_the_attempts_and_raises_the_last_error(attempts: int) -> None:
    errors = [*[Unavailable() for _ in range(attempts - 1)], Overloaded(), Overloaded()]
    tool = Failing(Retry(attempts=attempts), *errors)
    response, pauses = called(tool)
    assert response.error.code == "OVERLOADED"
    assert tool.attempts == list(range(1, attempts + 1))
    assert len(pauses) == attempts - 1


@pytest.mark.parametrize("error", [NotFound(), ConfigurationError(issue="x"), ValueError(), SystemExit()])
def test_only_what_waiting_may_cure_is_tried_again(error: BaseException) -> None:
    metrics = Recording()
    tool = Failing(Retry(), error, metrics=metrics)
    response, pauses = called(tool)
    assert not response.success
    assert (tool.attempts, pauses) == ([1], [])
    assert metrics.of("recovery") == [("retry", "skipped")]


def test_an_error_that_ends_the_retrying_is_the_one_that_is_raised() -> None:
    metrics = Recording()
    tool = Failing(Retry(), Unavailable(), NotFound(message="It is gone now."), metrics=metrics)
    response, _ = called(tool)
    assert (response.error.code, tool.attempts) == ("NOT_FOUND", [1, 2])
    assert metrics.of("recovery") == [("retry", "failed")]


def test_one_error_that_is_raised_by_every_run_is_retried_like_others() -> None:
    error = Unavailable()
    tool = Failing(Retry(), error, error, error)
    response, _ = called(tool)
    assert (response.error.code, response.error.stop_reason, tool.attempts) == ("UNAVAILABLE", "attempts", [1, 2, 3])


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
def test_the_guard_holds_for_every_run(name: str, errors: list[Any], attempts: list[int]) -> None:
    tool = Failing(Retry(), *errors)
    called(tool, name)
    assert tool.attempts == attempts


@pytest.mark.parametrize(
    ("errors", "stop_reason", "attempts"),
    [
        ([Unavailable() for _ in range(9)], "attempts", 3),
        ([RateLimited(retry_after_seconds=9.01)], "wait_too_long", 1),
        ([RateLimited(retry_after_seconds=float("inf"))], "wait_too_long", 1),
        ([Unavailable(), RateLimited(retry_after_seconds=9.01)], "wait_too_long", 2),
        ([Unavailable(), Unavailable(), RateLimited(retry_after_seconds=9.01)], "attempts", 3),
        ([Unavailable(), NotFound()], "not_transient", 2),
        ([CircuitOpen(retry_after_seconds=0)], "circuit_open", 1),
    ],
)
def test_the_answer_says_why_there_was_no_further_run(errors: Any, stop_reason: str, attempts: int) -> None:
    tool = Failing(Retry(patience_s=9), *errors)
    response, _ = called(tool)
    assert (response.error.stop_reason, tool.attempts[-1]) == (stop_reason, attempts)


class Purse:
    """A budget of so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.asked = 0

    async def withdraw(self) -> bool:
        self.asked += 1
        self.tokens -= 1
        return self.tokens >= 0


def test_every_further_run_takes_a_token_and_none_is_asked_for_in_vain() -> None:
    tool, purse = Failing(Retry(attempts=9), *[Unavailable() for _ in range(9)]), Purse(2)
    bound = tool.operations["read"]
    bound.use(replace(bound.chain, recovery=replace(bound.chain.recovery, budget=purse)))
    response, _ = called(tool)
    assert (response.error.stop_reason, tool.attempts, purse.asked) == ("budget", [1, 2, 3], 3)
    for raised in (NotFound(), RateLimited(retry_after_seconds=99)):
        tool.raised = [raised]
        called(tool)
    tool.raised = []
    called(tool)
    assert purse.asked == 3


@pytest.mark.parametrize("failures", [1, 3])
def test_a_call_that_was_run_again_leaves_no_reference_cycles(failures: int) -> None:
    raised: list[weakref.ref[Unavailable]] = []

    async def main() -> None:
        tool = Failing(Retry(base_s=0), *[noted(Unavailable(), raised) for _ in range(failures)])
        with without_garbage_collection():
            assert (await tool.read()).success is (failures < 3)
            assert tool.raised == []
            assert [error() for error in raised] == [None] * failures

    InstantClock().run(main())


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 1},
        {"base_s": -1},
        {"base_s": 2, "cap_s": 1},
        {"attempts": 0},
        {"patience_s": -1},
        {"attempts": float("nan")},
        {"base_s": float("inf"), "cap_s": float("inf")},
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="Retry"):
        Retry(**options)

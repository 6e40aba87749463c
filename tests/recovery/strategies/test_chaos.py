"""Faults on purpose: seeded, counted like real ones, and only where they are let in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import (
    AttemptTimeout,
    BaseTool,
    CallContext,
    Chaos,
    ConfigurationError,
    RateLimited,
    RecoveryManager,
    Retry,
    operation,
)
from failsoft.testing import InstantClock
from tests.doors import CallScope
from tests.framework.recording import Recording, quiet_runtime


class Working(BaseTool):
    """Works, unless it is disturbed."""

    def __init__(self, *strategies: Any, metrics: Recording | None = None) -> None:
        manager = RecoveryManager()
        manager.add(*strategies)
        super().__init__(runtime=quiet_runtime(recovery=manager, metrics=metrics))
        self.effects = 0

    @operation(read_only=True, timeout=60)
    async def read(self, number: int = 1) -> int:
        """Change nothing."""
        return number

    @operation(timeout=60)
    async def write(self, number: int = 1) -> int:
        """Do it twice if it is run twice."""
        self.effects += 1
        return number

    @operation(read_only=True, timeout=60)
    def read_in_thread(self) -> int:
        """Change nothing, in a thread."""
        return 1


def answers(tool: Working, name: str = "read", times: int = 1) -> list[Any]:
    async def call() -> list[Any]:
        return [await tool.execute_with_error_handling(name, {}) for _ in range(times)]

    return InstantClock().run(call())


def codes(responses: list[Any]) -> list[str]:
    return [response.error.code if response.error else "" for response in responses]


def test_the_same_seed_gives_the_same_faults_and_each_operation_its_own() -> None:
    runs = {
        (seed, name): codes(answers(Working(Chaos(seed, fault=0.3)), name, 50))
        for seed in (1, 2)
        for name in ("read", "write")
    }
    assert runs[1, "read"] == codes(answers(Working(Chaos(1, fault=0.3)), "read", 50))
    assert len({tuple(run) for run in runs.values()}) == 4
    assert 5 < runs[1, "read"].count("UNAVAILABLE") < 25


def test_another_share_does_not_shift_the_faults() -> None:
    alone = codes(answers(Working(Chaos(7, fault=0.3)), times=50))
    both = codes(answers(Working(Chaos(7, fault=0.3, wrong=0.2)), times=50))
    assert [code for code in both if code == "UNAVAILABLE"] == [code for code in alone if code]
    assert [alone[at] for at in range(50) if both[at] == "UNAVAILABLE"] == [code for code in alone if code]


@pytest.mark.parametrize(
    ("options", "name", "code", "effect", "attempts"),
    [
        ({"fault": 1.0}, "write", "UNAVAILABLE", "unknown", ["error"]),
        ({"fault": 1.0, "error": RateLimited}, "read", "RATE_LIMITED", "none", ["error"]),
        ({"fault": 1.0, "error": lambda: OSError(28, "full")}, "write", "STORAGE_ERROR", "unknown", ["error"]),
        ({"lost": 1.0}, "write", "UNAVAILABLE", "applied", ["ok"]),
        ({"wrong": 1.0}, "write", "BAD_OUTPUT", "applied", ["error"]),
        ({"wrong": 1.0, "outcome": {"success": False}}, "read", "REPORTED_FAILURE", "none", ["error"]),
        ({"cancelled": 1.0}, "write", "UNKNOWN_ERROR", "unknown", ["error"]),
        ({"fault": 1.0}, "read_in_thread", "UNAVAILABLE", "none", ["error"]),
    ],
    ids=["fault", "other", "foreign", "lost", "wrong", "reported", "cancelled", "in a thread"],
)
def test_each_fault_is_counted_and_reported_as_a_real_one(
    options: dict[str, Any], name: str, code: str, effect: str, attempts: list[str]
) -> None:
    metrics = Recording()
    (response,) = answers(Working(Chaos(1, **options), metrics=metrics), name)
    assert (response.error.code, response.error.effect) == (code, effect)
    assert metrics.of("attempted") == attempts
    assert metrics.of("finished") == ["error"]


def test_the_handler_does_its_work_only_where_its_answer_is_lost() -> None:
    lost, failed = Working(Chaos(1, lost=1.0), Retry(base_s=0)), Working(Chaos(1, fault=1.0), Retry(base_s=0))
    assert codes(answers(lost, "write") + answers(failed, "write")) == ["UNAVAILABLE", "UNAVAILABLE"]
    assert (lost.effects, failed.effects) == (1, 0)


def test_a_run_is_held_up_on_the_clock() -> None:
    clock = InstantClock()
    assert clock.run(Working(Chaos(1, latency_s=5.0)).read()).data == 1
    assert clock.elapsed_s == 5
    assert codes(answers(Working(Chaos(1, latency_s=5.0), AttemptTimeout(1)))) == ["TIMEOUT"]
    assert clock.run(Working(Chaos(1, latency_s=5.0, latency=0.0)).read()).data == 1
    assert clock.elapsed_s == 5


def test_what_it_breaks_the_rest_of_the_chain_recovers() -> None:
    metrics = Recording()
    tool = Working(Chaos(3, fault=0.4), Retry(attempts=8, base_s=0), metrics=metrics)
    assert codes(answers(tool, times=100)) == [""] * 100
    assert metrics.of("attempted").count("error") > 30
    assert metrics.of("finished").count("recovered") > 20


def test_the_gate_lets_in_only_some_calls() -> None:
    tool = Working(Chaos(1, fault=1.0, gate=lambda call: call.principal == "tester"))
    bound = tool.operations["read"]

    async def both() -> list[Any]:
        return [await bound.call({}, CallScope(principal=name)) for name in ("ann", "tester")]

    assert codes(asyncio.run(both())) == ["", "UNAVAILABLE"]


def test_it_is_innermost_and_only_where_it_was_requested() -> None:
    assert Working(Retry()).describe()["read"] == [*Working().describe()["read"][:-1], "recover:retry", "handler"]
    chain = Working(Chaos(1), AttemptTimeout(1)).describe()["read"]
    assert chain[-3:] == ["attempt_timeout", "chaos", "handler"]


def test_a_handler_that_comes_with_the_call_is_disturbed_too() -> None:
    async def own() -> int:
        return 5

    tool = Working(Chaos(1, fault=0.5))
    results = [asyncio.run(tool.execute_with_error_handling("read", {}, own)) for _ in range(20)]
    assert {response.data for response in results} == {5, None}


@pytest.mark.parametrize(
    "options", [{"fault": 1.1}, {"lost": -0.1}, {"latency": 2}, {"latency_s": -1}, {"latency_s": float("inf")}]
)
def test_shares_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="Chaos"):
        Chaos(1, **options)  # type: ignore[arg-type]


def test_two_of_them_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="'chaos'"):
        Working(Chaos(1), Chaos(2))


def test_every_run_of_a_call_has_its_own_fate() -> None:
    seen: list[int] = []

    class Noting(BaseTool):
        @operation(read_only=True, recovery=[Chaos(4, fault=0.5), Retry(attempts=9, base_s=0)])
        async def read(self, call: CallContext) -> int:
            """Note which run it is."""
            seen.append(call.attempt)
            return call.attempt

    tool = Noting(runtime=quiet_runtime())
    for _ in range(20):
        InstantClock().run(tool.read())
    assert len(set(seen)) > 2

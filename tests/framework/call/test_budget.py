"""One budget for a whole call: time and runs hold for nested calls, and are read from and sent to other servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, Hedge, Retry, Unavailable, operation
from failsoft.testing import InstantClock
from tests.doors import BUDGET_KEY, CallScope, current_budget
from tests.framework.recording import quiet_runtime


class Layers(BaseTool):
    """Three operations, each calling the next."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.runs = 0
        self.seen: list[dict[str, int]] = []
        self.timeouts: list[float | None] = []

    @operation(read_only=True, timeout=30, recovery=[Retry(attempts=3, base_s=0)])
    async def top(self) -> str:
        """Call the middle."""
        return await self.middle()  # type: ignore[return-value]  # its answer is the answer of this one

    @operation(read_only=True, timeout=30, recovery=[Retry(attempts=3, base_s=0)])
    async def middle(self) -> str:
        """Call the bottom."""
        return await self.bottom()  # type: ignore[return-value]  # its answer is the answer of this one

    @operation(read_only=True, timeout=30, recovery=[Retry(attempts=3, base_s=0)])
    async def bottom(self) -> str:
        """Fail."""
        self.runs += 1
        self.seen.append(current_budget())
        raise Unavailable

    @operation(read_only=True, timeout=0.5)
    async def short(self, call: CallContext) -> str:
        """Have half a second, and call what takes longer."""
        self.timeouts.append(call.http_timeout())
        return await self.long()  # type: ignore[return-value]  # its answer is the answer of this one

    @operation(read_only=True, timeout=30)
    async def long(self, call: CallContext) -> str:
        """Take ten seconds."""
        self.timeouts.append(call.remaining_s())
        await asyncio.sleep(10)
        return "late"

    @operation(read_only=True)
    async def endless(self) -> str:
        """Take ten seconds, and have no limit."""
        self.seen.append(current_budget())
        await asyncio.sleep(10)
        return "done"

    @operation(read_only=True, timeout=60, recovery=[Hedge(1.0), Retry(attempts=2, base_s=0)])
    async def hedged(self) -> str:
        """Take two seconds, and fail."""
        self.runs += 1
        await asyncio.sleep(2)
        raise Unavailable


@pytest.fixture
def layers() -> Layers:
    return Layers(runtime=quiet_runtime())


@pytest.mark.parametrize("name", ["bottom", "middle", "top"])
def test_a_failure_that_was_retried_below_is_not_retried_above(layers: Layers, name: str) -> None:
    """Three layers of three attempts each made 15 runs of the lowest."""
    response = InstantClock().run(layers.operations[name].call({}))
    assert response.error is not None
    assert (response.error.code, layers.runs) == ("UNAVAILABLE", 3)


def test_nested_calls_end_with_the_call_that_they_are_part_of(layers: Layers) -> None:
    clock = InstantClock()
    response = clock.run(layers.operations["short"].call({}))
    assert response.error is not None
    assert clock.elapsed_s == pytest.approx(0.5, abs=0.05)
    assert layers.timeouts[0] == pytest.approx(0.475, abs=0.01)
    assert layers.timeouts[1] == pytest.approx(0.5, abs=0.01)


def test_a_request_may_bring_less_time_and_fewer_runs(layers: Layers) -> None:
    async def main() -> None:
        scope = CallScope(meta={BUDGET_KEY: {"remaining_ms": 200, "runs_left": 2}})
        await layers.bottom.call({}, scope)
        assert layers.runs == 2
        assert [budget["runs_left"] for budget in layers.seen] == [2, 1]
        assert all(0 < budget["remaining_ms"] <= 200 for budget in layers.seen)
        began = asyncio.get_running_loop().time()
        response = await layers.long.call({}, scope)
        assert response.error is not None
        assert response.error.code == "DEADLINE_EXCEEDED"
        assert asyncio.get_running_loop().time() - began == pytest.approx(0.2, abs=0.05)

    InstantClock().run(main())


def test_an_operation_without_a_limit_keeps_to_the_time_that_its_request_brings() -> None:
    layers = Layers(runtime=quiet_runtime(default_timeout_s=0))
    bound = layers.operations["endless"]
    assert bound.timeout_s is None

    async def main() -> None:
        response = await bound.call({}, CallScope(meta={BUDGET_KEY: {"remaining_ms": 200}}))
        assert response.error is not None
        assert response.error.code == "DEADLINE_EXCEEDED"
        assert 0 < layers.seen[0]["remaining_ms"] <= 200
        assert (await bound.call({})).success

    InstantClock().run(main())


@pytest.mark.parametrize(
    "seen",
    [
        None,
        5,
        [],
        {"remaining_ms": "1"},
        {"remaining_ms": float("nan"), "runs_left": True},
        {"runs_left": None},
        {"remaining_ms": 10**400, "runs_left": 10**400},
    ],
    ids=["none", "a number", "a list", "a text", "not a number", "null", "too large"],
)
def test_a_budget_that_is_none_bounds_nothing(layers: Layers, seen: Any) -> None:
    InstantClock().run(layers.bottom.call({}, CallScope(meta={BUDGET_KEY: seen})))
    assert layers.runs == 3


def test_a_request_cannot_ask_for_more_than_the_operation_has(layers: Layers) -> None:
    InstantClock().run(layers.bottom.call({}, CallScope(meta={BUDGET_KEY: {"remaining_ms": 10**9, "runs_left": 100}})))
    assert layers.runs == 3


def test_hedges_and_retries_count_together(layers: Layers) -> None:
    InstantClock().run(layers.hedged.call({}))
    assert layers.runs == 2


def test_outside_of_handlers_there_is_no_budget(layers: Layers) -> None:
    assert current_budget() == {}

"""The retry budget: what an outage costs at most, who shares it, and how it comes back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, RateLimit, RecoveryManager, Retry, Unavailable, operation
from failsoft.recovery import RetryBudget
from failsoft.testing import fresh_runtime
from tests.doors import KEPT, REFILL_S, withdraw
from tests.recovery.protected import Protected, codes, on_instant_clock, protected


def down() -> Any:
    raise Unavailable


@pytest.mark.parametrize("at_once", [1, 50, 1_000])
@pytest.mark.parametrize("good_days", [0, 500])
def test_a_total_outage_costs_at_most_a_fifth_and_the_floor(at_once: int, good_days: int) -> None:
    """1,000 calls with up to three attempts each, after nothing or after a long time without a failure."""

    async def main() -> None:
        tool = protected(Retry(attempts=3), RetryBudget(ratio=0.2, floor=10))
        for _ in range(good_days):
            assert await tool.code() == "ok"
        tool.work, before = down, tool.runs
        for _ in range(1_000 // at_once):
            assert await codes(tool.code() for _ in range(at_once)) == ["UNAVAILABLE"] * at_once
        assert (tool.runs - before) / 1_000 <= 1.02

    on_instant_clock(main())


def test_without_a_budget_the_same_outage_costs_three_times_the_calls() -> None:
    async def main() -> None:
        tool = protected(Retry(attempts=3), work=down)
        assert await codes(tool.code() for _ in range(100)) == ["UNAVAILABLE"] * 100
        assert tool.runs == 300

    on_instant_clock(main())


def test_a_call_that_finds_it_empty_says_so_and_ends_at_once() -> None:
    async def main() -> None:
        tool = protected(Retry(attempts=3, base_s=1.0), RetryBudget(ratio=0, floor=2), work=down)
        reasons = []
        for _ in range(3):
            answer = await tool.fetch()
            assert answer.error is not None
            reasons.append(answer.error.stop_reason)
        assert reasons == ["attempts", "budget", "repeated"]
        assert tool.runs == 5

    on_instant_clock(main())


def test_one_call_in_five_can_be_run_again_for_ever() -> None:
    async def main() -> None:
        number = 0

        def fails_every_fifth_time() -> Any:
            nonlocal number
            number += 1
            if number % 6 == 5:
                raise Unavailable
            return number

        tool = protected(Retry(attempts=2), RetryBudget(0.2, 1), work=fails_every_fifth_time)
        assert [await tool.code() for _ in range(1_000)] == ["ok"] * 1_000

    on_instant_clock(main())


def test_an_empty_budget_comes_back_to_its_floor_within_five_minutes() -> None:
    async def main() -> None:
        tool = protected(Retry(attempts=2), RetryBudget(ratio=0, floor=10), work=down)
        ledger = RetryBudget(0, 10).ledger(tool.operations["fetch"])
        assert [await ledger.withdraw() for _ in range(11)] == [True] * 10 + [False]
        await asyncio.sleep(REFILL_S / 2)
        assert [await ledger.withdraw() for _ in range(6)] == [True] * 5 + [False]
        await asyncio.sleep(3 * REFILL_S)
        assert [await ledger.withdraw() for _ in range(11)] == [True] * 10 + [False]

    on_instant_clock(main())


def test_toolsets_share_a_budget_by_the_name_of_their_dependency_and_by_nothing_else() -> None:
    async def main() -> None:
        runtime = fresh_runtime()
        one, other = (protected(RetryBudget(dependency="api"), runtime=runtime) for _ in range(2))
        alone, beside = (protected(RetryBudget(), runtime=runtime) for _ in range(2))
        budgets = [tool.operations["fetch"].chain.recovery.budget for tool in (one, other, alone, beside)]
        assert budgets[0] is budgets[1]
        assert len({id(budget) for budget in budgets}) == 3

    on_instant_clock(main())


def test_the_default_manager_gives_every_toolset_a_budget_of_its_own() -> None:
    runtime = fresh_runtime(recovery=RecoveryManager.default())
    one, other = (Protected(lambda: "", runtime).operations["fetch"].chain.recovery.budget for _ in range(2))
    assert one is not None
    assert other is not None
    assert one is not other


def test_an_operation_that_is_down_takes_nothing_from_its_neighbours() -> None:
    class Pair(BaseTool):
        flaky_runs = 0

        @operation(read_only=True)
        async def dead(self) -> str:
            """Is down."""
            raise Unavailable

        @operation(read_only=True)
        async def flaky(self) -> str:
            """Fails every other time."""
            self.flaky_runs += 1
            if self.flaky_runs % 2:
                raise Unavailable
            return "ok"

    async def main() -> None:
        manager = RecoveryManager({Unavailable: Retry(attempts=2)})
        manager.add(RetryBudget(ratio=1, floor=2))
        tool = Pair(runtime=fresh_runtime(recovery=manager))
        for _ in range(50):
            await tool.dead()
        assert [(await tool.flaky()).success for _ in range(100)] == [True] * 100

    on_instant_clock(main())


def test_what_this_server_turns_away_itself_costs_no_token() -> None:
    async def main() -> None:
        tool = protected(Retry(attempts=2), RetryBudget(ratio=0, floor=2), RateLimit("1/hour"))
        ledger = tool.operations["fetch"].chain.recovery.budget
        assert [await tool.code() for _ in range(10)] == ["ok"] + ["RATE_LIMITED"] * 9
        assert ledger is not None
        assert [await ledger.withdraw() for _ in range(3)] == [True, True, False]

    on_instant_clock(main())


def test_a_list_of_strategies_keeps_the_budget_in_force() -> None:
    async def main() -> None:
        budget = RetryBudget(ratio=0, floor=5)
        manager = RecoveryManager()
        manager.add(budget)
        kept = manager.with_strategies([Retry(attempts=5)])
        assert kept.describe() == ["retry"]
        tool = Listed(runtime=fresh_runtime(recovery=manager))
        for _ in range(100):
            await tool.fetch()
        assert tool.runs == 105

    on_instant_clock(main())


class Listed(BaseTool):
    """Has strategies of its own, and no budget among them."""

    runs = 0

    @operation(read_only=True, recovery=[Retry(attempts=5)])
    async def fetch(self) -> str:
        """Is down."""
        self.runs += 1
        raise Unavailable


def test_what_is_left_is_read_as_it_is_spent_earned_and_refilled() -> None:
    async def main() -> None:
        runtime = fresh_runtime()
        tool = protected(Retry(attempts=2), RetryBudget(0.5, 2), runtime=runtime, work=down)

        def left() -> float:
            [(name, labels, tokens)] = [gauge for gauge in runtime.gauges.read(shared=False) if "budget" in gauge[0]]
            assert (name, labels) == ("mcp_retry_budget_tokens", ("shop.fetch",))
            return tokens

        assert left() == 2
        assert await tool.code() == "UNAVAILABLE"
        spent = left()
        assert 1 <= spent < 1.1
        await asyncio.sleep(150)
        assert left() == pytest.approx(2)
        tool.work = lambda: "ok"
        assert await codes(tool.code() for _ in range(100)) == ["ok"] * 100
        assert left() == RetryBudget(0.5, 2).ceiling

    on_instant_clock(main())


@pytest.mark.parametrize(
    ("ratio", "floor"), [(-0.1, 1), (1.1, 1), (0.2, -1), (0.2, float("inf")), (0, 0), (float("nan"), 1)]
)
def test_options_that_make_no_budget_are_refused(ratio: float, floor: float) -> None:
    with pytest.raises(ValueError, match="RetryBudget needs"):
        RetryBudget(ratio, floor)


def test_a_retry_that_a_used_up_budget_refuses_writes_nothing() -> None:
    limits = (0.2, 10.0, 20.0, 300.0)
    state = {"tokens": 0.0, "at": 1_000.0}
    assert withdraw(state, 1_015.0, 0, *limits).state is KEPT
    assert withdraw(state, 1_030.0, 0, *limits).answer[0] == 1, "it refills nevertheless"
    assert withdraw(state, 1_015.0, 1, *limits).state["tokens"] == pytest.approx(0.7)
    assert withdraw(state, 400.0, 0, *limits).state["at"] == 400.0, "by a clock that was set back"

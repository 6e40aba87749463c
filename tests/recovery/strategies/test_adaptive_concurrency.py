"""Load shedding: the limit finds the service's own, lets go on time-outs, and turns callers away for nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from failsoft.recovery import AdaptiveConcurrency, AdaptiveConcurrencyOptions
from failsoft.testing import fresh_runtime
from tests.doors import next_limit
from tests.recovery.protected import Protected, codes, on_instant_clock, protected


class Service:
    """Does so many things at once, each for 0.1 seconds; whatever is more waits in its queue."""

    def __init__(self, room: int) -> None:
        self.room = asyncio.Semaphore(room)

    async def work(self) -> None:
        async with self.room:
            await asyncio.sleep(0.1)


async def load(tool: Protected, callers: int, calls: int) -> list[str]:
    """Return the codes of what so many callers get, each calling again as soon as it was answered."""

    async def caller() -> list[str]:
        answers = []
        for _ in range(calls):
            answers.append(await tool.code())
            if answers[-1] != "ok":
                await asyncio.sleep(0.05)
        return answers

    return [code for answers in await asyncio.gather(*(caller() for _ in range(callers))) for code in answers]


@pytest.mark.parametrize("start", [2, 20, 80])
def test_the_limit_comes_to_what_the_service_can_do_at_once(start: int) -> None:
    async def main() -> None:
        strategy = AdaptiveConcurrency(start=start, most=1_000)
        tool = protected(strategy, work=Service(room=10).work)
        assert set(await load(tool, callers=4, calls=50)) <= {"ok", "OVERLOADED"}
        await load(tool, callers=100, calls=40)
        gate = strategy.gate(tool.operations["fetch"])
        assert 8 <= gate.limit <= 40
        assert gate.in_flight == 0

    on_instant_clock(main())


def test_a_backlog_at_the_start_is_not_taken_for_the_usual_latency() -> None:
    async def main() -> None:
        service = Service(room=10)
        backlog = [asyncio.create_task(service.work()) for _ in range(300)]  # three seconds of work
        strategy = AdaptiveConcurrency(start=60, most=1_000)
        tool = protected(strategy, work=service.work)
        gate = strategy.gate(tool.operations["fetch"])
        await load(tool, callers=60, calls=150)
        assert gate.usual_s <= 0.25
        assert gate.limit <= 40
        await asyncio.wait(backlog)

    on_instant_clock(main())


def test_without_a_queue_the_limit_grows_to_the_demand() -> None:
    async def main() -> None:
        strategy = AdaptiveConcurrency(start=2)
        tool = protected(strategy, work=lambda: asyncio.sleep(0.1))
        await load(tool, callers=50, calls=120)
        assert strategy.gate(tool.operations["fetch"]).limit > 40

    on_instant_clock(main())


def test_time_outs_let_it_fall_to_its_least_and_no_further() -> None:
    async def main() -> None:
        strategy = AdaptiveConcurrency(start=20, least=3)
        tool = protected(strategy, work=lambda: asyncio.sleep(3_600))
        for _ in range(30):
            await codes(tool.code() for _ in range(5))
        assert strategy.gate(tool.operations["fetch"]).limit == 3

    on_instant_clock(main())


def test_an_answer_to_a_call_too_many_says_when_to_come_again() -> None:
    async def main() -> None:
        tool = protected(AdaptiveConcurrency(start=2), work=lambda: asyncio.sleep(0.25))
        assert [await tool.code() for _ in range(5)] == ["ok"] * 5
        busy = [asyncio.create_task(tool.code()) for _ in range(2)]
        await asyncio.sleep(0)
        error = (await tool.fetch()).error
        assert error is not None
        assert (error.code, error.effect, error.rejected) == ("OVERLOADED", "none", True)
        assert error.retry.after_seconds == pytest.approx(0.25, abs=0.01)
        await asyncio.wait(busy)

    on_instant_clock(main())


def test_cancelled_calls_teach_nothing_and_leave_nothing_behind() -> None:
    async def main() -> None:
        strategy = AdaptiveConcurrency(start=5)
        tool = protected(strategy, work=lambda: asyncio.sleep(3_600))
        calls = [asyncio.create_task(tool.code()) for _ in range(5)]
        await asyncio.sleep(1)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        gate = strategy.gate(tool.operations["fetch"])
        assert (gate.limit, gate.in_flight, gate.usual_s) == (2, 0, 0)

    on_instant_clock(main())


def test_operations_share_a_limit_by_the_name_of_their_dependency() -> None:
    runtime = fresh_runtime()
    one, other = AdaptiveConcurrency(dependency="api"), AdaptiveConcurrency(dependency="api")
    tools = [protected(strategy, runtime=runtime).operations["fetch"] for strategy in (one, other)]
    assert one.gate(tools[0]) is other.gate(tools[1])
    assert AdaptiveConcurrency().gate(tools[0]) is not AdaptiveConcurrency().gate(tools[1])


@given(st.floats(1, 200), st.floats(1e-6, 100), st.floats(0, 100), st.integers(0, 300))
def test_the_limit_stays_between_its_bounds_and_moves_by_a_tenth_at_most_when_it_falls(
    limit: float, usual_s: float, took_s: float, in_flight: int
) -> None:
    options = AdaptiveConcurrencyOptions(least=1)
    moved = next_limit(limit, usual_s, took_s, in_flight, options)
    assert options.least <= moved <= options.most
    assert moved >= limit * 0.9 - 1e-9
    assert moved <= limit + 1


def test_a_service_that_has_become_slower_for_good_is_measured_anew() -> None:
    async def main() -> None:
        strategy = AdaptiveConcurrency(start=20, most=50)
        tool = protected(strategy, work=lambda: asyncio.sleep(0.1))
        await load(tool, callers=20, calls=10)
        tool.work = lambda: asyncio.sleep(1)
        await load(tool, callers=20, calls=100)
        gate = strategy.gate(tool.operations["fetch"])
        assert gate.usual_s == pytest.approx(1, abs=0.05)
        assert gate.limit >= 20

    on_instant_clock(main())


@pytest.mark.parametrize(
    "options",
    [{"least": 0}, {"start": 1, "least": 2}, {"start": 300}, {"tolerance": 1}, {"tolerance": float("nan")}],
)
def test_options_that_make_no_limit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="AdaptiveConcurrency needs"):
        AdaptiveConcurrency(**options)

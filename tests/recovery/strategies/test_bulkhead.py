"""The bulkhead: never more at once than its limit, first come first served, and no place lost to a cancelled call."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from failsoft import BaseTool, Retry, Unavailable, operation
from failsoft.recovery import Bulkhead
from failsoft.testing import fresh_runtime
from tests.doors import CallScope
from tests.framework.recording import Recording
from tests.recovery.protected import Protected, codes, on_instant_clock, protected
from tests.thorough import examples


def takes(seconds: float) -> Any:
    return lambda: asyncio.sleep(seconds)


def test_who_finds_no_room_is_turned_away_at_once_and_its_handler_never_runs() -> None:
    async def main() -> None:
        metrics = Recording()
        tool = protected(Bulkhead(3), work=takes(1), metrics=metrics)
        assert await codes(tool.code() for _ in range(10)) == ["OVERLOADED"] * 7 + ["ok"] * 3
        assert (tool.most_at_once, tool.runs) == (3, 3)
        assert sorted(metrics.of("finished")) == ["ok"] * 3 + ["rejected"] * 7

    on_instant_clock(main())


def test_an_answer_to_a_call_without_room_says_that_nothing_was_done() -> None:
    async def main() -> None:
        tool = protected(Bulkhead(1), work=takes(1))
        first = asyncio.create_task(tool.code())
        await asyncio.sleep(0.5)
        error = (await tool.fetch()).error
        assert error is not None
        assert (error.category, error.effect, error.retry.when) == ("overloaded", "none", "after_delay")
        assert await first == "ok"

    on_instant_clock(main())


def test_who_may_wait_is_served_in_order() -> None:
    async def main() -> None:
        served: list[int] = []
        numbers = iter(range(100))

        async def work() -> None:
            served.append(next(numbers))
            await asyncio.sleep(1)

        tool = protected(Bulkhead(2, wait_s=60, queue=100), work=work)
        assert await codes(tool.code() for _ in range(20)) == ["ok"] * 20
        assert served == list(range(20))
        assert tool.most_at_once == 2

    on_instant_clock(main())


def test_no_call_waits_longer_than_allowed() -> None:
    async def main() -> None:
        tool = protected(Bulkhead(1, wait_s=2.5, queue=100), work=takes(1))
        began = asyncio.get_running_loop().time()
        assert await codes(tool.code() for _ in range(10)) == ["OVERLOADED"] * 7 + ["ok"] * 3
        assert asyncio.get_running_loop().time() - began == pytest.approx(3)

    on_instant_clock(main())


def test_a_call_whose_deadline_comes_first_hears_that_there_was_no_room() -> None:
    async def main() -> None:
        tool = protected(Bulkhead(1, wait_s=10_000, queue=100), work=takes(599))
        first = asyncio.create_task(tool.code())
        await asyncio.sleep(0)
        assert await tool.code() == "OVERLOADED"
        assert await first == "ok"

    on_instant_clock(main())


def test_a_pause_before_the_next_attempt_holds_no_room() -> None:
    async def main() -> None:
        outcomes = iter([Unavailable(retry_after_seconds=3), "one", "two"])

        def work() -> Any:
            outcome = next(outcomes)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        tool = protected(Retry(), Bulkhead(1), work=work)
        first = asyncio.create_task(tool.code())
        await asyncio.sleep(1)
        assert await tool.code() == "ok"
        assert await first == "ok"

    on_instant_clock(main())


def test_operations_share_room_by_the_name_of_their_dependency_and_by_nothing_else() -> None:
    async def main() -> None:
        runtime = fresh_runtime()
        named = [protected(Bulkhead(1, dependency="pool"), runtime=runtime, work=takes(1)) for _ in range(3)]
        assert await codes(tool.code() for tool in named) == ["OVERLOADED", "OVERLOADED", "ok"]
        unnamed = [protected(Bulkhead(1), runtime=runtime, work=takes(1)) for _ in range(3)]
        assert await codes(tool.code() for tool in unnamed) == ["ok"] * 3

    on_instant_clock(main())


def test_the_limit_that_was_given_last_holds() -> None:
    """As after a reload: the same dependency, bound anew with another number."""

    async def main() -> None:
        runtime = fresh_runtime()
        tool = protected(Bulkhead(1, wait_s=60, queue=100, dependency="pool"), runtime=runtime, work=takes(10))
        calls = [asyncio.create_task(tool.code()) for _ in range(4)]
        await asyncio.sleep(1)
        assert tool.running == 1
        protected(Bulkhead(4, dependency="pool"), runtime=runtime)
        await asyncio.sleep(1)
        assert tool.running == 4
        assert await codes(_awaited(call) for call in calls) == ["ok"] * 4

    on_instant_clock(main())


async def _awaited(task: asyncio.Task[str]) -> str:
    return await task


@settings(max_examples=examples(60))
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8), st.booleans()), min_size=1, max_size=12),
)
def test_wherever_calls_are_cancelled_every_place_comes_back(limit: int, calls: list[tuple[int, int, bool]]) -> None:
    """Each call is cancelled, or not, after so many turns of the event loop."""

    async def main() -> None:
        tool = protected(Bulkhead(limit, wait_s=5, queue=1_000))
        compartment = Bulkhead(limit).compartment(tool.operations["fetch"])
        tasks = []
        for cancelled_after, turns, is_cancelled in calls:
            tool.work = lambda turns=turns: _turn(turns)  # type: ignore[misc]
            task = asyncio.create_task(tool.code())
            tasks.append(task)
            if is_cancelled:
                asyncio.get_running_loop().create_task(_cancel(task, cancelled_after))
        await asyncio.wait(tasks)
        assert compartment.taken == 0
        assert tool.most_at_once <= limit
        tool.work = takes(1)
        assert await codes(tool.code() for _ in range(limit)) == ["ok"] * limit

    on_instant_clock(main())


async def _turn(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def _cancel(task: asyncio.Task[str], after: int) -> None:
    await _turn(after)
    task.cancel()


@pytest.mark.parametrize(("limit", "wait_s"), [(0, 0), (-1, 0), (1, -1), (1, float("nan")), (float("nan"), 0)])
def test_options_that_make_no_bulkhead_are_refused(limit: int, wait_s: float) -> None:
    with pytest.raises(ValueError, match="Bulkhead needs"):
        Bulkhead(limit, wait_s)


def test_a_toolset_that_is_gone_takes_its_states_along() -> None:
    runtime = fresh_runtime()
    private = runtime.state.private_to(tool := protected(Bulkhead(1), runtime=runtime))
    assert private is runtime.state.private_to(tool)
    kept = runtime.state._private  # type: ignore[attr-defined]
    assert len(kept) == 1
    assert isinstance(tool, Protected)
    del tool
    import gc  # noqa: PLC0415 - only here

    gc.collect()
    assert not kept


def test_the_queue_is_as_long_as_the_limit_unless_it_is_set() -> None:
    async def main() -> None:
        tool = protected(Bulkhead(2, wait_s=60), work=takes(1))
        assert sorted(await codes(tool.code() for _ in range(10))) == ["OVERLOADED"] * 6 + ["ok"] * 4
        none = protected(Bulkhead(2, wait_s=60, queue=0), work=takes(1))
        assert sorted(await codes(none.code() for _ in range(10))) == ["OVERLOADED"] * 8 + ["ok"] * 2

    on_instant_clock(main())


def test_a_flood_of_one_principal_does_not_keep_another_out() -> None:
    """120 calls of one principal were there first: the one call of the other was turned away."""

    async def main() -> None:
        tool = protected(Bulkhead(2, wait_s=60), work=takes(1))

        async def code(principal: str) -> str:
            response = await tool.operations["fetch"].call({}, CallScope(principal=principal))
            return "ok" if response.error is None else response.error.code

        flood = [asyncio.create_task(code("flood")) for _ in range(120)]
        await asyncio.sleep(0.5)
        began = asyncio.get_running_loop().time()
        assert await code("other") == "ok"
        assert asyncio.get_running_loop().time() - began <= 2.5
        answers = await asyncio.gather(*flood)
        assert answers.count("ok") == 3

    on_instant_clock(main())


def test_no_principal_takes_the_place_of_another_that_would_then_have_fewer() -> None:
    """A flood makes room for one with fewer waiting, never for one that would only change places with it."""

    async def main() -> None:
        tool = protected(Bulkhead(1, wait_s=60, queue=3), work=takes(1))

        async def code(principal: str) -> str:
            response = await tool.operations["fetch"].call({}, CallScope(principal=principal))
            return "ok" if response.error is None else response.error.code

        calls = [asyncio.create_task(code(principal)) for principal in ("one", "one", "one", "two", "two")]
        assert await asyncio.gather(*calls) == ["ok", "ok", "ok", "ok", "OVERLOADED"]

    on_instant_clock(main())


def test_a_place_is_held_until_a_thread_has_really_ended() -> None:
    """Each call gives up at once; its thread works on, and counts."""
    go = threading.Event()

    class Slow(BaseTool):
        most = at_once = 0

        @operation(read_only=True, timeout=0.05, recovery=[Bulkhead(2)])
        def work(self) -> None:
            """Wait in a thread."""
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            go.wait(60)
            self.at_once -= 1

    async def main() -> None:
        tool = Slow(runtime=fresh_runtime())
        seen = []
        for _ in range(6):
            error = (await tool.work()).error
            seen.append(error.code if error else "ok")
        assert seen == ["DEADLINE_EXCEEDED"] * 2 + ["OVERLOADED"] * 4
        assert tool.most == 2
        go.set()
        async with asyncio.timeout(60):
            while (await tool.work()).error is not None:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)

    asyncio.run(main())

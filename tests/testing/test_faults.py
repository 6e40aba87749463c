"""Scripts of outcomes: played in order, in the place of a handler, under the operation's own chain."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, NotFound, Retry, Unavailable, operation
from failsoft.testing import Delay, FaultScript, Hang, InstantClock, connected
from tests.framework.recording import quiet_runtime


class Stock(BaseTool):
    """What is on the shelves."""

    @operation(read_only=True, timeout=20)
    async def count(self, item: str) -> int:
        """Return how many there are."""
        return len(item)

    @operation(read_only=True, timeout=20, recovery=[Retry(attempts=3, base_s=0.5, cap_s=5)])
    def reserve(self, item: str, call: CallContext) -> int:
        """Be sync, be given the call, and be tried again."""
        return call.attempt


@pytest.fixture
def stock() -> Stock:
    return Stock(runtime=quiet_runtime())


def test_outcomes_are_played_in_their_order_and_the_last_one_stays(stock: Stock) -> None:
    script = FaultScript(1, NotFound(message="none"), ValueError, Delay(3, Delay(4, 2)))

    async def main() -> list[Any]:
        answers = [await stock.execute_with_error_handling("count", {"item": "tea"}, script.run) for _ in range(5)]
        return [answer.data if answer.error is None else answer.error.code for answer in answers]

    clock = InstantClock()
    assert clock.run(main()) == [1, "NOT_FOUND", "UNKNOWN_ERROR", 2, 2]
    assert clock.elapsed_s == 14
    assert script.calls == [{"item": "tea"}] * 5


def test_a_run_that_hangs_ends_at_the_deadline(stock: Stock) -> None:
    clock = InstantClock()
    answer = clock.run(stock.execute_with_error_handling("count", {"item": "tea"}, FaultScript(Hang()).run))
    assert answer.error is not None
    assert (answer.error.code, clock.elapsed_s) == ("DEADLINE_EXCEEDED", 20)


def test_a_script_replaces_a_handler_for_everybody_and_gives_it_back(stock: Stock) -> None:
    async def main() -> list[Any]:
        async with connected(stock) as client:
            with FaultScript(Unavailable(), Unavailable(), 7).replaces(stock.reserve) as script:
                replaced = await client.call_tool("reserve", {"item": "tea"})
            assert script.calls == [{"item": "tea"}] * 3
            own = await client.call_tool("reserve", {"item": "tea"})
        return [replaced.structured_content, own.structured_content]

    replaced, own = InstantClock().run(main())
    assert (replaced["data"], replaced["metadata"]["recovery"]["attempts"]) == (7, 3)
    assert own == {"success": True, "data": 1}


@pytest.mark.parametrize("odd", ["count", Stock.count, len])
def test_only_an_operation_of_a_toolset_can_be_replaced(odd: Any) -> None:
    with pytest.raises(TypeError, match="is no operation"), FaultScript(1).replaces(odd):
        pass


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="outcome"):
        FaultScript()


def test_a_cancelled_hang_leaves_nothing_behind() -> None:
    async def main() -> set[asyncio.Task[Any]]:
        hanging = asyncio.create_task(FaultScript(Hang()).run())
        await asyncio.sleep(1)
        hanging.cancel()
        await asyncio.wait({hanging})
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert InstantClock().run(main()) == set()

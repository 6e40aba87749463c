"""Bulkheads, hedges and keyed calls have gauges that go back when the work is over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, Bulkhead, Hedge, Runtime, Settings, operation
from failsoft.metrics import PrometheusRecorder
from tests.doors import META_KEY, CallScope, LocalState
from tests.recovery.protected import on_instant_clock


class Slow(BaseTool):
    """Takes a second, or what the test asks for."""

    @operation(read_only=True, timeout=60, recovery=[Bulkhead(2, wait_s=30, dependency="pool")])
    async def pooled(self) -> None:
        """Wait in a bulkhead."""
        await asyncio.sleep(1)

    @operation(read_only=True, timeout=60, recovery=[Hedge(delay_s=1)])
    async def hedged(self, seconds: float) -> None:
        """Wait with a second run beside."""
        await asyncio.sleep(seconds)

    @operation(timeout=60)
    async def book(self) -> None:
        """Change something."""
        await asyncio.sleep(1)


@pytest.fixture
def recorder() -> PrometheusRecorder:
    return PrometheusRecorder()


@pytest.fixture
def tool(recorder: PrometheusRecorder) -> Slow:
    return Slow(runtime=Runtime(settings=Settings(), metrics=recorder, state=LocalState()))


def gauge(recorder: PrometheusRecorder, name: str, dependency: str) -> float | None:
    return recorder.registry.get_sample_value(name, {"dependency": dependency})


async def during(calls: list[Any], after_s: float, *read: Any) -> tuple[list[float | None], list[float | None]]:
    """Return what the gauges say some time after the calls have begun, and when they are over."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(after_s)
    seen = [gauge(*one) for one in read]
    assert all(response.success for response in await asyncio.gather(*tasks))
    await asyncio.sleep(10)
    return seen, [gauge(*one) for one in read]


def test_a_bulkhead_shows_its_runs_and_its_queue(tool: Slow, recorder: PrometheusRecorder) -> None:
    async def main() -> None:
        names = ("mcp_bulkhead_running", "mcp_bulkhead_waiting")
        calls = [tool.pooled() for _ in range(3)]
        seen, after = await during(calls, 0.5, *((recorder, name, "pool") for name in names))
        assert (seen, after) == ([2, 1], [0, 0])

    on_instant_clock(main())


def test_a_hedge_shows_its_extra_runs(tool: Slow, recorder: PrometheusRecorder) -> None:
    async def main() -> None:
        calls = [tool.hedged(seconds=seconds) for seconds in (0.5, 3, 3)]
        seen, after = await during(calls, 2, (recorder, "mcp_hedges_running", "slow.hedged"))
        assert (seen, after) == ([2], [0])

    on_instant_clock(main())


def test_keyed_calls_show_their_leases(tool: Slow, recorder: PrometheusRecorder) -> None:
    async def main() -> None:
        book = tool.operations["book"]
        calls = [book.call({}, CallScope(meta={META_KEY: key})) for key in ("a", "b", "b")]
        seen, after = await during(calls, 0.5, (recorder, "mcp_idempotency_leases", "slow.book"))
        assert (seen, after) == ([2], [0])

    on_instant_clock(main())

"""A toolset belongs to one event loop at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Self

import pytest

from failsoft import Bulkhead, CircuitBreaker, RateLimit, StaleCache
from tests.recovery.protected import Protected, protected

BOUND_S = 20.0
SHORT_S = 1.0
STRATEGIES: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "stale_cache": lambda: [StaleCache(60.0, 60.0)],
    "bulkhead": lambda: [Bulkhead(1, wait_s=0.2)],
    "counted": lambda: [CircuitBreaker(), RateLimit("100/minute")],
}


class Elsewhere:
    """A call on an event loop of another thread, which runs until the block ends."""

    def __init__(self, tool: Protected) -> None:
        self._tool = tool
        self._runs, self._may_end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._call()))
        self.code = ""

    async def _work(self) -> str:
        self._runs.set()
        while not self._may_end.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.005)
        return "done"

    async def _call(self) -> None:
        self._tool.work = self._work
        self.code = await self._tool.code()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._runs.wait(BOUND_S)
        self._tool.work = lambda: "done"
        return self

    def __exit__(self, *_: object) -> None:
        self._may_end.set()
        self._thread.join(BOUND_S)


async def in_time(tool: Protected) -> str:
    """Return the code of a call, or `waits` if it has none after a while."""
    try:
        return await asyncio.wait_for(tool.code(), SHORT_S)
    except TimeoutError:
        return "waits"


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_call_from_a_second_loop_is_refused_while_the_first_is_in_use(name):
    tool = protected(*STRATEGIES[name]())
    with Elsewhere(tool) as first:
        second = asyncio.run(in_time(tool))
    assert (first.code, second) == ("ok", "CONFIG_ERROR")


@pytest.mark.parametrize("name", STRATEGIES)
def test_one_loop_after_another_is_served(name):
    tool = protected(*STRATEGIES[name]())
    assert [asyncio.run(tool.code(str(number))) for number in range(3)] == ["ok"] * 3

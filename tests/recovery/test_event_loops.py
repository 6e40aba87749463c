"""A toolset belongs to one event loop at a time."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Self

import pytest
from pydantic import AfterValidator

from failsoft import BaseTool, Bulkhead, CircuitBreaker, Idempotency, RateLimit, StaleCache, operation
from failsoft.testing import fresh_runtime
from tests.doors import META_KEY, CallScope
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


def left_behind(*calls: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    """Begin calls on an event loop that is then closed, and return their tasks, which nothing ends."""
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(call) for call in calls]
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # they are left behind on purpose
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    return tasks


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


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_closed_loop_leaves_behind_holds_nobody_up(name):
    tool = protected(*STRATEGIES[name]())
    tool.work = lambda: asyncio.sleep(3600)
    left = left_behind(*(tool.code() for _ in range(3)))
    tool.work = lambda: "done"
    assert asyncio.run(in_time(tool)) == "ok"
    del left
    gc.collect()  # the abandoned calls end only now
    tool.work = lambda: asyncio.sleep(0.001)
    assert asyncio.run(in_time(tool)) == "ok"


HELD, GO = threading.Event(), threading.Event()


def held(items: list[int]) -> list[int]:
    """Hold the validation of many items, which takes place in a thread."""
    if len(items) > 1:
        HELD.set()
        assert GO.wait(BOUND_S)
    return items


class Counting(BaseTool):
    """Counts."""

    @operation(read_only=True)
    async def count(self, items: Annotated[list[int], AfterValidator(held)]) -> int:
        """Count items."""
        return len(items)


def test_a_call_that_is_still_validated_is_in_flight():
    tool = Counting(runtime=fresh_runtime())
    codes: list[str] = []

    async def call(number: int) -> None:
        error = (await tool.count(items=[1] * number)).error
        codes.append("ok" if error is None else error.code)

    first = threading.Thread(target=lambda: asyncio.run(call(300_000)))
    first.start()
    assert HELD.wait(BOUND_S)
    asyncio.run(call(1))
    GO.set()
    first.join(BOUND_S)
    assert codes == ["CONFIG_ERROR", "ok"]


def test_a_key_of_a_closed_loop_is_looked_up_in_its_record():
    class Till(BaseTool):
        work: Callable[[], Any] = staticmethod(lambda: asyncio.sleep(3600))

        @operation(recovery=[Idempotency(lease_s=0.1)])
        async def pay(self) -> None:
            """Pay."""
            await self.work()

    tool = Till(runtime=fresh_runtime())

    async def code(key: str) -> str:
        error = (await tool.operations["pay"].call({}, CallScope(meta={META_KEY: key}))).error
        return "ok" if error is None else error.code

    left = left_behind(code("a"))
    tool.work = lambda: asyncio.sleep(0)
    assert asyncio.run(code("a")) == "IDEMPOTENCY_OUTCOME_UNKNOWN"
    assert asyncio.run(code("b")) == "ok"
    del left
    gc.collect()


def test_slots_and_waiters_of_a_loop_that_was_closed_are_free_again() -> None:
    tool = protected(Bulkhead(2, wait_s=60))
    tool.work = lambda: asyncio.sleep(3600)
    left = left_behind(*(tool.code() for _ in range(4)))
    tool.work = lambda: "done"
    compartment = Bulkhead(2, wait_s=60).compartment(tool.operations["fetch"])
    assert (compartment.taken, compartment.waiting) == (2, 2)
    assert asyncio.run(tool.code()) == "ok"
    assert (compartment.taken, compartment.waiting) == (0, 0)
    del left
    gc.collect()  # the abandoned calls end only now
    assert (compartment.taken, compartment.waiting) == (0, 0)


def test_a_thread_that_outlives_its_loop_holds_its_slot_until_it_ends() -> None:
    go, over = threading.Event(), threading.Event()

    class Slow(BaseTool):
        @operation(read_only=True, timeout=0.05, recovery=[Bulkhead(1)])
        def work(self) -> None:
            """Wait in a thread."""
            go.wait(BOUND_S)
            over.set()

    tool = Slow(runtime=fresh_runtime())

    def code() -> str:
        error = asyncio.run(tool.operations["work"].call({})).error  # type: ignore[arg-type]  # a coroutine
        return "ok" if error is None else error.code

    assert [code(), code()] == ["DEADLINE_EXCEEDED", "OVERLOADED"]
    go.set()
    assert over.wait(BOUND_S)
    for _ in range(1_000):
        if (answer := code()) == "ok":
            break
    assert answer == "ok"


@pytest.mark.parametrize("limit", [1, 3])
def test_toolsets_on_two_loops_share_the_slots_of_a_dependency(limit: int) -> None:
    runtime = fresh_runtime()
    running, most, lock = 0, 0, threading.Lock()

    async def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        await asyncio.sleep(0.001)
        with lock:
            running -= 1

    tools = [protected(Bulkhead(limit, 60, 100, dependency="pool"), runtime=runtime, work=work) for _ in range(4)]
    codes: list[str] = []

    async def calls(tool: Protected) -> None:
        codes.extend(await asyncio.gather(*(tool.code() for _ in range(25))))

    threads = [threading.Thread(target=lambda tool=tool: asyncio.run(calls(tool))) for tool in tools]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)
    assert codes == ["ok"] * 100
    assert most <= limit
    compartment = Bulkhead(limit, 60, 100, dependency="pool").compartment(tools[0].operations["fetch"])
    assert (compartment.taken, compartment.waiting) == (0, 0)

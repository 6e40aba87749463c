"""A bulkhead keeps no slot of an event loop that is gone, and hands slots over between loops that share it."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from failsoft import BaseTool, Bulkhead, operation
from failsoft.testing import fresh_runtime
from tests.recovery.protected import Protected, protected

BOUND_S = 20.0


def end_in_the_middle(tool: Protected, calls: int = 1) -> list[asyncio.Task[str]]:
    """Begin calls on an event loop that is then closed, and return their tasks, which nothing ends."""
    loop = asyncio.new_event_loop()
    tool.work = lambda: asyncio.sleep(3600)
    tasks = [loop.create_task(tool.code()) for _ in range(calls)]
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # they are left behind on purpose
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    tool.work = lambda: "done"
    return tasks


def test_slots_and_waiters_of_a_loop_that_was_closed_are_free_again() -> None:
    tool = protected(Bulkhead(2, wait_s=60))
    left = end_in_the_middle(tool, 4)
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

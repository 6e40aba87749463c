"""The clock that jumps: what it skips, in which order, and what it never runs ahead of."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from failsoft import BaseTool, operation
from failsoft.testing import InstantClock

AN_HOUR = 3600.0
BOUND_S = 60.0


def test_a_pause_takes_no_time_and_counts_in_full() -> None:
    clock = InstantClock()
    assert clock.run(asyncio.sleep(AN_HOUR, "later")) == "later"
    assert clock.elapsed_s == AN_HOUR
    assert clock.jumps == [AN_HOUR]


def test_timers_fire_in_the_order_of_their_times() -> None:
    seen: list[str] = []

    async def note(name: str, after_s: float) -> None:
        await asyncio.sleep(after_s)
        seen.append(name)

    async def main() -> None:
        await asyncio.gather(note("third", 300), note("first", 1), note("second", 60))

    InstantClock().run(main())
    assert seen == ["first", "second", "third"]


def test_time_outs_and_deadlines_go_by_the_same_clock() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(AN_HOUR):
                await asyncio.sleep(2 * AN_HOUR)
        with pytest.raises(TimeoutError), anyio.fail_after(AN_HOUR):
            await anyio.sleep(2 * AN_HOUR)

    clock = InstantClock()
    clock.run(main())
    assert clock.elapsed_s == 2 * AN_HOUR


def test_work_that_does_not_wait_takes_no_time() -> None:
    async def main() -> float:
        for _ in range(1_000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    clock = InstantClock()
    assert clock.run(main()) == clock.start_s


def test_a_timer_does_not_fire_before_a_thread_has_answered() -> None:
    """The thread ends only once the test has seen that the loop waits for it."""
    release = threading.Event()

    async def main() -> str:
        work = asyncio.create_task(asyncio.to_thread(release.wait, BOUND_S))
        timer = asyncio.create_task(asyncio.sleep(AN_HOUR))
        threading.Timer(0.05, release.set).start()
        done, _ = await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        return "thread" if work in done else "timer"

    clock = InstantClock()
    assert clock.run(main()) == "thread"
    assert clock.elapsed_s == 0


@pytest.mark.parametrize("kind", ["anyio", "own executor", "held"])
def test_every_kind_of_thread_is_waited_for(kind: str) -> None:
    release = threading.Event()

    async def work(clock: InstantClock) -> None:
        threading.Timer(0.05, release.set).start()
        if kind == "anyio":
            await anyio.to_thread.run_sync(release.wait, BOUND_S)
        elif kind == "own executor":
            with ThreadPoolExecutor(1) as pool:
                await asyncio.get_running_loop().run_in_executor(pool, release.wait, BOUND_S)
        else:
            loop, done = asyncio.get_running_loop(), asyncio.Event()

            def tell() -> None:
                release.wait(BOUND_S)
                loop.call_soon_threadsafe(done.set)

            with clock.hold():
                threading.Thread(target=tell).start()
                await done.wait()

    async def main(clock: InstantClock) -> None:
        await asyncio.wait_for(work(clock), AN_HOUR)

    clock = InstantClock()
    clock.run(main(clock))
    assert clock.elapsed_s == 0


class Sync(BaseTool):
    """A handler in a worker thread, under a deadline that is far off."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox: queue.SimpleQueue[str] = queue.SimpleQueue()

    @operation(read_only=True, timeout=AN_HOUR)
    def receive(self) -> str:
        """Wait for a message."""
        return self.inbox.get(timeout=BOUND_S)


def test_the_deadline_of_a_call_does_not_overtake_its_thread() -> None:
    tool, clock = Sync(), InstantClock()
    threading.Timer(0.05, tool.inbox.put, ["hello"]).start()
    assert clock.run(tool.receive()).data == "hello"
    assert clock.elapsed_s == 0


def test_a_thread_that_never_answers_does_not_stop_the_clock_for_ever() -> None:
    release = threading.Event()

    async def main() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.to_thread(release.wait, BOUND_S)
        release.set()

    clock = InstantClock()
    clock.run(main())
    assert clock.elapsed_s == pytest.approx(0.05)


def test_a_connection_that_is_open_is_waited_for_and_one_that_listens_is_not() -> None:
    async def main(clock: InstantClock) -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        await asyncio.sleep(AN_HOUR)
        assert clock.elapsed_s == AN_HOUR
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with asyncio.timeout(AN_HOUR):
            writer.write(b"hello\n")
            line = await reader.readline()
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        return line

    clock = InstantClock()
    assert clock.run(main(clock)) == b"hello\n"
    assert clock.elapsed_s == AN_HOUR


def test_runs_in_one_block_share_a_loop_and_time_may_pass_between_them() -> None:
    with InstantClock() as clock:
        loop = clock.run(_running_loop())
        clock.advance(60)
        assert clock.run(_running_loop()) is loop
        clock.run(asyncio.sleep(1))
    assert clock.elapsed_s == 61
    assert clock.jumps == [1]


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="go back"):
        InstantClock().advance(-1)


def test_a_runner_of_asyncio_and_one_of_anyio_take_its_loops() -> None:
    clock = InstantClock()
    with asyncio.Runner(loop_factory=clock.loop_factory) as runner:
        runner.run(asyncio.sleep(10))
    backend, options = clock.anyio_backend
    anyio.run(anyio.sleep, 10, backend=backend, backend_options=options)
    assert clock.elapsed_s == 20

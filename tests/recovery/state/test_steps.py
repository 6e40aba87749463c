"""Steps of one key that wait together, and stores whose answers are lost or whose clocks differ."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.doors import Account, Changed, Held, MemoryBackend, RedisBackend, Steps, Write, WriteRefused
from tests.programs.redis import RedisServer, RunningRedis
from tests.recovery.state.stores import KINDS, add, looked_at, opened, records_in
from tests.recovery.state.test_redis_faults import opened as opened_till
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
PATIENCE_S = 60.0
COUNTS = """
import asyncio, sys
from tests.doors import Changed, RedisBackend, Steps

def add(state, now):
    number = (0 if state is None else state["number"]) + 1
    return Changed({"number": number}, number, 60.0)

async def main():
    backend = RedisBackend(sys.argv[1], limit_s=60.0)
    steps = Steps(backend)
    await backend.ping()
    print("ready", flush=True)
    sys.stdin.readline()

    async def call():
        return [await steps.run(add, "k:one") for _ in range(4)]

    answers = await asyncio.gather(*(call() for _ in range(50)))
    print(*(number for row in answers for number in row))
    await backend.close()

asyncio.run(main())
"""


class Slow(MemoryBackend):
    """A store whose writes wait until they are let go, and count."""

    is_local = False

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.swaps = asyncio.Event(), 0

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        await self.gate.wait()
        self.swaps += 1
        return await super().swap(key, version, write)


def fail(_state: Any, _now: float) -> Changed:
    raise ZeroDivisionError


async def test_steps_that_wait_together_are_swapped_once_whatever_becomes_of_one() -> None:
    backend = Slow()
    steps = Steps(backend)
    first = asyncio.create_task(steps.run(add, "k:one", 1, 60.0))
    await asyncio.sleep(0)
    calls = [asyncio.create_task(steps.run(add, "k:one", 1, 60.0)) for _ in range(20)]
    calls.insert(10, asyncio.create_task(steps.run(fail, "k:one")))
    await asyncio.sleep(0)
    calls[3].cancel()
    await asyncio.sleep(0)
    backend.gate.set()
    answers = await asyncio.gather(first, *calls, return_exceptions=True)
    assert [type(answer) for answer in answers if not isinstance(answer, int)] == [
        asyncio.CancelledError,
        ZeroDivisionError,
    ]
    assert [answer for answer in answers if isinstance(answer, int)] == list(range(1, 21))
    assert backend.swaps == 2


async def test_the_quota_of_one_caller_refuses_no_other_of_its_batch() -> None:
    backend = Slow()
    steps = Steps(backend)
    poor, rich = Account("poor", 10), Account("rich", 10_000)
    held = asyncio.create_task(steps.run(add, "k:one", 0, 60.0))
    await asyncio.sleep(0)
    calls = [asyncio.create_task(steps.run(add, "k:one", 1, 60.0, account=account)) for account in (poor, rich, poor)]
    await asyncio.sleep(0)
    backend.gate.set()
    refused, *answers = await asyncio.gather(*calls, return_exceptions=True)
    assert (await held, type(refused).__name__, answers) == (0, "QuotaReached", [1, 2])


async def test_a_store_that_takes_no_writes_answers_what_it_can_whatever_waits_beside() -> None:
    class ReadOnly(Slow):
        async def swap(self, key: str, version: str, write: Write) -> Held | None:
            await self.gate.wait()
            msg = "full"
            raise WriteRefused(msg)

    backend = ReadOnly()
    await MemoryBackend.swap(backend, "k:one", "", Write("v", {"number": 7}, 60.0))
    steps = Steps(backend)
    calls = [asyncio.create_task(steps.run(add, "k:one", 1, 60.0))]
    await asyncio.sleep(0)
    calls += [
        asyncio.create_task(steps.run(step, "k:one", *given)) for step, given in ((looked_at, ()), (add, (1, 1.0)))
    ]
    await asyncio.sleep(0)
    backend.gate.set()
    one, seen, other = await asyncio.gather(*calls, return_exceptions=True)
    assert (type(one), seen, type(other)) == (WriteRefused, {"number": 7}, WriteRefused)


async def test_two_event_loops_take_steps_of_one_key() -> None:
    """Each in a thread of its own; no task ends with an error that nobody sees."""

    class Pausing(MemoryBackend):
        async def swap(self, key: str, version: str, write: Write) -> Held | None:
            await asyncio.sleep(0.001)
            return await super().swap(key, version, write)

    backend, seen = Pausing(), []
    steps = Steps(backend)

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: seen.append(context))
        for _ in range(50):
            await asyncio.gather(*(steps.run(add, "k:one", 1, 60.0) for _ in range(3)))

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    gc.collect()
    assert seen == []
    assert (await backend.read("k:one")).value == {"number": 300}


async def test_a_value_that_expires_between_its_reading_and_its_swap_is_gone() -> None:
    now = 0.0

    class Expiring(MemoryBackend):
        async def read(self, key: str) -> Held:
            nonlocal now
            held = await super().read(key)
            now += 100.0
            return held

    backend = Expiring(lambda: now)
    await backend.swap("k:one", "", Write("v", {"number": 7}, 60.0))
    assert await Steps(backend).run(add, "k:one", 1, 60.0) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_odd_keys_long_values_and_many_records(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with opened(kind, tmp_path, request) as open_one:
        backend = open_one()
        records = records_in(backend)
        odd = ["a b", "a\nb", "a%_*?[x]\\", "ä€😀", "'; --", "x" * 1_000]
        for key in odd:
            for number in (1, 2):
                assert await records.change(add, f"odd:{key}", 1, 60.0) == number
        assert [record.key for record in await records.find("odd:")] == sorted(f"odd:{key}" for key in odd)
        assert [record.key for record in await records.find("odd:a%_*?[")] == ["odd:a%_*?[x]\\"]
        for length in (1_999, 2_001, 100_000):
            for _ in range(2):
                assert await records.put("long", "x" * length, 60.0)
                assert await records.get("long") == "x" * length
        await asyncio.gather(*(records.put(f"many:{number:05}", number, 60.0) for number in range(3_000)))
        found = await records.find("many:")
        assert [record.value for record in found] == list(range(3_000))
        await backend.close()


async def test_many_processes_and_callers_count_exactly(redis_server: RunningRedis) -> None:
    command = [PYTHON, "-c", COUNTS, redis_server.url]
    programs = [
        await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)
    ]
    for program in programs:
        assert program.stdout is not None
        assert await program.stdout.readline() == b"ready\n"
    answers = await asyncio.gather(*(program.communicate(b"go\n") for program in programs))
    numbers = sorted(int(number) for said, _ in answers for number in said.split())
    assert numbers == list(range(1, 801))


@asynccontextmanager
async def swallowing(server: RunningRedis, is_swallowed: Callable[[], bool]) -> AsyncIterator[str]:
    """Give the address of a proxy that breaks the connection in place of an answer, where it is asked to."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, there = await asyncio.open_unix_connection(str(server.socket))

        async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool) -> None:
            with suppress(OSError):
                while data := await source.read(65_536):
                    if answers and is_swallowed():
                        break
                    sink.write(data)
                    await sink.drain()
            writer.close()
            there.close()

        await asyncio.gather(pass_on(reader, there, answers=False), pass_on(back, writer, answers=True))

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/0"
    finally:
        proxy.close()


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_swap_whose_answer_is_lost_counts_once(redis_server: RunningRedis, *, is_known: bool) -> None:
    lost = 0

    def once() -> bool:
        nonlocal lost
        lost -= 1
        return lost == 0

    async with swallowing(redis_server, once) as url:
        backend = RedisBackend(url, limit_s=PATIENCE_S)
        steps = Steps(backend)
        assert await steps.run(add, "k:other", 1, 60.0) == 1
        if is_known:
            assert await steps.run(add, "k:one", 1, 60.0) == 1
        lost = 1
        assert await steps.run(add, "k:one", 1, 60.0) == 1 + is_known
        assert lost < 0
        assert await Steps(backend).run(add, "k:one", 1, 60.0) == 2 + is_known
        await backend.close()


async def test_the_first_step_of_a_process_gets_the_time_of_the_server(
    redis_server: RunningRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = time.time
    monkeypatch.setattr(time, "time", lambda: machine() - 3_600.0)
    backend = RedisBackend(redis_server.url, limit_s=PATIENCE_S)

    def told(_state: Any, now: float) -> Changed:
        return Changed({"at": now}, now, 60.0)

    assert await Steps(backend).run(told, "k:one") > machine() - 60.0
    await backend.close()


async def test_a_claim_that_a_hung_server_takes_later_is_withdrawn(own_redis: RedisServer) -> None:
    async with opened_till(own_redis, limit_s=0.1) as till:
        assert (await till.paid("first"))["code"] == "ok"
        own_redis.suspend()
        refused = await till.paid("second")
        own_redis.resume()
        assert (refused["code"], refused["effect"]) == ("STATE_UNAVAILABLE", "unknown")
        async with asyncio.timeout(PATIENCE_S):
            while (again := await till.paid("second"))["code"] != "ok":
                assert again["effect"] == "unknown"
                await asyncio.sleep(0.05)
        assert till.taken == ["first", "second"]

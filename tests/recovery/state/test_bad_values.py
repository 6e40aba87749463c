"""One value that cannot be read costs that value; a server that talks nonsense is a lost store."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from collections.abc import Callable

import pytest
import redis

from failsoft import ToolError
from failsoft.events import Events
from tests.doors import UNREADABLE, RedisBackend, SharedStore, Write, open_state, withdraw
from tests.programs.redis import RunningRedis
from tests.recovery.state.stores import add, records_in

BUDGET = (0, 0.0, 10.0, 20.0, 300.0)
BAD: dict[str, Callable[[redis.Redis, str], object]] = {
    "another type": lambda client, key: client.lpush(key, "x"),
    "no JSON": lambda client, key: client.set(key, "{no json"),
    "binary": lambda client, key: client.set(key, b"\xff\xfe\x00\xc1"),
    "another shape": lambda client, key: client.set(key, '["a"]'),
    "empty": lambda client, key: client.set(key, ""),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_value_degrades_that_value_and_not_the_store(redis_server: RunningRedis, bad: str) -> None:
    client = redis.Redis.from_url(redis_server.url)

    async def main() -> None:
        state = open_state(redis_server.url, Events(), limit_s=60.0)
        assert isinstance(state, SharedStore)
        try:
            await state.change(add, "good", 1, 60)
            await state.change(withdraw, "budget", *BUDGET)
            keys = {key.decode().rpartition(":")[2]: key.decode() for key in client.keys("*") if b":" in key}
            for name in ("good", "budget"):
                client.delete(keys[name])
                BAD[bad](client, keys[name])
            assert await state.change(add, "good", 2, 60) == 2
            assert await state.change(withdraw, "budget", *BUDGET) is not None
            assert await state.change(add, "other", 2, 60) == 2
            assert state.is_available
        finally:
            await state.close()

    asyncio.run(main())
    client.close()


@pytest.mark.parametrize(
    "value", [b'"%s"' % (b"a" * 60_000_000), b"[%s1]" % (b"{}," * 3_000_000)], ids=["long", "wide"]
)
def test_a_huge_value_costs_little_memory_and_counts_as_unreadable(redis_server: RunningRedis, value: bytes) -> None:
    client = redis.Redis.from_url(redis_server.url)
    client.set("huge:key", b"0" * 18 + b"\n" + value)

    async def main() -> None:
        backend = RedisBackend(redis_server.url, prefix="huge", limit_s=60.0)
        try:
            held = await backend.read("key")
            assert held.value is UNREADABLE
            assert await backend.swap("key", "another", Write("1" * 18, 1, 60)) == held
            assert await backend.swap("key", held.version, Write("1" * 18, 1, 60)) is None
            assert (await backend.read("key")).value == 1
        finally:
            await backend.close()

    tracemalloc.start()
    asyncio.run(main())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    client.close()
    assert peak < 80_000_000


@pytest.mark.parametrize(
    "answer", [b"+OK\r\n", b"nonsense\r\n", b"$-7\r\n", b":abc\r\n", b"*2\r\n+a\r\n:x\r\n", b"\xff" * 100 + b"\r\n"]
)
def test_a_server_that_talks_nonsense_is_a_lost_store(answer: bytes) -> None:
    async def main() -> None:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(65_536):
                writer.write(answer)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        state = open_state(f"redis://127.0.0.1:{port}/0", Events(), limit_s=1.0)
        try:
            await state.change(withdraw, "budget", *BUDGET)
        finally:
            await state.close()
            server.close()

    asyncio.run(main())


REFUSED = {
    "-OOM command not allowed when used memory > 'maxmemory'. script: ab, on @user_script:39.": "STATE_UNAVAILABLE",
    "-ERR Error running script (call to f_ab): @user_script:39: @user_script: 39: -READONLY You can't write against a"
    " read only replica.": "STATE_UNAVAILABLE",
    "-ERR Error running script (call to f_ab): @user_script:1: Script killed by user": "STATE_UNAVAILABLE",
    "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. script: ab, on"
    " @user_script:39.": "STATE_UNAVAILABLE",
    "-ERR user_script:35: no state script: ab, on @user_script:35.": "STATE_UNUSABLE",
    "-ERR Error running script (call to f_ab): @user_script:35: user_script:35: no state": "STATE_UNUSABLE",
    "-ERR Error running script (call to f_ab): @user_script:1: user_script:1: attempt to index local 'state' (a number"
    " value)": "STATE_UNUSABLE",
    "-WRONGTYPE Operation against a key holding the wrong kind of value": "STATE_UNUSABLE",
}
"""The words of Redis 5 to 7, and what they mean for the record under the key."""


@pytest.mark.parametrize("answer", REFUSED)
def test_only_an_error_about_the_value_is_blamed_on_it(answer: str) -> None:
    async def main() -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while sent := await reader.read(65_536):  # one answer a command: a client may send several at once
                writer.write((answer.encode() + b"\r\n") * len(re.findall(rb"\*\d+\r\n\$", sent)))
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        backend = RedisBackend(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", limit_s=60.0)
        try:
            with pytest.raises(ToolError) as refused:
                await records_in(backend).change(add, "count:a", 1, 60.0)
            assert refused.value.code == REFUSED[answer]
        finally:
            await backend.close()
            server.close()

    asyncio.run(main())

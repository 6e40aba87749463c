"""Damaged records: their own key is refused, with a typed error; everything else goes on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, CircuitBreaker, RateLimit, Runtime, Settings, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, SharedStore, open_state

DEEP = '{"a":' * 5_000 + "1" + "}" * 5_000
BAD: list[bytes] = [
    *(b"{no json", b"", b"[]", b"{}", b'"x"', b"7", b'{"phase":"done"}', b'{"phase":[1],"owner":{},"outcome":7}'),
    *(b"1e999", b"NaN", b"\xff\xfe\x00", DEEP.encode()),
]


class Till(BaseTool):
    """Takes money."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self.taken = 0

    @operation(recovery=[CircuitBreaker("bank"), RateLimit("100/minute")])
    async def pay(self, amount: int) -> int:
        """Pay."""
        self.taken += amount
        return amount


class Store:
    """A store in which anybody may write."""

    def __init__(self, url: str, entries: Callable[[Callable[[bytes], bytes]], None]) -> None:
        self.url = url
        self.damage = entries


def sqlite_store(folder: Path) -> Store:
    path = folder / "s.sqlite"

    def damage(change: Callable[[bytes], bytes]) -> None:
        with sqlite3.connect(path, isolation_level=None) as connection:
            rows = connection.execute("SELECT key, CAST(value AS BLOB) FROM record").fetchall()
            for key, value in rows:
                connection.execute("UPDATE record SET value = CAST(? AS TEXT) WHERE key = ?", (change(value), key))
        connection.close()

    return Store(f"sqlite:{path}", damage)


def redis_store(server: Any) -> Store:
    import redis  # noqa: PLC0415 - an extra

    def damage(change: Callable[[bytes], bytes]) -> None:
        with redis.Redis.from_url(server.url) as client:
            for key in client.scan_iter("failsoft:*"):
                if client.type(key) == b"string":
                    client.set(key, change(client.get(key) or b""), keepttl=True)

    return Store(server.url, damage)


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return sqlite_store(tmp_path) if request.param == "sqlite" else redis_store(request.getfixturevalue("redis_server"))


def opened(store: Store) -> tuple[Runtime, SharedStore]:
    events = Events()
    state = open_state(store.url, events, limit_s=60.0)
    assert isinstance(state, SharedStore)
    return Runtime(settings=Settings(), events=events, state=state), state


async def paid(till: Till, key: str | None) -> str:
    scope = CallScope() if key is None else CallScope(meta={META_KEY: key})
    response = await till.operations["pay"].call({"amount": 1}, scope)
    return "ok" if response.error is None else response.error.code


def test_a_damaged_record_refuses_its_key_and_no_other(store: Store) -> None:
    async def main() -> None:
        runtime, state = opened(store)
        till = Till(runtime)
        for number, bad in enumerate(BAD):
            till.taken = 0
            assert await paid(till, f"first-{number}") == "ok"
            store.damage(lambda _, bad=bad: bad)  # type: ignore[misc]
            assert await paid(till, f"first-{number}") == "STATE_UNUSABLE", bad
            assert await paid(till, f"second-{number}") == "ok", bad
            assert await paid(till, None) == "ok", bad
            assert (till.taken, state.is_available) == (3, True), bad
        await state.close()

    asyncio.run(main())


@pytest.mark.parametrize("outcome", ["", "{no json", "[]", "{}", '{"value":{}}', '{"error":{"code":[]}}'])
def test_a_damaged_outcome_is_unknown_and_the_work_is_not_done_again(tmp_path: Path, outcome: str) -> None:
    store = sqlite_store(tmp_path)

    def damaged(value: bytes) -> bytes:
        state = json.loads(value)
        return json.dumps({**state, "outcome": outcome} if "outcome" in state else state).encode()

    async def main() -> None:
        runtime, state = opened(store)
        till = Till(runtime)
        assert await paid(till, "first") == "ok"
        store.damage(damaged)
        assert (await paid(till, "first"), till.taken) == ("IDEMPOTENCY_OUTCOME_UNKNOWN", 1)
        await state.close()

    asyncio.run(main())

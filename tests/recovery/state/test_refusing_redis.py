"""A Redis that refuses writes: the fault is that of the store, and records are as before when it takes them again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis
from loguru import logger

from failsoft import BaseTool, Failure, RecoveryManager, Runtime, Settings, operation
from failsoft.errors import StateUnavailable, StateUnusable
from failsoft.events import Events
from tests.doors import META_KEY, AlertDispatcher, CallScope, RedisBackend, open_state
from tests.programs.redis import RedisServer
from tests.recovery.state.stores import add, records_in

FAULTS: dict[str, tuple[list[str], list[str]]] = {
    "full": (["CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"], ["CONFIG SET maxmemory 0"]),
    "a replica": (["REPLICAOF 127.0.0.1 1"], ["REPLICAOF NO ONE"]),
    "a replica without data": (
        ["CONFIG SET replica-serve-stale-data no", "REPLICAOF 127.0.0.1 1"],
        ["REPLICAOF NO ONE", "CONFIG SET replica-serve-stale-data yes"],
    ),
    "without its replicas": (["CONFIG SET min-replicas-to-write 3"], ["CONFIG SET min-replicas-to-write 0"]),
    "without permission to write": (["ACL SETUSER default -@write"], ["ACL SETUSER default +@write"]),
    "without permission to run scripts": (["ACL SETUSER default -@scripting"], ["ACL SETUSER default +@scripting"]),
}


class Till(BaseTool):
    """Takes money."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime=runtime)
        self.taken: list[str] = []

    @operation
    async def pay(self, order: str) -> str:
        """Take the money for an order."""
        self.taken.append(order)
        return order


class Alerted:
    """A sink that keeps the failures of which it is told."""

    name = "alerted"

    def __init__(self) -> None:
        self.failures: list[Failure] = []

    def send(self, failure: Failure, *, suppressed: int) -> None:
        self.failures.append(failure)


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> tuple[list[str], list[str]]:
    return FAULTS[request.param]


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Return all lines of failsoft's log."""
    said: list[str] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: said.append(str(message)), level=0, format="{message} {extra} {exception}")
    yield said
    logger.remove(sink)
    logger.disable("failsoft")


def tell(server: RedisServer, commands: list[str]) -> None:
    with redis.Redis.from_url(server.url) as client:
        for command in commands:
            client.execute_command(*command.split())


def blamed(*texts: object) -> list[str]:
    """Return what tells an operator that a record is damaged, or to remove it."""
    return [text for text in map(str, texts) if "damaged" in text or "forget" in text]


@asynccontextmanager
async def served(server: RedisServer) -> AsyncIterator[tuple[Runtime, Alerted]]:
    events, alerted = Events(), Alerted()
    state = open_state(server.url, events, limit_s=60.0)
    alerts = AlertDispatcher([alerted])
    try:
        # Without retries, which would wait for seconds.
        bare = RecoveryManager()
        yield Runtime(settings=Settings(), events=events, state=state, alerts=alerts, recovery=bare), alerted
    finally:
        await state.close()
        alerts.close()


async def paid(till: Till, order: str) -> Any:
    return await till.operations["pay"].call({"order": order}, CallScope(meta={META_KEY: order}))


def test_a_keyed_call_is_refused_for_now_and_its_key_is_as_before_later(own_redis, fault, lines) -> None:
    is_unreadable = fault is FAULTS["a replica without data"]

    async def main() -> None:
        async with served(own_redis) as (runtime, alerted):
            till = Till(runtime)
            assert (await paid(till, "first")).success
            tell(own_redis, fault[0])
            for order in ("second", "first", "second"):
                answer = await paid(till, order)
                if answer.success:  # a full server still takes some writes
                    continue
                error = answer.error
                assert (error.code, error.retry.when) == ("STATE_UNAVAILABLE", "after_delay")
                assert error.effect == ("unknown" if is_unreadable else "none")
                assert not blamed(answer.to_dict(), error.exception.operator_hint)
            tell(own_redis, fault[1])
            assert [(await paid(till, order)).success for order in ("first", "second", "second")] == [True] * 3
            assert till.taken == ["first", "second"]
        assert not alerted.failures
        assert not blamed(*lines)

    asyncio.run(main())


def test_every_operation_on_records_fails_for_now_and_finds_them_as_before_later(own_redis, fault) -> None:
    async def main() -> None:
        backend = RedisBackend(own_redis.url, limit_s=60.0)
        records = records_in(backend)
        await records.change(add, "count:a", 2, 60.0)
        await records.put("session:a", {"root": "/"}, 60.0)
        before = {item.key: item.value for item in await records.find("")}
        tell(own_redis, fault[0])
        work: dict[str, Callable[[], Any]] = {
            "change": lambda: records.change(add, "count:a", 1, 60.0),
            "change a new one": lambda: records.change(add, "count:b", 1, 60.0),
            "put": lambda: records.put("session:a", {"root": "/other"}, 60.0),
            "put a new one": lambda: records.put("session:b", {}, 60.0),
            "get": lambda: records.get("session:a"),
            "get with a type": lambda: records.get("session:a", lambda value: value["root"]),
            "find": lambda: records.find(""),
        }
        wrong, expected = [], dict(before)
        for name, start in work.items():
            try:
                await start()
                if name == "change":  # what was begun before the server was full can be ended
                    expected["count:a"] = {"number": 3}
                elif name == "put":
                    expected["session:a"] = {"root": "/other"}
            except StateUnavailable as refused:
                wrong += [(name, text) for text in blamed(refused, refused.operator_hint)]
            except StateUnusable as refused:
                wrong.append((name, str(refused.operator_hint)))
        tell(own_redis, fault[1])
        assert wrong == []
        after = {item.key: item.value for item in await records.find("")}
        assert {key: after[key] for key in before} == expected
        await backend.close()

    asyncio.run(main())


def test_shared_state_is_kept_while_the_store_refuses_writes(own_redis, fault, lines) -> None:
    async def main() -> None:
        events = Events()
        state = open_state(own_redis.url, events, limit_s=60.0)
        assert await state.change(add, "count:a", 2, 600.0) == 2
        tell(own_redis, fault[0])
        await state.change(add, "count:a", 1, 600.0)
        await state.close()
        tell(own_redis, fault[1])
        again = open_state(own_redis.url, events, limit_s=60.0)
        assert await again.change(add, "count:a", 1, 600.0) == 3
        await again.close()
        assert not [line for line in lines if "cannot be read" in line]

    asyncio.run(main())

"""A Redis that answers, but cannot do what is asked: no call is refused, doubled or misinformed for its sake."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis

from failsoft import BaseTool, CircuitBreaker, Idempotency, RateLimit, operation
from failsoft.events import Events, StoreEvent
from failsoft.testing import fresh_runtime
from tests.doors import META_KEY, CallScope, open_state
from tests.programs.redis import RedisServer

BOUND_S = 20.0
FAULTS = {
    "read-only": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    "without replicas": ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    "full": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    "denied": ("ACL SETUSER default -eval -evalsha", "ACL SETUSER default +eval +evalsha"),
}


class Till(BaseTool):
    """Takes money."""

    def __init__(self, events: Events, server: RedisServer, limit_s: float) -> None:
        super().__init__(runtime=fresh_runtime(events=events, state=open_state(server.url, events, limit_s=limit_s)))
        self.taken: list[str] = []

    @operation(recovery=[Idempotency(lease_s=0.2)])
    async def pay(self, order: str) -> str:
        """Take the money for an order."""
        self.taken.append(order)
        return order

    @operation(read_only=True, recovery=[CircuitBreaker("bank")])
    async def behind_a_breaker(self) -> str:
        """Ask the bank."""
        return "seen"

    @operation(read_only=True, recovery=[RateLimit("1000/minute")])
    async def limited(self) -> str:
        """Ask no more than so often."""
        return "seen"

    async def paid(self, order: str) -> dict[str, Any]:
        """Return what matters of the answer to one keyed call."""
        paying: Any = self.operations["pay"].call({"order": order}, CallScope(meta={META_KEY: order}))
        answer = await asyncio.wait_for(paying, BOUND_S)
        if answer.error is None:
            return {"code": "ok", "data": answer.data}
        error = answer.to_dict()["error"]
        return {"code": error["code"], "retry": error["retry"]["when"], "effect": error["effect"]}


def switch(server: RedisServer, fault: str, *, on: bool) -> None:
    """Let a fault begin or end."""
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.execute_command(*FAULTS[fault][0 if on else 1].split())


@asynccontextmanager
async def opened(server: RedisServer, limit_s: float = BOUND_S) -> AsyncIterator[Till]:
    """Give a toolset as another process would have it, and close its connections."""
    till = Till(Events(), server, limit_s)
    try:
        yield till
    finally:
        await till.runtime.state.close()


def run(main: Callable[[], Any], lost: list[str] | None = None) -> Any:
    """Run a test, and note the exceptions that no task has retrieved: their log is written while pytest parses."""
    noted = [] if lost is None else lost

    async def bounded() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: noted.append(context["message"]))
        async with asyncio.timeout(2 * BOUND_S):
            return await main()

    return asyncio.run(bounded())


@pytest.mark.parametrize("fault", ["read-only", "without replicas"])
def test_reads_go_on_while_the_store_takes_no_writes(own_redis: RedisServer, fault: str) -> None:
    async def main() -> list[Any]:
        async with opened(own_redis) as till:
            assert [(await till.behind_a_breaker()).error, (await till.limited()).error] == [None, None]
            switch(own_redis, fault, on=True)
            answers = [await call() for _ in range(3) for call in (till.behind_a_breaker, till.limited)]
            return [answer.error.code for answer in answers if answer.error is not None]

    assert run(main) == []


@pytest.mark.parametrize("fault", ["full", "denied"])
def test_reads_go_on_while_the_store_refuses_commands(own_redis: RedisServer, fault: str) -> None:
    async def main() -> list[Any]:
        async with opened(own_redis) as till:
            assert [(await till.behind_a_breaker()).error, (await till.limited()).error] == [None, None]
            switch(own_redis, fault, on=True)
            answers = [await call() for _ in range(3) for call in (till.behind_a_breaker, till.limited)]
            return [answer.error.code for answer in answers if answer.error is not None]

    assert run(main) == []


@pytest.mark.parametrize("fault", ["read-only", "without replicas", "full"])
def test_the_repeat_of_a_finished_call_gets_its_outcome_while_the_store_can_be_read(
    own_redis: RedisServer, fault: str
) -> None:
    async def main() -> tuple[Any, ...]:
        async with opened(own_redis) as till:
            assert await till.paid("first") == {"code": "ok", "data": "first"}
            switch(own_redis, fault, on=True)
            return await till.paid("first"), till.taken

    repeated, taken = run(main)
    assert taken == ["first"]
    assert repeated == {"code": "ok", "data": "first"}


@pytest.mark.parametrize("fault", ["read-only", "without replicas", "full", "denied"])
def test_many_at_once_get_known_outcomes_and_new_ones_an_effect_of_none_while_the_store_takes_no_writes(
    own_redis: RedisServer, fault: str
) -> None:
    async def main() -> list[Any]:
        async with opened(own_redis) as till:
            assert await till.paid("first") == {"code": "ok", "data": "first"}
            switch(own_redis, fault, on=True)
            orders = [order for number in range(100) for order in ("first", f"new-{number}")]
            answers = await asyncio.gather(*(till.paid(order) for order in orders))
            assert till.taken == ["first"]
            return answers

    refused = {"code": "STATE_UNAVAILABLE", "retry": "after_delay", "effect": "none"}
    assert run(main) == [{"code": "ok", "data": "first"}, refused] * 100


@pytest.mark.parametrize("lose", [RedisServer.kill, RedisServer.suspend])
def test_the_repeat_of_a_finished_call_says_that_its_effect_is_unknown_while_the_store_cannot_be_read(
    own_redis: RedisServer, lose: Callable[[RedisServer], None]
) -> None:
    async def main() -> Any:
        async with opened(own_redis, limit_s=0.3) as till:
            assert await till.paid("first") == {"code": "ok", "data": "first"}
            lose(own_redis)
            return await till.paid("first")

    repeated = run(main)
    assert (repeated["code"], repeated["retry"]) == ("STATE_UNAVAILABLE", "after_delay")
    assert repeated["effect"] == "unknown"


def test_an_answer_under_a_key_is_given_only_where_a_successor_has_it_too(own_redis: RedisServer) -> None:
    async def before() -> Any:
        async with opened(own_redis) as till:
            switch(own_redis, "full", on=True)
            return await till.paid("new"), till.taken

    async def after() -> Any:
        async with opened(own_redis) as till:
            switch(own_redis, "full", on=False)
            return (await till.paid("new"))["code"]

    (first, taken), repeated = run(before), run(after)
    assert (first["code"] == "ok") == (taken == ["new"])
    assert repeated == "ok"


def test_no_exception_of_a_background_task_is_lost_while_the_store_is_full(own_redis: RedisServer) -> None:
    lost: list[str] = []

    async def main() -> None:
        async with opened(own_redis) as till:
            await till.paid("first")
            switch(own_redis, "full", on=True)
            for _ in range(20):
                await till.behind_a_breaker()
                await asyncio.sleep(0.05)
                if lost:
                    break
        del till
        gc.collect()
        await asyncio.sleep(0)

    run(main, lost)
    gc.collect()
    assert lost == []


def announcements(server: RedisServer, fault: str) -> list[bool]:
    """Return what is announced of a fault with calls before, during and after it: whether the store is there."""
    seen: list[bool] = []

    async def main() -> None:
        async with opened(server) as till:
            await till.limited()
            till.runtime.events.subscribe(lambda event: seen.append(event.available), StoreEvent)
            switch(server, fault, on=True)
            for _ in range(12):
                await till.limited()
                await till.paid("new")
                await asyncio.sleep(0.05)
            switch(server, fault, on=False)
            async with asyncio.timeout(BOUND_S):
                while seen and not seen[-1]:
                    await till.limited()
                    await asyncio.sleep(0.02)

    run(main)
    return seen


@pytest.mark.parametrize("fault", ["full", "denied"])
def test_a_store_that_refuses_commands_is_announced_once_when_it_begins_to_and_once_when_it_ends(
    own_redis: RedisServer, fault: str
) -> None:
    assert announcements(own_redis, fault) == [False, True]


@pytest.mark.parametrize("fault", ["read-only", "without replicas"])
def test_a_store_that_takes_no_writes_is_announced_once_when_it_begins_to_and_once_when_it_ends(
    own_redis: RedisServer, fault: str
) -> None:
    assert announcements(own_redis, fault) == [False, True]

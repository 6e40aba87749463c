"""A Redis server that hangs and comes back under keyed writes sent twice: nothing is done twice."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter

import pytest

from failsoft import BaseTool, Idempotency, Runtime, Settings, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, open_state
from tests.programs.redis import RedisServer

WRITES = int(os.environ.get("SOAK_WRITES", "60"))
AT_ONCE, BOUND_S = 10, 60


class Till(BaseTool):
    """Takes money."""

    def __init__(self, url: str, done: list[str]) -> None:
        super().__init__(runtime=Runtime(settings=Settings(), state=open_state(url, Events(), limit_s=0.05)))
        self._done = done

    @operation(timeout=20, recovery=[Idempotency(lease_s=0.3)])
    async def pay(self, order: str) -> str:
        """Take the money for an order."""
        await asyncio.sleep(0.01)
        self._done.append(order)
        return order


async def paid(tool: Till, order: str) -> str:
    """Return `ok` or the code of the failure, sending a call again while it should wait."""
    while True:
        response = await tool.operations["pay"].call({"order": order}, CallScope(meta={META_KEY: order}))
        if response.error is None:
            return "ok"
        if response.error.retry.when != "after_delay":
            return response.error.code
        await asyncio.sleep(0.02)


async def partitions(redis: RedisServer, chance: random.Random) -> None:
    """Let the server hang now and then, for less or longer than a lease."""
    while True:
        await asyncio.sleep(chance.uniform(0.0, 0.2))
        redis.suspend()
        try:
            await asyncio.sleep(chance.choice([0.02, 0.1, 0.5]))
        finally:
            redis.resume()


@pytest.mark.parametrize("seed", [1, 2])
def test_no_write_is_done_twice_while_the_store_hangs_now_and_then(seed: int, own_redis: RedisServer) -> None:
    done: list[str] = []
    said: list[tuple[str, str, str]] = []

    async def main() -> None:
        tools = [Till(own_redis.url, done) for _ in range(2)]
        orders = iter([f"order-{number}" for number in range(WRITES)])
        hanging = asyncio.create_task(partitions(own_redis, random.Random(seed)))  # noqa: S311 - when it hangs

        async def writer() -> None:
            for order in orders:
                answers = await asyncio.gather(*(paid(tool, order) for tool in tools))
                said.append((order, *answers))

        async with asyncio.timeout(BOUND_S + WRITES):
            await asyncio.gather(*(writer() for _ in range(AT_ONCE)))
        hanging.cancel()
        await asyncio.wait([hanging])
        for tool in tools:
            await tool.runtime.state.close()

    asyncio.run(main())
    counted = Counter(done)
    assert [order for order, count in counted.items() if count > 1] == []
    assert [order for order, *answers in said if "ok" in answers and counted[order] != 1] == []
    assert {code for _, *answers in said for code in answers} <= {"ok", "IDEMPOTENCY_OUTCOME_UNKNOWN"}
    assert len(said) == WRITES

"""How much of its quota a record uses: small ones cost the store more than their bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from redis.asyncio import Redis

from failsoft import QuotaExhausted
from failsoft.events import Events
from failsoft.testing import InstantClock
from tests.doors import Changed, RedisBackend, open_state
from tests.programs.redis import RunningRedis
from tests.recovery.state.stores import KINDS, opened, records_in


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_counts_at_least_256_bytes(kind: str, tmp_path: Path, request: Any) -> None:
    async def main(store: Any) -> int:
        records = records_in(store, quota=2_560)
        try:
            for number in range(40):
                await records.put(f"note:{number}", 1, 60.0, principal="ann")
        except QuotaExhausted:
            return len(await records.find("note:"))
        finally:
            await store.close()
        return 40

    with opened(kind, tmp_path, request) as new:
        stored = asyncio.run(main(new()))
    assert stored == 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_quota_of_one_principal_is_not_that_of_another(kind: str, tmp_path: Path, request: Any) -> None:
    async def main(store: Any) -> None:
        records = records_in(store, quota=256)
        await records.put("note:1", 1, 60.0, principal="ann")
        with pytest.raises(QuotaExhausted):
            await records.put("note:2", 1, 60.0, principal="ann")
        await records.put("note:3", 1, 60.0, principal="bob")
        await store.close()

    with opened(kind, tmp_path, request) as new:
        asyncio.run(main(new()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_fullest_principal_is_known_while_records_come_and_go(kind: str, tmp_path: Path, request: Any) -> None:
    async def main(store: Any) -> list[int]:
        records, found = records_in(store), [await store.fullest()]
        for number, principal in enumerate(("ann", "bob", "bob")):
            await records.put(f"note:{number}", 1, 60.0, principal=principal)
            found.append(await store.fullest())
        await records.put("note:3", "x" * 2_000, 60.0, principal="ann")
        found.append(await store.fullest() - 2_000 >> 8)
        for number in (3, 2, 1, 0):
            await records.delete(f"note:{number}")
            found.append(await store.fullest())
        await store.close()
        return found

    with opened(kind, tmp_path, request) as new:
        assert asyncio.run(main(new())) == [0, 256, 256, 512, 1, 512, 256, 256, 0]


def grown(_state: Any, _now: float) -> Changed:
    return Changed({"outcome": "x" * 2_000}, None, 3_600.0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_begun_call_adds_at_its_end_counts_too(kind: str, tmp_path: Path, request: Any) -> None:
    async def main(store: Any) -> int:
        records = records_in(store)
        await records.put("key:1", 1, 60.0, principal="ann")
        await records.change(grown, "key:1", is_free=True)
        await records.change(grown, "state:1", is_free=True)
        used = int(await store.fullest())
        await store.close()
        return used

    with opened(kind, tmp_path, request) as new:
        assert 2_000 < asyncio.run(main(new())) < 2_100


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_quota_that_is_nearly_used_up_is_one_warning_however_many_workers_see_it(kind: str, tmp_path: Path) -> None:
    events = Events()
    url = "memory:" if kind == "memory" else f"sqlite:{tmp_path / 's.sqlite'}"

    async def main() -> None:
        workers = [open_state(url, events, quota_bytes=2_560) for _ in range(1 if kind == "memory" else 3)]
        for number in range(10):
            for worker in workers:
                await worker.records(events).put(f"note:{number}", 1, 3_600.0, principal="ann")
            await asyncio.sleep(61)
        for worker in workers:
            await worker.close()

    with logged() as lines:
        InstantClock().run(main())
    assert [line["used_ratio"] for line in lines if line.get("event") == "state_quota"] == [0.8]


@contextmanager
def logged() -> Iterator[list[dict[str, Any]]]:
    """Give the facts of the lines that are logged meanwhile."""
    lines: list[dict[str, Any]] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: lines.append(message.record["extra"]))
    yield lines
    logger.remove(sink)
    logger.disable("failsoft")


def test_records_of_a_principal_that_have_expired_in_redis_are_not_counted(redis_server: RunningRedis) -> None:
    async def main() -> list[int]:
        store = RedisBackend(redis_server.url, limit_s=60.0)
        records, found = records_in(store), []
        for number in range(3):
            await records.put(f"note:{number}", 1, 0.5, principal="ann")
        await records.put("note:3", 1, 60.0, principal="bob")
        found.append(await store.fullest())
        await asyncio.sleep(0.6)
        found.append(await store.fullest())
        await store.close()
        return found

    assert asyncio.run(main()) == [768, 256]


def test_redis_forgets_principals_whose_records_have_all_expired_whoever_is_fullest(redis_server: RunningRedis) -> None:
    principals = 250

    async def main() -> tuple[int, set[int], int]:
        store = RedisBackend(redis_server.url, limit_s=60.0)
        records = records_in(store)
        await records.put("note:fullest", "x" * 2_000, 600.0, principal="ann")
        for number in range(principals):
            await records.put(f"note:{number}", 1, 0.5, principal=f"p{number}")
        await asyncio.sleep(0.6)
        before = await known()
        fullest = {await store.fullest() >> 8 for _ in range(30)}
        after = await known()
        await store.close()
        return before, fullest, after

    async def known() -> int:
        client = Redis.from_url(redis_server.url)
        async with client:
            return int(sum([await client.zcard(key) async for key in client.scan_iter("*#used")]))

    assert asyncio.run(main()) == (principals + 1, {7}, 1)

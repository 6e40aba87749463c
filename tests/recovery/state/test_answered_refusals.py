"""A store that answers with an error, to reads too: what it refused was not taken, so that nothing is withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import redis

from tests.programs.redis import RedisServer
from tests.recovery.state.test_redis_faults import opened

pytestmark = pytest.mark.anyio
FAULTS: dict[str, list[tuple[str, ...]]] = {
    "MASTERDOWN": [
        ("CONFIG", "SET", "replica-serve-stale-data", "no"),
        ("REPLICAOF", "127.0.0.1", "1"),
    ],
    "NOPERM": [("ACL", "SETUSER", "default", "-@read", "-@write", "-@scripting")],
    "NOAUTH": [("CONFIG", "SET", "requirepass", "secret"), ("CLIENT", "KILL", "TYPE", "normal")],
}


def withdrawals() -> list[str]:
    """Return the background tasks that free keys."""
    names = [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()]
    return [name for name in names if name.endswith("keep_trying")]


def tell(server: RedisServer, commands: list[tuple[str, ...]]) -> None:
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        for command in commands:
            client.execute_command(*command)


async def refused_by(server: RedisServer, begin: Callable[[], None], *, is_known: bool) -> tuple[Any, list[str]]:
    async with opened(server, limit_s=0.5) as till:
        if is_known:
            assert (await till.paid("first"))["code"] == "ok"
        begin()
        answer = await till.paid("second")
        assert "second" not in till.taken
        return answer, withdrawals()


@pytest.mark.parametrize("is_known", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_claim_that_the_store_has_refused_is_not_withdrawn(
    own_redis: RedisServer, fault: str, is_known: bool
) -> None:
    answer, withdrawn = await refused_by(own_redis, lambda: tell(own_redis, FAULTS[fault]), is_known=is_known)
    assert (answer["code"], answer["effect"]) == ("STATE_UNAVAILABLE", "unknown")
    assert withdrawn == []


async def test_a_claim_that_a_cluster_without_slots_has_refused_is_not_withdrawn() -> None:
    server = RedisServer("--cluster-enabled", "yes")
    try:
        answer, withdrawn = await refused_by(server, lambda: None, is_known=False)
    finally:
        server.close()
    assert (answer["code"], answer["effect"]) == ("STATE_UNAVAILABLE", "unknown")
    assert withdrawn == []


async def test_a_claim_for_which_there_is_no_answer_is_withdrawn(own_redis: RedisServer) -> None:
    answer, withdrawn = await refused_by(own_redis, own_redis.suspend, is_known=True)
    assert (answer["code"], answer["effect"]) == ("STATE_UNAVAILABLE", "unknown")
    assert len(withdrawn) == 1

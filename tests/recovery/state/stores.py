"""The three stores behind one face, for tests that hold them to one contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.doors import (
    Changed,
    MemoryRecords,
    Quota,
    RecordBackend,
    Records,
    RedisState,
    SqliteState,
    State,
    Transition,
)

if TYPE_CHECKING:
    from tests.programs.redis import RunningRedis

__all__ = ["ADD", "KINDS", "Open", "opened", "records_in"]

KINDS = ("memory", "sqlite", "redis")
Open: TypeAlias = Callable[[], RecordBackend]
"""Opens the store once more, as another process would."""


def add(state: State | None, _now: float, amount: int, ttl_s: float) -> Changed:
    number = (0 if state is None else state["number"]) + amount
    return Changed({"number": number} if number else None, number, ttl_s)


ADD = Transition(
    "test.add",
    add,
    """
    local amount, ttl_s = unpack(arguments)
    local number = (state and state.number or 0) + amount
    if number == 0 then return nil, 0, ttl_s end
    return {number = number}, number, ttl_s
    """,
)


@contextmanager
def opened(kind: str, folder: Path, request: Any) -> Iterator[Open]:
    """Give what opens one store of a kind, again and again."""
    if kind == "memory":
        only = MemoryRecords()
        yield lambda: only
    elif kind == "sqlite":
        yield lambda: SqliteState(folder / "state.sqlite")
    else:
        server: RunningRedis = request.getfixturevalue("redis_server")
        yield lambda: RedisState(server.url, limit_s=60.0)


def records_in(backend: RecordBackend, *, scope: str = "shop/shop/0/", quota: Quota | None = None) -> Records:
    """Return the records of one scope."""
    return Records(backend, lambda: scope, quota or Quota())

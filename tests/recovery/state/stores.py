"""The three stores behind one face, for tests that hold them to one contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.doors import KEPT, Backend, Changed, MemoryBackend, Records, RedisBackend, SqliteBackend, State

if TYPE_CHECKING:
    from tests.programs.redis import RunningRedis

__all__ = ["KINDS", "Open", "add", "looked_at", "opened", "records_in"]

KINDS = ("memory", "sqlite", "redis")
Open: TypeAlias = Callable[[], Backend]
"""Opens the store once more, as another process would."""


def add(state: State | None, _now: float, amount: int, ttl_s: float) -> Changed:
    number = (0 if state is None else state["number"]) + amount
    return Changed({"number": number} if number else None, number, ttl_s)


def looked_at(state: State | None, _now: float) -> Changed:
    return Changed(KEPT, state)


@contextmanager
def opened(kind: str, folder: Path, request: Any) -> Iterator[Open]:
    """Give what opens one store of a kind, again and again."""
    if kind == "memory":
        only = MemoryBackend()
        yield lambda: only
    elif kind == "sqlite":
        yield lambda: SqliteBackend(folder / "state.sqlite")
    else:
        server: RunningRedis = request.getfixturevalue("redis_server")
        yield lambda: RedisBackend(server.url, limit_s=60.0)


def records_in(backend: Backend, *, scope: str = "shop/shop/0/", quota: int = 2**28) -> Records:
    """Return the records of one scope."""
    return Records(backend, lambda: scope, quota)

"""Every fault of a state store once, under load: no effect is lost, doubled or denied, and no read fails for its sake.

`STORE_FAULT_CALLS=20000 pytest -m slow tests/slow/crashes/test_store_faults.py -s` makes as many calls for each fault.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import subprocess
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from failsoft import BaseTool, CircuitBreaker, Idempotency, RateLimit, operation
from failsoft.events import Events, StoreEvent
from failsoft.testing import fresh_runtime
from tests.doors import META_KEY, CallScope, SharedStore, SqliteBackend, StateStore, WatchedBackend, open_state
from tests.programs.redis import RedisServer
from tests.recovery.state.test_sqlite_faults import as_root
from tests.recovery.state.test_sqlite_repeats import full, locked, read_only

CALLS = int(os.environ.get("STORE_FAULT_CALLS", "500"))
AT_ONCE = max(25, CALLS // 100)
BOUND_S = 60.0
Fault = Callable[[], AbstractContextManager[Any]]


class Till(BaseTool):
    """Takes money, once an order."""

    def __init__(self, state: StateStore, events: Events) -> None:
        super().__init__(runtime=fresh_runtime(events=events, state=state))
        self.taken: Counter[str] = Counter()

    @operation(recovery=[Idempotency(lease_s=2.0)])
    async def pay(self, order: str) -> str:
        """Take the money for an order."""
        await asyncio.sleep(0)
        self.taken[order] += 1
        await asyncio.sleep(0)
        return f"paid {order}"

    @operation(read_only=True, recovery=[CircuitBreaker("bank"), RateLimit("1000000/minute")])
    async def look(self) -> str:
        """Ask the bank."""
        return "seen"


class Load:
    """Calls, and what is wrong with their answers."""

    def __init__(self, till: Till) -> None:
        self.till = till
        self.orders: list[str] = []
        self.paid: set[str] = set()
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._random = random.Random(1)  # noqa: S311 - which calls are made

    async def some(self, calls: int) -> None:
        """Make calls: a read, a new order, or one that was sent before, as often as each other."""
        for first in range(0, calls, AT_ONCE):
            await asyncio.gather(*(self._one() for _ in range(first, min(calls, first + AT_ONCE))))

    async def _one(self) -> None:
        chosen = self._random.randrange(3)
        if chosen == 0:
            answer: Any = await self.till.look()
            if answer.error is not None:
                self.wrong.append(f"a read failed with {answer.error.code}")
        elif chosen == 1 or not self.orders:
            self.orders.append(f"order-{len(self.orders)}")
            await self.pay(self.orders[-1])
        else:
            await self.pay(self._random.choice(self.orders))

    async def pay(self, order: str, *, by: Till | None = None) -> str:
        """Make one keyed call, compare its answer with what was done, and return its code."""
        till = by or self.till
        scope = CallScope(meta={META_KEY: order})
        answer: Any = await asyncio.wait_for(till.operations["pay"].call({"order": order}, scope), BOUND_S)
        done = self.till.taken[order] + (till.taken[order] if by else 0)
        if answer.error is None:
            code = "ok"
            self.paid.add(order)
            if (done, answer.data) != (1, f"paid {order}"):
                self.wrong.append(f"{order} is said to be paid, and was {done} times")
        else:
            error = answer.to_dict()["error"]
            code, effect = error["code"], error["effect"]
            if effect == "none" and done:
                self.wrong.append(f"{order} is said to have no effect ({code}), and was paid {done} times")
            if code == "STATE_UNAVAILABLE" and error["retry"]["when"] != "after_delay":
                self.wrong.append(f"{code} does not say that the same key is safe")
            if done > 1:
                self.wrong.append(f"{order} was paid {done} times")
            code = f"{code} {effect}"
        self.answers[code] += 1
        return code


async def survives(open_store: Callable[[Events], StateStore], fault: Fault, expected: set[str]) -> Load:
    """Make calls before, during and after a fault, and repeat every order by a successor; return what was seen."""
    events, seen, lost = Events(), [], []
    events.subscribe(seen.append, StoreEvent)
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: lost.append(context["message"]))
    async with opened(open_store, events) as till:
        load = Load(till)
        await load.some(CALLS // 5)
        await closed(till)
        with fault():
            await load.some(3 * CALLS // 5)
            await closed(till)
        await load.some(CALLS // 5)
        async with asyncio.timeout(BOUND_S):
            while not till.runtime.state.is_available:  # noqa: ASYNC110 - what announces it is under test
                await asyncio.sleep(0.02)
    async with opened(open_store, Events()) as successor:
        acknowledged = sorted(load.paid)
        again = Counter([await load.pay(order, by=successor) for order in acknowledged])
        for order in set(load.orders) - load.paid:
            await load.pay(order, by=successor)
    print(dict(load.answers), [(event.available, event.fault) for event in seen])  # noqa: T201 - for the record
    assert load.wrong == []
    assert again == {"ok": len(acknowledged)}
    assert [event.available for event in seen] == [False, True] * (len(seen) // 2)  # a busy machine may lose it again
    assert seen
    assert seen[0].fault in expected
    assert lost == []
    return load


@asynccontextmanager
async def opened(open_store: Callable[[Events], StateStore], events: Events) -> AsyncIterator[Till]:
    till = Till(open_store(events), events)
    try:
        yield till
    finally:
        later = asyncio.all_tasks() - {asyncio.current_task()}  # which would open connections anew
        for task in later:
            task.cancel()
        await asyncio.gather(*later, return_exceptions=True)
        await till.runtime.state.close()


async def closed(till: Till) -> None:
    """Close the file, so that its disk can be changed; a server keeps its connections."""
    backend: Any = till.runtime.state.records(till).backend
    if isinstance(backend.backend, SqliteBackend):
        await backend.backend.close()


def admin(server: RedisServer, *commands: str) -> None:
    with redis.Redis(unix_socket_path=str(server.socket), socket_timeout=BOUND_S) as client:
        for command in commands:
            client.execute_command(*command.split())


def switched(on: str, off: str) -> Callable[[RedisServer], AbstractContextManager[Any]]:
    @contextmanager
    def fault(server: RedisServer) -> Iterator[None]:
        admin(server, on)
        try:
            yield
        finally:
            admin(server, off)

    return fault


@contextmanager
def unsaved(server: RedisServer) -> Iterator[None]:
    """Let the server fail to save its data (MISCONF)."""
    folder = server.socket.parent / "dump.rdb"
    folder.mkdir()
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.config_set("save", "3600 1")
        client.bgsave()
        while client.info("persistence")["rdb_last_bgsave_status"] == "ok":
            time.sleep(0.01)
        try:
            yield
        finally:
            folder.rmdir()
            client.bgsave()
            while client.info("persistence")["rdb_last_bgsave_status"] != "ok":
                time.sleep(0.01)


@contextmanager
def loading(server: RedisServer) -> Iterator[None]:
    """Let the server read its data in again, slowly."""
    admin(
        server,
        "DEBUG POPULATE 300",
        "CONFIG SET key-load-delay 10000",
        "CONFIG SET loading-process-events-interval-bytes 1024",
    )
    reloading = threading.Thread(target=lambda: admin(server, "DEBUG RELOAD"))
    reloading.start()
    while not refuses(server, "LOADING"):
        time.sleep(0.01)
    try:
        yield
    finally:
        reloading.join(BOUND_S)


def refuses(server: RedisServer, word: str) -> bool:
    """Return whether the server answers with this word; the client would try again and again."""
    return server.ask(b"GET x").startswith(b"-" + word.encode())


@contextmanager
def locked_out(server: RedisServer) -> Iterator[None]:
    """Let the server ask for a password that we do not have."""
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.config_set("requirepass", "other")
        client.execute_command("AUTH", "other")
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        try:
            yield
        finally:
            client.config_set("requirepass", "")


@contextmanager
def busy(server: RedisServer) -> Iterator[None]:
    """Let a script of another client run without end."""

    def run() -> None:
        with redis.Redis(unix_socket_path=str(server.socket)) as client, pytest.raises(redis.ResponseError):
            client.eval("while true do end", 0)

    admin(server, "CONFIG SET lua-time-limit 10")
    running = threading.Thread(target=run)
    running.start()
    while not refuses(server, "BUSY"):
        time.sleep(0.01)
    try:
        yield
    finally:
        admin(server, "SCRIPT KILL")
        running.join(BOUND_S)


@contextmanager
def hung(server: RedisServer) -> Iterator[None]:
    server.suspend()
    try:
        yield
    finally:
        server.resume()


@contextmanager
def refused(server: RedisServer) -> Iterator[None]:
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextmanager
def of_a_cluster(server: RedisServer) -> Iterator[None]:
    """Put a server of a cluster that is down in its place."""
    server.kill()
    other = RedisServer("--cluster-enabled", "yes", "--port", "0")
    server.socket.unlink(missing_ok=True)
    server.socket.symlink_to(other.socket)
    try:
        yield
    finally:
        server.socket.unlink()
        other.close()
        server.start()


OF_REDIS = {
    "READONLY": (switched("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"), {"read_only"}),
    "NOREPLICAS": (switched("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"), {"read_only"}),
    "OOM": (switched("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"), {"full"}),
    "LOADING": (loading, {"loading"}),
    "MISCONF": (unsaved, {"read_only"}),
    "NOAUTH": (locked_out, {"denied"}),
    "NOPERM": (switched("ACL SETUSER default -eval -evalsha", "ACL SETUSER default +eval +evalsha"), {"denied"}),
    "BUSY": (busy, {"busy"}),
    "CLUSTERDOWN": (of_a_cluster, {"lost"}),
    "hung": (hung, {"lost"}),
    "refused": (refused, {"lost"}),
}


@pytest.mark.parametrize("name", OF_REDIS)
def test_no_effect_is_lost_doubled_or_denied_while_a_redis_is_at_fault(name: str) -> None:
    fault, expected = OF_REDIS[name]
    server = RedisServer("--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes")
    try:
        asyncio.run(
            survives(lambda events: open_state(server.url, events, limit_s=0.5), lambda: fault(server), expected)
        )
    finally:
        server.close()


@contextmanager
def unwritten(path: Path) -> Iterator[None]:
    """Let writes beyond the length of the file fail, which SQLite takes for an error of the disk (IOERR)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    whole = path.read_bytes()
    path.write_bytes(b"no database at all" * 1000)
    try:
        yield
    finally:
        path.write_bytes(whole)


OF_SQLITE: dict[str, tuple[Callable[[Path], AbstractContextManager[Any]], set[str]]] = {
    "LOCKED": (locked, {"busy"}),
    "FULL": (full, {"full"}),
    "READONLY": (read_only, {"read_only"}),
    "IOERR": (unwritten, {"lost"}),
    "NOTADB": (damaged, {"damaged"}),
}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of its own, with room for the records."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={4_000_000 + 2_000 * CALLS}", "tmpfs", str(folder)], check=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@as_root
@pytest.mark.parametrize("name", OF_SQLITE)
def test_no_effect_is_lost_doubled_or_denied_while_a_file_is_at_fault(disk: Path, name: str) -> None:
    fault, expected = OF_SQLITE[name]
    path = disk / "s.sqlite"

    def open_store(events: Events) -> StateStore:
        backend = WatchedBackend(SqliteBackend(path, patience_s=0.2), events, probe="probe:write")
        return SharedStore(backend, is_checked=True, limit_s=1.0)

    asyncio.run(survives(open_store, lambda: fault(path), expected))

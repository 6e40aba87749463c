"""What the version before has stored, without versions of keys: it is read, replayed, counted, changed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from failsoft import CircuitBreaker, QuotaExhausted
from failsoft.errors import StateUnusable
from failsoft.events import Events
from failsoft.testing import fresh_runtime
from tests.doors import RedisBackend, SharedStore, SqliteBackend, open_state
from tests.programs.redis import RunningRedis
from tests.recovery.protected import protected
from tests.recovery.state.stores import add, records_in
from tests.recovery.state.test_sqlite_faults import as_root, disk, fill  # noqa: F401 - `disk` is a fixture
from tests.recovery.state.test_sqlite_repeats import paid, till_at
from tests.zygote import PYTHON

SCOPE = "shop/shop/0/"
FORMAT_1 = """
CREATE TABLE record (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, value TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX record_until ON record (until);
CREATE TABLE account (owner TEXT PRIMARY KEY, records INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER record_added AFTER INSERT ON record WHEN NEW.owner <> '' BEGIN
    INSERT INTO account VALUES (NEW.owner, 1, length(NEW.key) + length(NEW.value))
    ON CONFLICT (owner) DO UPDATE SET records = records + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER record_changed AFTER UPDATE OF value ON record WHEN NEW.owner <> '' BEGIN
    UPDATE account SET bytes = bytes + length(NEW.value) - length(OLD.value) WHERE owner = NEW.owner;
END;
CREATE TRIGGER record_removed AFTER DELETE ON record WHEN OLD.owner <> '' BEGIN
    UPDATE account SET records = records - 1, bytes = bytes - length(OLD.key) - length(OLD.value)
    WHERE owner = OLD.owner;
    DELETE FROM account WHERE owner = OLD.owner AND records <= 0;
END;
PRAGMA application_id = 0x46534F46; PRAGMA user_version = 1;
"""
OPENS = """
import asyncio, sys
from pathlib import Path
from tests.doors import SqliteBackend

async def main():
    backend = SqliteBackend(Path(sys.argv[1]))
    sys.stdin.readline()
    await backend.ping()
    print((await backend.read("shop/shop/0/number")).value)
    await backend.close()

asyncio.run(main())
"""


def owner_of(principal: str | None = None) -> str:
    """Return the hash under which records of a principal count."""
    text = f"{SCOPE}\0{'' if principal is None else 'p' + principal}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


async def write_format_1(path: Path) -> None:
    """Write a file as the version before: a finished key, and a number that counts against a quota."""
    till = till_at(path)
    assert (await paid(till, "first"))["code"] == "ok"
    await till.runtime.state.records(till).backend.close()
    with sqlite3.connect(path) as file:
        rows = file.execute("SELECT key, owner, value, until FROM record").fetchall()
    file.close()
    for name in ("s.sqlite", "s.sqlite-wal", "s.sqlite-shm"):
        (path.parent / name).unlink(missing_ok=True)
    file = sqlite3.connect(path)
    file.execute("PRAGMA journal_mode = WAL")
    file.executescript(FORMAT_1)
    until = time.time() + 3_600
    number = (SCOPE + "number", owner_of(), '{"number": 7}', until)
    file.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", [*rows, number])
    file.commit()
    file.close()
    os.chmod(path, 0o600)  # noqa: PTH101 - of a loop that has nothing else to do


def test_a_file_of_format_1_is_read_counted_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def main() -> None:
        await write_format_1(path)
        till = till_at(path)
        assert [(await paid(till, order))["code"] for order in ("first", "second")] == ["ok", "ok"]
        assert till.taken == ["second"]
        backend = till.runtime.state.records(till).backend
        records = records_in(backend, quota=300)
        assert await records.change(add, "number", 1, 60.0) == 8
        with pytest.raises(QuotaExhausted):
            await records.put("another", "x", 60.0)
        assert await records.delete("number")
        assert await records.put("another", "x", 60.0)
        await backend.close()

    asyncio.run(main())
    file = sqlite3.connect(path)
    assert file.execute("PRAGMA user_version").fetchone() == (2,)
    assert file.execute("SELECT bytes FROM account WHERE owner = ?", (owner_of(),)).fetchone() == (256,)
    file.close()


@contextmanager
def all_at_once(path: Path, number: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Give so many processes that wait for a line to open the file."""
    command = [PYTHON, "-c", OPENS, str(path)]
    programs = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(number)
    ]
    try:
        yield programs
    finally:
        for program in programs:
            program.kill()
            program.communicate()


@pytest.mark.parametrize("is_new", [False, True])
def test_a_file_is_made_or_changed_by_many_processes_at_once(tmp_path: Path, *, is_new: bool) -> None:
    path = tmp_path / "s.sqlite"
    if not is_new:
        asyncio.run(write_format_1(path))
    with all_at_once(path, 6) as programs:
        for program in programs:
            assert program.stdin is not None
            program.stdin.write("go\n")
            program.stdin.flush()
        answers = [program.communicate(timeout=60) for program in programs]
    assert answers == [("None\n" if is_new else "{'number': 7}\n", "")] * 6


def test_a_new_file_is_made_by_several_threads_at_once(tmp_path: Path) -> None:
    """Each sees an empty file, one that another is making, or a whole one."""

    async def main() -> None:
        for number in range(60):
            backends = [SqliteBackend(tmp_path / f"{number}.sqlite") for _ in range(8)]
            await asyncio.gather(*(backend.ping() for backend in backends))
            await asyncio.gather(*(backend.close() for backend in backends))

    asyncio.run(main())


def remount_read_only(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)


@as_root
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_file_of_format_1_is_read_where_it_takes_no_writes(disk: Path, fault: str) -> None:  # noqa: F811 - the fixture
    path = disk / "s.sqlite"

    async def main() -> None:
        await write_format_1(path)
        if fault == "full":
            fill(disk)
        else:
            remount_read_only(disk)
        till = till_at(path)
        assert (await paid(till, "first"))["code"] == "ok"
        backend = till.runtime.state.records(till).backend
        records = records_in(backend)
        assert await records.get("number") == {"number": 7}
        assert [record.key for record in await records.find("")] == ["number"]
        refused = await paid(till, "second")
        assert (refused["code"], refused["effect"], till.taken) == ("STATE_UNAVAILABLE", "none", [])
        await backend.close()

    asyncio.run(main())


@as_root
def test_what_other_processes_wrote_last_is_not_passed_over_where_nothing_can_be_written(disk: Path) -> None:  # noqa: F811 - the fixture
    """Beside a file that a crash has left open lies what was written last, which is not in the file itself."""
    path = disk / "s.sqlite"

    async def main() -> None:
        till = till_at(path)
        assert (await paid(till, "first"))["code"] == "ok"
        copies = {name: (disk / name).read_bytes() for name in ("s.sqlite", "s.sqlite-wal")}
        assert copies["s.sqlite-wal"]
        await till.runtime.state.records(till).backend.close()
        for name, data in copies.items():
            (disk / name).write_bytes(data)
        remount_read_only(disk)
        again = till_at(path)
        answer = await paid(again, "first")
        assert answer["code"] == "ok" or answer["effect"] == "unknown"
        assert again.taken == []
        await again.runtime.state.records(again).backend.close()

    asyncio.run(main())


def packed(value: Any) -> bytes:
    """Return a state in MessagePack, as a script of the version before wrote it."""
    if isinstance(value, dict):
        assert len(value) < 16
        return bytes([0x80 + len(value)]) + b"".join(packed(name) + packed(item) for name, item in value.items())
    if isinstance(value, str):
        data = value.encode()
        return b"\xda" + len(data).to_bytes(2) + data
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(packed, value))
    assert isinstance(value, int)
    return bytes([value]) if 0 <= value < 128 else b"\xd3" + value.to_bytes(8, signed=True)


@pytest.mark.parametrize("value", [{"a": [1, "ü"]}, [1, 2], "text", 12, -5, 0.25, True, False])
def test_a_json_value_of_the_version_before_is_read_from_redis(redis_server: RunningRedis, value: Any) -> None:
    async def main() -> None:
        backend = RedisBackend(redis_server.url, limit_s=60.0)
        with redis.Redis(unix_socket_path=str(redis_server.socket)) as client:
            client.set(f"failsoft:{SCOPE}kept", json.dumps(value), px=60_000)
        records = records_in(backend)
        assert await records.get("kept") == value
        assert [record.value for record in await records.find("")] == [value]
        assert not await records.put("kept", "other", 60.0, only_if_absent=True)
        assert await records.put("kept", "other", 60.0)
        assert await records.get("kept") == "other"
        await backend.close()

    asyncio.run(main())


def test_a_state_of_the_version_before_is_read_counted_and_changed_on_redis(redis_server: RunningRedis) -> None:
    async def main() -> None:
        backend = RedisBackend(redis_server.url, limit_s=60.0)
        name, owner = f"failsoft:{SCOPE}number", owner_of()
        with redis.Redis(unix_socket_path=str(redis_server.socket), decode_responses=True) as client:
            client.set(name, packed({"number": 300, "name": "ü"}), px=60_000)
            client.set(f"failsoft#owner:{name}", owner, px=60_000)
            client.zadd(f"failsoft#until:{owner}", {name: int(time.time() * 1000) + 60_000})
            client.hset(f"failsoft#sizes:{owner}", mapping={name: 40, "": 40})
            records = records_in(backend, quota=290)
            assert await records.get("number") == {"number": 300, "name": "ü"}
            with pytest.raises(QuotaExhausted):
                await records.put("another", "x" * 60, 60.0)
            assert await records.change(add, "number", 1, 60.0) == 301
            assert client.hgetall(f"failsoft#sizes:{owner}") == {name: "256", "": "256"}
            assert await records.delete("number")
            assert sorted(client.keys("failsoft*")) == ["failsoft#format", f"failsoft#sizes:{owner}"]
            assert client.hgetall(f"failsoft#sizes:{owner}") == {"": "0"}
        await backend.close()

    asyncio.run(main())


def test_a_call_and_a_breaker_of_the_version_before_are_known_on_redis(redis_server: RunningRedis) -> None:
    """States are those of this version, written again as the version before wrote them."""

    async def main() -> None:
        events = Events()
        breaker = CircuitBreaker("api", min_calls=2, open_s=3_600.0)

        async def refused() -> str:
            raise TimeoutError

        first = protected(breaker, runtime=fresh_runtime(state=open_state(redis_server.url, events, limit_s=60.0)))
        first.work = refused
        assert [await first.code() for _ in range(6)][-1] == "CIRCUIT_OPEN"
        await first.runtime.state.close()
        rewritten = 0
        with redis.Redis(unix_socket_path=str(redis_server.socket)) as client:
            for name in client.keys("failsoft:*"):
                client.set(name, as_format_1(client.get(name)), keepttl=True)
                rewritten += 1
        assert rewritten
        state = open_state(redis_server.url, events, limit_s=60.0)
        later = protected(breaker, runtime=fresh_runtime(state=state))
        assert await later.code() == "CIRCUIT_OPEN"
        assert isinstance(state, SharedStore)
        assert state.is_available
        await state.close()

    asyncio.run(main())


def as_format_1(raw: bytes) -> bytes:
    """Return a state of today as the version before wrote it; numbers with a fraction as 64-bit floats."""

    def told(value: Any) -> bytes:
        if isinstance(value, float):
            return b"\xcb" + struct.pack(">d", value)
        if isinstance(value, dict):
            return bytes([0x80 + len(value)]) + b"".join(packed(name) + told(item) for name, item in value.items())
        if isinstance(value, list):
            return b"\xdc" + len(value).to_bytes(2) + b"".join(map(told, value))
        return packed(value)

    return told(json.loads(raw.partition(b"\n")[2]))


def test_a_server_that_a_newer_version_has_written_to_is_refused(redis_server: RunningRedis) -> None:
    """Such as after a rollback, or by a replica that is not upgraded yet."""

    async def main() -> None:
        backend = RedisBackend(redis_server.url, limit_s=60.0)
        records = records_in(backend)
        assert await records.put("kept", 1, 60.0)
        with redis.Redis(unix_socket_path=str(redis_server.socket), decode_responses=True) as client:
            assert client.get("failsoft#format") == "2"
            client.set("failsoft#format", "3", px=60_000)
            for refused in (records.get("kept"), records.put("other", 1, 60.0)):
                with pytest.raises(StateUnusable, match="state") as caught:
                    await refused
                assert "upgrade this one" in caught.value.operator_hint
            client.delete("failsoft#format")
            assert await records.change(add, "number", 1, 60.0) == 1
            assert client.get("failsoft#format") == "2"
        await backend.close()

    asyncio.run(main())


def test_a_backup_that_is_made_while_calls_run_knows_those_that_were_answered(tmp_path: Path) -> None:
    path, copy = tmp_path / "s.sqlite", tmp_path / "restored.sqlite"

    def back_up() -> None:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        copy.chmod(0o600)

    async def main() -> None:
        till = till_at(path)
        for number in range(5):
            await paid(till, f"before-{number}")
        await asyncio.gather(asyncio.to_thread(back_up), *(paid(till, f"meanwhile-{number}") for number in range(20)))
        await till.runtime.state.records(till).backend.close()
        again = till_at(copy)
        assert [(await paid(again, f"before-{number}"))["code"] for number in range(5)] == ["ok"] * 5
        assert again.taken == []
        await again.runtime.state.records(again).backend.close()

    asyncio.run(main())

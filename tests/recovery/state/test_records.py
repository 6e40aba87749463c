"""One contract for durable records, held over memory, SQLite and Redis."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import QuotaExhausted, ToolError
from failsoft.errors import StateUnavailable, StateUnusable
from tests.doors import Backend, Claimant, MemoryBackend, Phase, RedisBackend, SqliteBackend, claim, scope_of
from tests.programs.redis import RedisServer
from tests.recovery.state.stores import KINDS, Open, add, opened, records_in
from tests.zygote import PYTHON


@pytest.fixture(params=KINDS)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    with opened(request.param, tmp_path, request) as one:
        yield one


def run(open_store: Open, body: Callable[[Backend], Awaitable[Any]]) -> Any:
    """Run a body with a store on an event loop of its own, as a process does."""

    async def main() -> Any:
        store = open_store()
        try:
            return await body(store)
        finally:
            await store.close()

    return asyncio.run(main())


async def refused(work: Awaitable[Any]) -> str:
    with pytest.raises(ToolError) as caught:
        await work
    assert caught.value.effect == "none"
    return caught.value.code


def test_a_value_is_there_after_a_restart(reopen: Open) -> None:
    value = {"text": "é", "list": [1, 2.5, None, True], "nested": {"a": {}}}
    assert run(reopen, lambda store: records_in(store).put("session:1", value, 60)) is True
    assert run(reopen, lambda store: records_in(store).get("session:1")) == value
    assert run(reopen, lambda store: records_in(store).delete("session:1")) is True
    assert run(reopen, lambda store: records_in(store).delete("session:1")) is False
    assert run(reopen, lambda store: records_in(store).get("session:1")) is None


def test_of_two_that_put_where_there_is_none_the_first_counts(reopen: Open) -> None:
    async def body(store: Backend) -> list[Any]:
        records = records_in(store)
        kept = [await records.put("plan:1", name, 60, only_if_absent=True) for name in ("first", "second")]
        return [*kept, await records.get("plan:1")]

    assert run(reopen, body) == [True, False, "first"]


def test_steps_are_atomic_over_many_at_once(reopen: Open) -> None:
    async def body(store: Backend) -> Any:
        one, other = records_in(store), records_in(reopen())
        await asyncio.gather(*(item.change(add, "number:1", 1, 60) for item in (one, other) for _ in range(50)))
        total = await one.change(add, "number:1", 0, 60)
        await other.backend.close()
        return total

    assert run(reopen, body) == 100


class Same:
    """The hashes of no arguments."""

    text = "{}"

    def is_same(self, stored: str) -> bool:
        return stored == self.text

    def changed(self, stored: str) -> tuple[str, ...]:
        return ()


def test_a_claim_that_is_sent_again_because_its_answer_was_lost_is_granted_again(reopen: Open) -> None:
    async def body(store: Backend) -> list[Any]:
        records = records_in(store)
        calls = [Claimant(token, Same(), Phase.RUNNING, 10.0, 60.0) for token in ("one", "one", "other")]
        verdicts = [await records.change(claim, "key:1", ours, False, "") for ours in calls]
        return [verdict for verdict, *_ in verdicts]

    assert run(reopen, body) == ["run", "run", "wait"]


def test_a_record_is_gone_when_its_time_is_over(reopen: Open) -> None:
    async def body(store: Backend) -> list[Any]:
        records = records_in(store)
        await records.put("key:1", "short", 0.02)
        await records.put("key:2", "long", 60)
        async with asyncio.timeout(60):
            while await records.get("key:1") is not None:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)
        found = await records.find("key:")
        return [
            [(item.key, item.value) for item in found],
            await records.put("key:1", "again", 60, only_if_absent=True),
        ]

    assert run(reopen, body) == [[("key:2", "long")], True]


def test_scopes_do_not_see_each_other(reopen: Open) -> None:
    async def body(store: Backend) -> list[Any]:
        one, other = records_in(store, scope="a/x/0/"), records_in(store, scope="a/x/1/")
        await one.put("key:1", "one", 60)
        await one.put("key:2", "two", 60)
        seen = [await other.get("key:1"), await other.find(""), await other.delete("key:1")]
        return [*seen, [(item.key, item.value) for item in await one.find("key:")]]

    assert run(reopen, body) == [None, [], False, [("key:1", "one"), ("key:2", "two")]]


def test_the_scope_is_made_of_server_toolset_and_real_folders(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    scope = scope_of("shop", "docs", [tmp_path / "one"], "")
    assert scope == scope_of("shop", "docs", [tmp_path / "link"], "")
    others = [("shop", "edit", "one"), ("other", "docs", "one"), ("shop", "docs", "two")]
    assert all(scope_of(server, tool, [tmp_path / folder], "") != scope for server, tool, folder in others)


def test_each_principal_has_a_quota_of_its_own(reopen: Open) -> None:
    async def body(store: Backend) -> list[Any]:
        records = records_in(store, quota=3 * 256)
        for number in range(3):
            await records.put(f"key:{number}", "x", 60, principal="flood")
        codes = [
            await refused(records.put("key:3", "x", 60, principal="flood")),
            await refused(records.change(add, "number:1", 1, 60, principal="flood")),
        ]
        await records.put("key:of-another", "x", 60, principal="other")
        await records.put("key:0", "changed", 60, principal="flood")
        await records.delete("key:1")
        await records.change(add, "number:1", 1, 60, principal="flood")
        await records.change(add, "number:1", -1, 60, principal="flood")
        await records.put("key:1", "there is room again", 60, principal="flood")
        return [codes, await records.get("key:of-another"), await records.get("key:0")]

    assert run(reopen, body) == [["QUOTA_EXHAUSTED"] * 2, "x", "changed"]


def test_a_quota_counts_bytes(reopen: Open) -> None:
    async def body(store: Backend) -> list[Any]:
        records = records_in(store, quota=1_000)
        await records.put("key:1", "x" * 500, 60, principal="a")
        codes = [
            await refused(records.put("key:2", "x" * 500, 60, principal="a")),
            await refused(records.put("key:1", "x" * 2_000, 60, principal="a")),
        ]
        return [codes, await records.put("key:1", "x" * 700, 60, principal="a")]

    assert run(reopen, body) == [["QUOTA_EXHAUSTED"] * 2, True]


def test_what_has_expired_counts_in_no_quota(reopen: Open) -> None:
    async def body(store: Backend) -> bool:
        records = records_in(store, quota=2 * 256)
        for key in ("key:1", "key:2"):
            await records.put(key, "x", 0.02, principal="a")
        async with asyncio.timeout(60):
            while True:
                try:
                    return await records.put("key:3", "x", 60, principal="a")
                except QuotaExhausted:
                    await asyncio.sleep(0.005)

    assert run(reopen, body) is True


def test_records_in_memory_that_have_expired_leave_it() -> None:
    now = 0.0
    store = MemoryBackend(lambda: now)

    async def main() -> None:
        nonlocal now
        records = records_in(store)
        for number in range(5_010):
            await records.put(f"key:{number}", "x", 86_400, principal=str(number % 7))
        now = 27 * 3_600.0
        await records.put("key:new", "x", 86_400)

    asyncio.run(main())
    assert len(store) == 1
    assert len(store._usage) == 1


def test_rows_that_have_expired_leave_the_file(tmp_path: Path) -> None:
    store = SqliteBackend(tmp_path / "s.sqlite")

    async def main() -> None:
        records = records_in(store)
        await asyncio.gather(*(records.put(f"key:{number}", "x", 0.001) for number in range(500)))
        async with asyncio.timeout(60):
            while await records.find("key:"):  # noqa: ASYNC110 - nothing announces the expiry
                await asyncio.sleep(0.001)
        store._swept_at = 0.0
        await records.put("key:new", "x", 60)
        await store.close()

    asyncio.run(main())
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM record").fetchall() == [(1,)]
        assert connection.execute("SELECT bytes FROM account").fetchall() == [(256,)]
    connection.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from tests.doors import Records
from tests.doors import SqliteBackend

async def main():
    records = Records(SqliteBackend(Path(sys.argv[1])), lambda: "a/b/c/")
    number = 0
    while True:
        await records.put(f"key:{number}", number, 600)
        print(number, flush=True)
        number += 1

asyncio.run(main())
"""


def test_what_was_answered_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    process = subprocess.Popen([PYTHON, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    reported = [int(next(process.stdout)) for _ in range(50)]
    process.kill()
    reported += [int(line) for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait(60)

    async def main() -> list[Any]:
        store = SqliteBackend(path)
        found = await records_in(store, scope="a/b/c/").find("key:")
        await store.close()
        return sorted(item.value for item in found)

    assert asyncio.run(main())[: len(reported)] == reported


async def code_with(path: Path) -> tuple[str, str]:
    store = SqliteBackend(path, patience_s=0.1)
    try:
        await records_in(store).put("key:1", "x", 60)
    except ToolError as error:
        return error.code, error.operator_hint or ""
    finally:
        await store.close()
    return "ok", ""


@pytest.mark.parametrize("damage", ["corrupt", "newer", "foreign", "folder"])
def test_a_file_that_cannot_be_used_is_refused_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s.sqlite"
    if damage == "corrupt":
        path.write_bytes(b"no database at all" * 100)
    elif damage == "folder":
        path.mkdir()
    elif damage == "newer":
        assert asyncio.run(code_with(path)) == ("ok", "")
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE of_another (x)")
        connection.close()
    before = None if damage == "folder" else path.read_bytes()
    code, hint = asyncio.run(code_with(path))
    assert code == ("STATE_UNAVAILABLE" if damage == "folder" else "STATE_UNUSABLE")
    assert str(path) in hint
    assert before is None or path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert asyncio.run(code_with(tmp_path / "s.sqlite"))[0] == "STATE_UNAVAILABLE"
    finally:
        tmp_path.chmod(0o700)


def test_a_file_that_another_process_holds_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    assert asyncio.run(code_with(path)) == ("ok", "")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert asyncio.run(code_with(path)) == ("STATE_UNAVAILABLE", f"{path}: another process has locked it")
    holder.execute("ROLLBACK")
    holder.close()
    assert asyncio.run(code_with(path)) == ("ok", "")


def test_a_file_that_was_repaired_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(b"no database at all" * 100)

    async def main() -> list[str]:
        store = SqliteBackend(path)
        records = records_in(store)
        with pytest.raises(StateUnusable):
            await records.get("key:1")
        path.unlink()
        kept = await records.put("key:1", "x", 60)
        await store.close()
        return [str(kept)]

    assert asyncio.run(main()) == ["True"]


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "s.sqlite"
    assert asyncio.run(code_with(path)) == ("ok", "")
    assert [path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777] == [0o700, 0o600]


def test_a_server_that_is_down_fails_closed_and_is_found_again(own_redis: RedisServer) -> None:
    async def main() -> list[Any]:
        store = RedisBackend(own_redis.url, limit_s=2.0)
        records = records_in(store)
        await records.put("key:1", "x", 60)
        own_redis.kill()
        with pytest.raises(StateUnavailable):
            await records.get("key:1")
        own_redis.start()
        found = await records.get("key:1")
        await store.close()
        return [found]

    assert asyncio.run(main()) == [None]  # this server keeps nothing

"""Faults of the SQLite file at the start, in the middle of work and at the end: typed errors, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft import BaseTool, ConfigurationError, Runtime, Settings, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, LocalState, SqliteBackend, StateStore, open_state

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
FULL_BYTES = 1_048_576


class Till(BaseTool):
    """Takes money."""

    def __init__(self, store: StateStore) -> None:
        super().__init__(runtime=Runtime(settings=Settings(), state=store))
        self.taken: list[str] = []

    @operation
    async def pay(self, order: str) -> str:
        """Take the money for an order."""
        self.taken.append(order)
        return order


async def paid(tool: Till, order: str) -> str:
    """Return `ok` or the code of one keyed call."""
    response = await tool.operations["pay"].call({"order": order}, CallScope(meta={META_KEY: order}))
    return "ok" if response.error is None else response.error.code


def store_at(path: Path) -> StateStore:
    return open_state(f"sqlite:{path}", Events())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of a megabyte of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mount: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Use all space of a file system, and return the file that does."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return filler


@as_root
def test_on_a_full_disk_keyed_calls_are_refused_before_their_effect_and_known_ones_are_replayed(disk: Path) -> None:
    async def main() -> None:
        store = store_at(disk / "s.sqlite")
        tool = Till(store)
        assert await paid(tool, "first") == "ok"
        filler = fill(disk)
        codes = [await paid(tool, f"order-{number}") for number in range(200)]
        assert codes[-1] == "STATE_UNAVAILABLE"
        assert set(codes) <= {"ok", "STATE_UNAVAILABLE"}
        assert await paid(tool, "first") == "ok"
        assert tool.taken == ["first", *(f"order-{number}" for number, code in enumerate(codes) if code == "ok")]
        filler.unlink()
        assert [await paid(tool, order) for order in ("first", "order-199", "order-199")] == ["ok"] * 3
        assert (tool.taken.count("first"), tool.taken.count("order-199")) == (1, 1)
        await store.close()

    asyncio.run(main())


@as_root
def test_a_full_disk_at_the_start_is_refused_with_the_reason(disk: Path) -> None:
    fill(disk)
    assert "full" in refusal(disk / "s.sqlite")


def refusal(path: Path) -> str:
    """Return why a server does not start with a state file."""

    async def main() -> str:
        store = store_at(path)
        try:
            with pytest.raises(ConfigurationError) as caught:
                await store.check()
        finally:
            await store.close()
        return caught.value.message

    return asyncio.run(main())


@as_root
def test_a_disk_that_is_mounted_read_only_is_refused_with_the_reason(disk: Path) -> None:
    asyncio.run(write_and_close(disk / "s.sqlite"))
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    before = (disk / "s.sqlite").read_bytes()
    assert "not writable" in refusal(disk / "s.sqlite")
    assert (disk / "s.sqlite").read_bytes() == before


async def write_and_close(path: Path) -> None:
    store = store_at(path)
    assert await paid(Till(store), "first") == "ok"
    await store.close()


def test_a_file_that_is_removed_in_the_middle_of_work_refuses_a_call_and_says_so(tmp_path: Path) -> None:
    """Another process would open a new file and not see what this one writes to the one without a name."""
    path, said = tmp_path / "s.sqlite", []
    logger.enable("failsoft")
    sink = logger.add(lambda message: said.append(str(message)), level="ERROR", format="{message} {extra}")

    async def main() -> None:
        stores = [store_at(path), store_at(path)]
        one, other = (Till(store) for store in stores)
        assert [await paid(one, "a"), await paid(other, "b")] == ["ok", "ok"]
        for file in ("s.sqlite", "s.sqlite-wal", "s.sqlite-shm"):
            (tmp_path / file).unlink()
        assert await paid(one, "c") == "STATE_UNUSABLE"
        assert await paid(one, "c") == "ok"
        assert await paid(other, "c") == "STATE_UNUSABLE"
        assert await paid(other, "c") == "ok"
        assert (one.taken, other.taken) == (["a", "c"], ["b"])
        for store in stores:
            await store.close()

    try:
        asyncio.run(main())
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert any("removed or replaced" in line for line in said)


def test_a_file_that_is_restored_in_the_middle_of_work_is_used_after_one_refusal(tmp_path: Path) -> None:
    path, copy = tmp_path / "s.sqlite", tmp_path / "copy"

    async def main() -> None:
        store = store_at(path)
        tool = Till(store)
        assert await paid(tool, "before") == "ok"
        with contextlib.closing(sqlite3.connect(path)) as live, contextlib.closing(sqlite3.connect(copy)) as made:
            live.backup(made)
        assert await paid(tool, "after") == "ok"
        copy.replace(path)
        outcomes = [await paid(tool, order) for order in ("before", "before", "after")]
        assert outcomes == ["STATE_UNUSABLE", "ok", "ok"]
        assert tool.taken == ["before", "after", "after"]  # the copy does not know the key
        await store.close()

    asyncio.run(main())


def test_a_file_that_is_damaged_in_the_middle_of_work_refuses_calls_and_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def main() -> None:
        store = store_at(path)
        tool = Till(store)
        assert await paid(tool, "a") == "ok"
        await store.close()  # everything is in the main file
        with path.open("r+b") as file:
            file.write(os.urandom(path.stat().st_size))
        before = path.read_bytes()
        assert [await paid(tool, "b"), await paid(tool, "b")] == ["STATE_UNUSABLE"] * 2
        assert tool.taken == ["a"]
        await store.close()
        assert path.read_bytes() == before

    asyncio.run(main())


def test_a_locked_file_delays_no_end(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def main() -> None:
        store = LocalState(records=SqliteBackend(path, patience_s=0.2))
        tool = Till(store)
        assert await paid(tool, "a") == "ok"
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(paid(tool, "b"))
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await store.records(tool).backend.close()
            assert await waiting == "STATE_UNAVAILABLE"
        holder.close()
        assert (await paid(tool, "b"), tool.taken) == ("ok", ["a", "b"])
        await store.records(tool).backend.close()

    asyncio.run(main())


def test_a_file_that_is_used_again_while_it_is_being_closed_is_closed_and_used(tmp_path: Path) -> None:
    async def main() -> None:
        file = SqliteBackend(tmp_path / "s.sqlite")
        for _ in range(50):
            started, gate = threading.Event(), threading.Event()
            first = asyncio.create_task(file._run(lambda _, s=started, g=gate: [s.set(), g.wait(60)], writes=True))
            await asyncio.to_thread(started.wait, 60)
            closing = asyncio.create_task(file.close())
            await asyncio.sleep(0)
            again = asyncio.create_task(file.read("key:1"))
            await asyncio.sleep(0)
            gate.set()
            async with asyncio.timeout(60):
                await first
                await closing
                assert (await again).value is None
        await file.close()

    asyncio.run(main())


@pytest.mark.parametrize(("damage", "reason"), [("corrupt", "not an SQLite database"), ("newer", "newer version")])
def test_a_damaged_or_newer_file_is_refused_at_the_start_with_the_reason(
    tmp_path: Path, damage: str, reason: str
) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(write_and_close(path))
    if damage == "corrupt":
        path.write_bytes(b"no database at all" * 100)
    else:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    before = path.read_bytes()
    message = refusal(path)
    assert reason in message
    assert path.read_bytes() == before


@contextmanager
def locked(path: Path) -> Iterator[None]:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield
    holder.close()


@contextmanager
def full(path: Path) -> Iterator[None]:
    filler = fill(path.parent)
    yield
    filler.unlink()


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", path.parent], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", path.parent], check=True)


@as_root
@pytest.mark.parametrize(
    ("fault", "code"), [(locked, "STATE_UNAVAILABLE"), (full, "STATE_UNAVAILABLE"), (read_only, "STATE_UNAVAILABLE")]
)
def test_a_file_that_takes_no_writes_is_to_blame_and_no_record(disk: Path, fault: Any, code: str) -> None:
    """Nothing says that a record is damaged or to be removed, and records are as before once writes are taken."""
    path, said = disk / "s.sqlite", []
    asyncio.run(write_and_close(path))
    logger.enable("failsoft")
    sink = logger.add(lambda message: said.append(str(message)), level=0, format="{message} {extra} {exception}")

    async def main() -> None:
        store = LocalState(records=SqliteBackend(path, patience_s=0.05))
        tool = Till(store)
        with fault(path):
            number = 0
            while await paid(tool, f"order-{number}") == "ok":  # a full disk has room in files that are there
                number += 1
            assert await paid(tool, f"order-{number}") == code
            await store.close()
        orders = ["first", *(f"order-{index}" for index in range(number + 1))]
        assert [await paid(tool, order) for order in orders] == ["ok"] * len(orders)
        assert tool.taken == orders[1:]
        await store.close()

    try:
        asyncio.run(main())
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert not [line for line in said if "damaged" in line or "forget" in line]

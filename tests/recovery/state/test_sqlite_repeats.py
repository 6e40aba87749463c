"""Repeats of keyed calls while the SQLite file takes no writes: what was done is known, and said."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.doors import META_KEY, CallScope, LocalState, SqliteBackend
from tests.recovery.state.test_sqlite_faults import Till, as_root, disk, fill  # noqa: F401 - `disk` is a fixture

BOUND_S = 20.0
DONE = {"code": "ok", "data": "first"}


def till_at(path: Path) -> Till:
    return Till(LocalState(records=SqliteBackend(path, patience_s=0.2)))


async def paid(till: Till, order: str) -> dict[str, Any]:
    """Return what matters of the answer to one keyed call."""
    paying: Any = till.operations["pay"].call({"order": order}, CallScope(meta={META_KEY: order}))
    answer = await asyncio.wait_for(paying, BOUND_S)
    if answer.error is None:
        return {"code": "ok", "data": answer.data}
    error = answer.to_dict()["error"]
    return {"code": error["code"], "retry": error["retry"]["when"], "effect": error["effect"]}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let another process write, and not end."""
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


@contextmanager
def full(path: Path) -> Iterator[None]:
    """Use all space of the disk."""
    filler = fill(path.parent)
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Make the disk read-only, as the kernel does after an error."""
    subprocess.run(["mount", "-o", "remount,ro", path.parent], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", path.parent], check=True)


def repeats(path: Path, fault: Callable[[Path], Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the answers to a call, its repeat and a new call during a fault, and the new one's repeat after it."""

    async def main() -> Any:
        till = till_at(path)
        answers = [await paid(till, "first")]
        await till.runtime.state.records(till).backend.close()  # a disk with an open file cannot be made read-only
        with fault(path):
            answers += [await paid(till, "first"), await paid(till, "new")]
            await till.runtime.state.records(till).backend.close()
        answers.append(await paid(till, "new"))
        await till.runtime.state.records(till).backend.close()
        return answers, till.taken

    return asyncio.run(asyncio.wait_for(main(), 2 * BOUND_S))


def test_the_repeat_of_a_finished_call_is_replayed_while_another_process_writes(tmp_path: Path) -> None:
    (first, repeated, _new, _later), taken = repeats(tmp_path / "s.sqlite", locked)
    assert (first, taken[0], taken.count("first")) == (DONE, "first", 1)
    assert repeated == DONE


def test_a_new_keyed_call_while_another_process_writes_is_safe_to_repeat(tmp_path: Path) -> None:
    (_first, _repeated, new, later), taken = repeats(tmp_path / "s.sqlite", locked)
    assert new == {"code": "STATE_UNAVAILABLE", "retry": "after_delay", "effect": "none"}
    assert (later["code"], taken) == ("ok", ["first", "new"])


@as_root
def test_the_repeat_of_a_finished_call_is_replayed_while_the_disk_is_full(disk: Path) -> None:  # noqa: F811 - the fixture
    (first, repeated, _new, _later), taken = repeats(disk / "s.sqlite", full)
    assert (first, taken.count("first")) == (DONE, 1)
    assert repeated == DONE


@as_root
def test_a_new_keyed_call_on_a_full_disk_is_refused_for_a_while(disk: Path) -> None:  # noqa: F811 - the fixture
    (_first, _repeated, new, later), taken = repeats(disk / "s.sqlite", full)
    assert (new["effect"], later["code"], taken) == ("none", "ok", ["first", "new"])
    assert new["retry"] == "after_delay"


@as_root
def test_the_repeat_of_a_finished_call_is_replayed_while_the_disk_is_read_only(disk: Path) -> None:  # noqa: F811 - the fixture
    (first, repeated, _new, _later), taken = repeats(disk / "s.sqlite", read_only)
    assert (first, taken.count("first")) == (DONE, 1)
    assert repeated == DONE


def test_the_repeat_of_a_finished_call_says_that_its_effect_is_unknown_where_the_file_cannot_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.sqlite"

    async def main() -> Any:
        till = till_at(path)
        assert await paid(till, "first") == DONE
        await till.runtime.state.records(till).backend.close()
        whole = path.read_bytes()
        path.write_bytes(b"no database at all" * 100)
        try:
            return await paid(till, "first"), till.taken
        finally:
            path.write_bytes(whole)

    repeated, taken = asyncio.run(asyncio.wait_for(main(), BOUND_S))
    assert (repeated["code"], taken) == ("STATE_UNUSABLE", ["first"])
    assert repeated["effect"] == "unknown"

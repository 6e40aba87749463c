"""`AuditLog`: many calls, one thread, one trip to the disk; waits that end; and processes that fork."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, AuditLogFailed, Settings
from failsoft.errors import AuditLockFailed
from tests.doors import audit_entries as entries, default_head, log_file_module, trail_module, verify
from tests.framework.audit.parts import fact
from tests.framework.audit.test_processes import held
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit-log.jsonl"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    log = AuditLog(path, wait_s=30)
    yield log
    log.close()


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the trips to the disk."""
    trips: list[int] = []
    to_disk = os.fdatasync

    def counting(fd: int) -> None:
        trips.append(fd)
        to_disk(fd)

    monkeypatch.setattr(log_file_module, "_to_disk", counting)
    return trips


async def test_calls_that_fail_together_share_trips_to_the_disk(
    log: AuditLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = _counted(monkeypatch)
    await asyncio.gather(*(log.record(fact(number)) for number in range(64)))
    assert len(trips) < 32
    assert sorted(entry["error_id"] for entry in entries(path)) == sorted(f"id-{number}" for number in range(64))


async def test_an_entry_is_on_disk_when_record_returns(log: AuditLog, path: Path) -> None:
    for number in range(5):
        await log.record(fact(number))
        assert [entry["error_id"] for entry in entries(path)][-1] == f"id-{number}"


async def test_the_event_loop_never_waits_for_the_disk(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    writers: list[int] = []
    monkeypatch.setattr(log_file_module, "_to_disk", lambda _: writers.append(threading.get_ident()))
    await log.record(fact(1))
    assert writers
    assert threading.get_ident() not in writers


async def test_a_caller_that_leaves_does_not_take_its_entry_along(log: AuditLog, path: Path) -> None:
    task = asyncio.create_task(log.record(fact(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await log.record(fact(2))
    assert [entry["error_id"] for entry in entries(path)] == ["id-1", "id-2"]


def test_several_event_loops_share_one_log(log: AuditLog, path: Path) -> None:
    def run(number: int) -> None:
        asyncio.run(log.record(fact(number)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(entries(path))) == 8


async def test_a_log_that_is_held_is_given_up_with_its_own_error(path: Path, log: AuditLog) -> None:
    await log.record(fact(1))
    hasty = AuditLog(path, wait_s=0.2)
    with held(path):
        results = await asyncio.gather(*(hasty.record(fact(number)) for number in range(3)), return_exceptions=True)
        with pytest.raises(AuditLockFailed):
            hasty.check()
    assert all(isinstance(result, AuditLockFailed) for result in results)
    await hasty.record(fact(9))
    hasty.close()
    assert [entry["error_id"] for entry in entries(path)] == ["id-1", "id-9"]


async def test_a_disk_that_does_not_answer_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()
    monkeypatch.setattr(log_file_module, "_to_disk", lambda _: answer.wait(60))
    log = AuditLog(path, wait_s=0.2)
    with pytest.raises(AuditLogFailed):
        await log.record(fact(1))
    answer.set()
    assert log.close()


async def test_too_many_entries_at_once_are_refused_instead_of_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "_WAITING_AT_MOST", 5)
    log = AuditLog(path, wait_s=30)
    results = await asyncio.gather(*(log.record(fact(number)) for number in range(200)), return_exceptions=True)
    log.close()
    refused = [result for result in results if result is not None]
    assert all(isinstance(result, AuditLogFailed) for result in refused)
    assert len(list(entries(path))) == 200 - len(refused)


async def test_opening_checks_the_log_and_writes_only_repairs(log: AuditLog, path: Path) -> None:
    await log.open()
    assert list(entries(path)) == []
    await log.record(fact(1))
    again = AuditLog(path)
    _tear(path)
    await again.open()
    again.close()
    assert [entry.get("event") for entry in entries(path)] == [None, "repair"]
    assert verify(path).is_whole


def _tear(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"half")


def test_a_damaged_log_is_found_by_a_check_before_the_first_entry(path: Path, log: AuditLog) -> None:
    log.check()
    asyncio.run(log.record(fact(1)))
    log.check()
    path.write_bytes(path.read_bytes().replace(b"id-1", b"id-2"))
    with pytest.raises(AuditLogFailed):
        log.check()


async def test_facts_that_are_no_json_fail_alone(log: AuditLog, path: Path) -> None:
    broken = ({"code": float("nan")}, {"code": object()}, {1: "a", "b": 2})
    everything = [fact(1), broken[0], fact(2), broken[1], broken[2], fact(3)]
    results = await asyncio.gather(*(log.record(facts) for facts in everything), return_exceptions=True)
    assert [type(result) for result in results] == [
        type(None) if "error_id" in facts else AuditLogFailed for facts in everything
    ]
    assert verify(path).entries == 3


# The end.


async def test_closing_writes_what_waits_and_takes_no_more(path: Path) -> None:
    log = AuditLog(path)
    for number in range(10):
        log.note(fact(number))
    assert log.close()
    assert log.close()
    assert len(list(entries(path))) == 10
    with pytest.raises(AuditLogFailed):
        await log.record(fact(11))
    with pytest.raises(AuditLogFailed):
        log.note(fact(12))
    assert AuditLog(path).close()


NOTING = """
import sys
from failsoft import AuditLog
log = AuditLog(sys.argv[1])
for number in range(10):
    log.note({"error_id": f"id-{number}"})
"""
FORKING = """
import asyncio, os, sys
from failsoft import AuditLog
log = AuditLog(sys.argv[1], wait_s=30)
asyncio.run(log.record({"error_id": "parent"}))
child = os.fork()
if child == 0:
    asyncio.run(log.record({"error_id": "child"}))
    log.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
asyncio.run(log.record({"error_id": "parent again"}))
"""


def _run(program: str, path: Path) -> list[str]:
    subprocess.run([PYTHON, "-W", "ignore", "-c", program, str(path)], check=True, timeout=120)
    assert verify(path).is_whole
    return [entry["error_id"] for entry in entries(path)]


def test_a_process_that_ends_writes_what_waits(path: Path) -> None:
    assert _run(NOTING, path) == [f"id-{number}" for number in range(10)]


def test_a_forked_process_writes_with_a_thread_and_a_lock_of_its_own(path: Path) -> None:
    assert _run(FORKING, path) == ["parent", "child", "parent again"]


# The settings.


def _from(**settings: Any) -> AuditLog | None:
    return AuditLog.from_settings(Settings(**settings))


def test_without_a_path_there_is_no_log() -> None:
    assert _from() is None
    assert _from(audit_key="a key of sixteen characters") is None


async def test_the_settings_choose_path_key_head_and_size(tmp_path: Path) -> None:
    path, head = tmp_path / "a.jsonl", tmp_path / "elsewhere" / "head"
    head.parent.mkdir()
    key = "a key of sixteen characters"
    log = _from(audit_path=path, audit_key=key, audit_head_path=head, audit_max_bytes=1_000)
    assert log is not None
    for number in range(10):
        await log.record(fact(number))
    log.close()
    assert head.exists()
    assert not default_head(path).exists()
    found = verify(path, key=key.encode(), head_path=head)
    assert found.is_whole
    assert len(found.files) > 1

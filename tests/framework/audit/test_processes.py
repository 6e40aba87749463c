"""Several processes and one log: turns, locks, and writers that are killed in the middle of their work."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doors import NotWritten, audit_entries as entries, segments, verify
from tests.framework.audit.parts import fact, log_file, seconds, write
from tests.zygote import PYTHON

ROOT = Path(__file__).parents[3]
WRITERS = 4

WRITER = """
import asyncio, sys
from failsoft import AuditLog
name, path, count, max_bytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
async def main():
    log = AuditLog(path, max_bytes=max_bytes, wait_s=60)
    async def one(number):
        await log.record({"error_id": f"{name}-{number}", "writer": name, "number": number})
        print(f"{name}-{number}")
    for first in range(0, count, 8):
        await asyncio.gather(*(one(number) for number in range(first, first + 8)))
asyncio.run(main())
"""
HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "rb")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def start(program: str, *arguments: str | Path, **options: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PYTHON, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Have another process hold the lock of a log."""
    holder = start(HOLDER, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield
    finally:
        holder.communicate()


@pytest.mark.parametrize("max_bytes", [1 << 24, 20_000], ids=["one file", "files put aside"])
def test_four_processes_append_and_everything_reads_back_in_order(tmp_path: Path, max_bytes: int) -> None:
    path = tmp_path / "audit-log.jsonl"
    writers = [start(WRITER, str(name), path, 200, max_bytes) for name in range(WRITERS)]
    acknowledged = [line for writer in writers for line in writer.communicate(timeout=120)[0].splitlines()]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    found = list(entries(path))
    assert [entry["seq"] for entry in found] == list(range(1, WRITERS * 200 + 1))
    assert {entry["error_id"] for entry in found} == set(acknowledged)
    for name in range(WRITERS):
        assert [entry["number"] for entry in found if entry["writer"] == str(name)] == list(range(200))
    assert verify(path).entries == WRITERS * 200
    assert bool(segments(path)) is (max_bytes == 20_000)


# The lock.


def test_a_log_that_another_process_holds_is_given_up_in_time(tmp_path: Path) -> None:
    path = tmp_path / "audit-log.jsonl"
    write(path, 1)
    file = log_file(path)
    with held(path):
        began = time.monotonic()
        with pytest.raises(NotWritten) as caught:
            file.append([fact(2)], seconds(0.2))
        assert caught.value.is_locked
        assert time.monotonic() - began < 30
    file.append([fact(3)], seconds())
    assert [entry["error_id"] for entry in entries(path)] == ["id-1", "id-3"]


def test_a_lock_that_comes_free_while_waiting_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "audit-log.jsonl"
    write(path, 1)
    holder = start(HOLDER, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    os.kill(holder.pid, signal.SIGKILL)  # the system frees the locks of the dead
    write(path, 2)
    holder.communicate()
    assert verify(path).entries == 2


def test_a_held_log_can_be_verified(tmp_path: Path) -> None:
    path = tmp_path / "audit-log.jsonl"
    write(path, 1)
    with held(path):
        assert verify(path).is_whole


def test_a_reader_that_shares_the_lock_does_not_lose_it_to_a_file_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "audit-log.jsonl"
    write(path, 1, 2)
    with path.open("rb") as stream:
        path.rename(path.with_name(f"{path.name}.{2:012}"))
        fcntl.flock(stream, fcntl.LOCK_EX)  # of the file that was put aside: nobody needs it any more
        write(path, 3)
    assert verify(path).entries == 3

"""Real disks that are full, read-only or broken: nothing half-written stays, and nobody is told that it is safe."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors import LogFile, NotWritten, audit_entries as entries, verify
from tests.framework.audit.parts import fact, log_file, seconds, write

ROOT = Path(__file__).parents[3]


def _mount(folder: Path, *options: str) -> None:
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this test mounts a disk of its own, which is not allowed here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with room for 16 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    _mount(folder, "-t", "tmpfs", "-o", "size=16k", "tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(file: LogFile) -> tuple[NotWritten, int]:
    """Append until it is refused; return the refusal, and how many entries were written."""
    for number in range(1_000):
        try:
            file.append([fact(number, message="x" * 700)], seconds())
        except NotWritten as refused:
            return refused, number
    raise AssertionError


def test_on_a_full_disk_nothing_half_written_stays_and_writing_goes_on_once_there_is_room(small_disk: Path) -> None:
    path = small_disk / "audit-log.jsonl"
    file = log_file(path)
    refused, written = _fill(file)
    assert refused.reason == "the disk is full"
    assert written > 5
    assert path.read_bytes().endswith(b"\n")
    assert verify(path).entries == written
    with pytest.raises(NotWritten):
        file.append([fact(-1, message="x" * 700)] * 3, seconds())
    assert verify(path).entries == written
    subprocess.run(["mount", "-o", "remount,size=64k", str(small_disk)], check=True)
    file.append([fact(written, message="x" * 700)], seconds())
    assert [entry["error_id"] for entry in entries(path)] == [f"id-{number}" for number in range(written + 1)]
    assert verify(path).is_whole


def test_a_disk_that_was_full_from_the_beginning_is_reported_as_full(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * 16_384)
    with pytest.raises(NotWritten) as caught:
        write(small_disk / "audit-log.jsonl", 1)
    assert caught.value.reason == "the disk is full"


def test_a_disk_that_turns_read_only_is_reported(small_disk: Path) -> None:
    path = small_disk / "audit-log.jsonl"
    write(path, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(NotWritten) as caught:
        write(path, 2)
    assert caught.value.reason == "the disk is read-only"


def _in_another_process(program: str, *arguments: str, before: list[str] | None = None) -> Any:
    done = subprocess.run(
        [*(before or []), sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


SHORT_WRITES = """
import json, resource, sys
from pathlib import Path
from tests.doors import NotWritten
from tests.framework.audit.parts import fact, log_file, seconds
path = Path(sys.argv[1])
file = log_file(path)
file.append([fact(0)], seconds())
limit = path.stat().st_size
outcomes = []
for more in range(1, 2_000, 61):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit + more, resource.RLIM_INFINITY))
    try:
        file.append([fact(1, message="x" * 700), fact(2, message="x" * 700)], seconds())
        outcomes.append("written")
        break
    except NotWritten as refused:
        outcomes.append([refused.reason, path.stat().st_size == limit])
print(json.dumps(outcomes))
"""


def test_when_the_system_takes_only_a_part_that_part_is_taken_back(tmp_path: Path) -> None:
    """A limit on the size of files makes real short writes, at every place in the batch."""
    assert resource.RLIMIT_FSIZE
    path = tmp_path / "audit-log.jsonl"
    *refused, last = _in_another_process(SHORT_WRITES, str(path))
    assert len(refused) > 20
    assert refused == [["the file may not grow any more", True]] * len(refused)
    assert last == "written"
    assert verify(path).entries == 3


FAILED_SYNC = """
import json, sys
from pathlib import Path
from loguru import logger
from tests.doors import NotWritten
from tests.framework.audit.parts import fact, log_file, seconds
logger.remove()
said = []
logger.enable("failsoft")
logger.add(lambda line: said.append(line.record["level"].name))
file = log_file(Path(sys.argv[1]))
outcomes = []
for number in range(5):
    try:
        file.append([fact(number)], seconds())
        outcomes.append("written")
    except NotWritten as refused:
        outcomes.append(refused.reason.partition(",")[0])
print(json.dumps([outcomes, said]))
"""


def test_after_a_failed_sync_the_log_is_dead_and_says_so(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("this test makes a real fdatasync fail with strace, which is not installed")
    path = tmp_path / "audit-log.jsonl"
    fault = ["strace", "-f", "-qq", "-o", str(tmp_path / "trace"), "-e", "inject=fdatasync:error=EIO:when=3"]
    reported, said = _in_another_process(FAILED_SYNC, str(path), before=fault)
    assert reported == ["written", "written", "the disk has failed", "the disk has failed", "the disk has failed"]
    assert said == ["CRITICAL"]
    synced = (tmp_path / "trace").read_text().count("fdatasync(")
    assert synced == 3  # a failed one is never tried again
    write(path, 7)  # another process may go on
    assert verify(path).is_whole

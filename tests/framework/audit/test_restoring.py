"""A log that is restored from a backup, under its writer too; and a log that began before entries had a format."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.doors import BEGINNING, Head, HeadFile, NotWritten, Seal, canonical, default_head, find, key_from, verify
from tests.framework.audit.parts import fact, log_file, on_disk, seconds, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit-log.jsonl"


def renamed(copy: Path, path: Path) -> None:
    shutil.copy(copy, path.with_name("fresh")).rename(path)


@pytest.mark.parametrize("is_written_on", [False, True])
@pytest.mark.parametrize("restore", [renamed, shutil.copyfile])
def test_a_restored_log_is_not_written_to_until_the_loss_is_on_record(
    path: Path, restore: Callable[[Path, Path], Any], is_written_on: bool
) -> None:
    writer, copy = log_file(path), path.with_name("copy")
    for number in (1, 2, 3):
        writer.append([fact(number)], seconds())
    shutil.copyfile(path, copy)
    writer.append([fact(4), fact(5)], seconds())
    restore(copy, path)
    if not is_written_on:  # the server was stopped
        writer.close()
        writer = log_file(path)
    for _ in range(2):
        with pytest.raises(NotWritten, match="--accept-loss"):
            writer.append([fact(6)], seconds())
    assert path.read_bytes() == copy.read_bytes()
    assert not verify(path).is_whole
    with pytest.raises(NotWritten, match="--accept-loss"):
        log_file(path).archive(seconds())

    assert [file.name for file in log_file(path).archive(seconds(), lost=BEGINNING)] == [f"{path.name}.{3:012}"]
    writer.append([fact(7)], seconds())
    writer.close()
    write(path, 8)
    assert [(entry["seq"], entry.get("reason")) for entry in on_disk(path)] == [(6, "loss"), (7, None), (8, None)]
    verdict = verify(path)
    assert verdict.is_whole
    assert "entries 4 to 5 are missing; their loss was accepted" in verdict.remarks


def test_entries_cut_out_of_the_middle_are_no_loss_that_was_accepted(path: Path) -> None:
    write(path, 1, 2, 3, 4)
    log_file(path).archive(seconds())
    write(path, 5)
    segment = path.with_name(f"{path.name}.{4:012}")
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:2]))
    assert not verify(path).is_whole


def test_a_log_from_before_entries_had_a_format_is_read_and_written_on(path: Path) -> None:
    seal, end, lines = Seal(key_from(None)), BEGINNING, []
    for number in (1, 2):
        entry = {**fact(number), "alg": "hmac-sha256", "prev": end.hash, "seq": number}
        end = Head(number, seal.digest(canonical(entry)))
        lines.append(canonical(entry)[:-1] + b',"hash":"%s"}\n' % end.hash.encode())
    path.write_bytes(b"".join(lines))
    HeadFile(default_head(path), seal).advance(end, seconds())
    assert verify(path).is_whole
    write(path, 3)
    assert [(entry["seq"], entry.get("format")) for entry in on_disk(path)] == [(1, None), (2, None), (3, 1)]
    assert verify(path).is_whole
    assert [entry["error_id"] for entry in find(path, "id-2")] == ["id-2"]

"""Files of a log that are kept no longer: closed first, then moved or deleted, and the log stays whole."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog
from tests.doors import NotWritten, segments
from tests.framework.audit.parts import fact, log_file, on_disk, seconds, write

DAY_S = 86_400.0


def kept(folder: Path, **options: Any) -> AuditLog:
    """Return a log of small files."""
    options = {"max_bytes": 1_000, "key": b"a key of sixteen", "head_path": folder / "head", **options}
    return AuditLog(folder / "log" / "log.jsonl", **options)


def fill(log: AuditLog, number: int, **more: Any) -> None:
    """Write entries one after the other."""

    async def main() -> None:
        for at in range(number):
            await log.record(fact(at, **more))

    log.path.parent.mkdir(exist_ok=True)
    asyncio.run(main())
    log.close()


def test_by_default_everything_is_kept(tmp_path: Path) -> None:
    log = kept(tmp_path)
    fill(log, 40)
    assert (len(segments(log.path)) > 5, log.verify().first) == (True, 1)


def test_files_beyond_a_size_go_and_the_log_stays_whole(tmp_path: Path) -> None:
    log = kept(tmp_path, keep_bytes=3_000)
    fill(log, 60)
    aside = segments(log.path)
    assert 0 < sum(file.stat().st_size for file in aside) <= 3_000
    verdict = log.verify()
    assert verdict.is_whole, verdict.broken
    assert verdict.first is not None
    assert verdict.first > 1


def test_files_that_go_are_moved_where_an_archive_is_named_and_prove_the_whole(tmp_path: Path) -> None:
    log = kept(tmp_path, keep_bytes=1_000, archive=tmp_path / "archive")
    fill(log, 40)
    assert len(list((tmp_path / "archive").iterdir())) > 5
    for file in (tmp_path / "archive").iterdir():
        file.rename(log.path.parent / file.name)
    verdict = log.verify()
    assert (verdict.broken, verdict.first) == (None, 1)


def test_files_of_an_age_go_at_the_next_start(tmp_path: Path) -> None:
    fill(kept(tmp_path), 40)
    log = kept(tmp_path, keep_days=30.0)
    old = segments(log.path)[:3]
    for file in old:
        os.utime(file, (file.stat().st_mtime - 31 * DAY_S,) * 2)
    asyncio.run(log.open())
    log.close()
    assert not any(file.exists() for file in old)
    assert log.verify().is_whole


def test_a_file_is_put_aside_daily_where_files_are_kept_by_age(tmp_path: Path) -> None:
    fill(kept(tmp_path, max_bytes=100_000), 1, timestamp="2020-01-01T00:00:00.000Z")
    log = kept(tmp_path, max_bytes=100_000, keep_days=30.0)
    fill(log, 2)
    assert len(segments(log.path)) == 1
    assert log.verify().entries == 3


@pytest.mark.parametrize("what", ["a damaged file", "a name that is taken", "the folder of the log"])
def test_what_cannot_go_stays_and_no_call_fails_for_it(tmp_path: Path, what: str) -> None:
    fill(kept(tmp_path), 20)
    archive = tmp_path / "log" if what == "the folder of the log" else tmp_path / "archive"
    log = kept(tmp_path, keep_bytes=1_000, archive=archive)
    first = segments(log.path)[0]
    if what == "a damaged file":
        first.write_bytes(b"{}\n")
    elif what == "a name that is taken":
        (tmp_path / "archive").mkdir()
        (tmp_path / "archive" / first.name).write_text("of another log")
    fill(log, 3)
    assert first.exists()


def test_a_log_of_a_newer_version_is_refused_and_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path, 1)
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))
    with pytest.raises(NotWritten, match=r"newer version.*format 2; this one reads 1.*upgrade"):
        log_file(path).append([fact(2)], seconds())
    assert len(on_disk(path)) == 1

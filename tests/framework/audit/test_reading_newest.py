"""The last entries of a log that say something, read from its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors import newest, reading_module as reading


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n" for row in rows))


def rows(first: int, last: int) -> list[dict[str, Any]]:
    return [{"seq": number, "who": "ab"[number % 2]} for number in range(first, last + 1)]


def numbers(found: tuple[list[dict[str, Any]], bool]) -> tuple[list[int], bool]:
    return [entry["seq"] for entry in found[0]], found[1]


@pytest.fixture(params=[1, 7, 1 << 20])
def log(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a log of two files, read in blocks of different sizes."""
    monkeypatch.setattr(reading, "_BLOCK", request.param)
    path = tmp_path / "log.jsonl"
    write(path.with_name("log.jsonl.000000000005"), rows(1, 5))
    write(path, rows(6, 10))
    return path


def test_the_last_entries_with_the_value_come_oldest_first_over_all_files(log: Path) -> None:
    assert numbers(newest(log, "who", "a", limit=9, bytes_at_most=10_000)) == ([2, 4, 6, 8, 10], False)
    assert numbers(newest(log, "who", "a", limit=3, bytes_at_most=10_000)) == ([6, 8, 10], True)
    assert numbers(newest(log, "who", "c", limit=3, bytes_at_most=10_000)) == ([], False)


def test_only_so_many_bytes_are_looked_through(log: Path) -> None:
    line = len('{"seq":10,"who":"a"}') + 1
    assert numbers(newest(log, "who", "a", limit=9, bytes_at_most=2 * line)) == ([10], True)


def test_a_file_that_is_put_aside_meanwhile_is_not_reported_twice(log: Path) -> None:
    write(log.with_name("log.jsonl.000000000010"), rows(6, 10))
    assert numbers(newest(log, "who", "a", limit=9, bytes_at_most=10_000)) == ([2, 4, 6, 8, 10], False)


def test_lines_that_are_no_entries_are_passed_over(log: Path) -> None:
    with log.open("a") as stream:
        stream.write('torn {"who":"a"\n\n["who":"a"]\n{"text":{"who":"a"}}\n{"who":"a","seq":')
    assert numbers(newest(log, "who", "a", limit=2, bytes_at_most=10_000)) == ([8, 10], True)


def test_without_a_log_there_is_nothing(tmp_path: Path) -> None:
    assert newest(tmp_path / "none", "who", "a", limit=2, bytes_at_most=10) == ([], False)

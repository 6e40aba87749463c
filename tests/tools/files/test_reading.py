"""Reading: whole, bounded, and from one moment."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors import Files, Roots
from tests.tools.files.faults import raises

HALF = 100_000


def test_a_file_is_its_bytes_and_their_hash(files: Files, root: Path) -> None:
    data = os.urandom(3_000_000)
    (root / "file").write_bytes(data)

    content = files.read(str(root / "file"), bytes_at_most=len(data))

    assert content.data == data
    assert content.sha256 == hashlib.sha256(data).hexdigest()
    assert content.facts.st_size == len(data)


def test_an_empty_file_is_read(files: Files, root: Path) -> None:
    (root / "file").touch()

    assert files.read(str(root / "file"), bytes_at_most=0).data == b""


def test_a_file_above_the_limit_is_not_read(files: Files, root: Path) -> None:
    (root / "file").write_bytes(b"12345")

    with raises("too_large") as caught:
        files.read(str(root / "file"), bytes_at_most=4)

    assert caught.value.facts == {"size_bytes": 5, "limit_bytes": 4}


def test_a_file_that_says_it_is_empty_is_bounded_by_what_is_read(files: Files, tmp_path: Path) -> None:
    everywhere = Files(Roots(["/"]), state_folder=tmp_path / "state")

    with raises("too_large"):
        everywhere.read("/proc/self/maps", bytes_at_most=10)


@pytest.fixture
def written_while_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Return what makes a file that is written in place so many times, each time after its first half was read."""

    def make(times: int) -> Path:
        file = root / "file"
        file.write_bytes(b"0" * 2 * HALF)
        read = os.read
        written = 0

        def meddle(descriptor: int, size: int) -> bytes:
            nonlocal written
            data = read(descriptor, min(size, HALF))
            if len(data) == HALF and written < times and os.lseek(descriptor, 0, os.SEEK_CUR) == HALF:
                written += 1
                file.write_bytes(b"%d" % (written % 10) * 2 * HALF)
                os.utime(file, ns=(written, written))
            return data

        monkeypatch.setattr(os, "read", meddle)
        return file

    return make


def test_a_file_that_is_written_in_place_is_read_again(files: Files, written_while_read: Callable[[int], Path]) -> None:
    file = written_while_read(2)

    assert files.read(str(file), bytes_at_most=2 * HALF).data == b"2" * 2 * HALF


def test_a_file_that_is_written_in_place_again_and_again_is_not_read(
    files: Files, written_while_read: Callable[[int], Path]
) -> None:
    file = written_while_read(1_000)

    with raises("changed"):
        files.read(str(file), bytes_at_most=2 * HALF)


def test_a_missing_file_and_a_missing_folder_are_reported_by_the_system(files: Files, root: Path) -> None:
    for path in ("gone", "gone/file"):
        with raises() as caught:
            files.read(str(root / path), bytes_at_most=1)
        assert caught.value.step == "find"
        assert isinstance(caught.value.__cause__, FileNotFoundError | None)

"""Reading: whole, bounded, and from one moment."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from failsoft.tools.files import ChangedOnDisk, DiskFault, Files, Roots, TooLarge


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

    with pytest.raises(TooLarge) as caught:
        files.read(str(root / "file"), bytes_at_most=4)

    assert (caught.value.size_bytes, caught.value.limit_bytes) == (5, 4)


def test_a_file_that_says_it_is_empty_is_bounded_by_what_is_read(files: Files, tmp_path: Path) -> None:
    everywhere = Files(Roots.anywhere(), state_folder=tmp_path / "state")

    with pytest.raises(TooLarge):
        everywhere.read("/proc/self/maps", bytes_at_most=10)


def test_a_file_that_is_written_in_place_is_never_read_torn(files: Files, root: Path) -> None:
    """Each writing changes the whole of it; what is read is one of them, or the reader says that it cannot."""
    file = root / "file"
    size = 200_000
    file.write_bytes(b"0" * size)
    enough = threading.Event()

    def write() -> None:
        with file.open("r+b", buffering=0) as opened:
            for number in range(10_000_000):
                if enough.is_set():
                    return
                opened.seek(0)
                for _ in range(4):
                    opened.write(b"%d" % (number % 10) * (size // 4))

    writer = threading.Thread(target=write)
    writer.start()
    read = 0
    try:
        for _ in range(200):
            try:
                data = files.read(str(file), bytes_at_most=size).data
            except ChangedOnDisk:
                continue
            read += 1
            assert len(data) == size
    finally:
        enough.set()
        writer.join()
    assert files.read(str(file), bytes_at_most=size).data == file.read_bytes()


def test_a_missing_file_and_a_missing_folder_are_told_by_the_system(files: Files, root: Path) -> None:
    for path in ("gone", "gone/file"):
        with pytest.raises(DiskFault) as caught:
            files.read(str(root / path), bytes_at_most=1)
        assert caught.value.step == "find"
        assert isinstance(caught.value.__cause__, FileNotFoundError | None)

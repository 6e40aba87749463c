"""The folder of the boards of several workers: removed by its server, or by a later one if that was killed."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from filelock import FileLock

from tests.doors import board_folder, keep_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _folder(temporary: Path, name: str, *, age_s: float) -> Path:
    folder = temporary / f"failsoft-boards-{name}"
    folder.mkdir()
    (folder / "0-1-1.board").write_bytes(b"\0")
    began = time.time() - age_s
    os.utime(folder, (began, began))
    return folder


def test_the_folder_is_there_while_it_is_used_and_gone_afterwards(temporary: Path) -> None:
    with board_folder() as folder:
        assert folder.parent == temporary
        assert folder.is_dir()
    assert not folder.exists()


def test_the_folder_of_a_server_that_was_killed_is_removed_by_the_next_one(temporary: Path) -> None:
    abandoned = _folder(temporary, "abandoned", age_s=3600)
    used, new = _folder(temporary, "used", age_s=3600), _folder(temporary, "new", age_s=0)
    with FileLock(used / "in-use.lock"):
        os.utime(used, (0, 0))
        with board_folder():
            assert not abandoned.exists()
            assert used.is_dir()
            assert new.is_dir()


def test_a_folder_that_is_kept_and_its_files_are_as_new(temporary: Path) -> None:
    folder = _folder(temporary, "used", age_s=0)
    for old in (*folder.iterdir(), folder):
        os.utime(old, (0, 0))
    keep_folder(folder)
    assert all(kept.stat().st_mtime > 0 and kept.stat().st_atime > 0 for kept in (*folder.iterdir(), folder))

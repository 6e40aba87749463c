"""The folder of the metrics of several workers: removed by its server, or by a later one if that was killed."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from filelock import FileLock

from tests.doors import _metrics_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    return tmp_path


def _folder(temporary: Path, name: str, *, age_s: float) -> Path:
    folder = temporary / f"failsoft-metrics-{name}"
    folder.mkdir()
    (folder / "counter_1.db").write_bytes(b"\0")
    began = time.time() - age_s
    os.utime(folder, (began, began))
    return folder


def test_the_folder_is_there_while_it_is_used_and_gone_afterwards(temporary: Path) -> None:
    with _metrics_folder():
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        assert folder.parent == temporary
        assert folder.is_dir()
    assert not folder.exists()
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ


def test_the_folder_of_a_server_that_was_killed_is_removed_by_the_next_one(temporary: Path) -> None:
    abandoned = _folder(temporary, "abandoned", age_s=3600)
    used, new = _folder(temporary, "used", age_s=3600), _folder(temporary, "new", age_s=0)
    with FileLock(used / "in-use.lock"):
        os.utime(used, (0, 0))
        with _metrics_folder():
            assert not abandoned.exists()
            assert used.is_dir()
            assert new.is_dir()

"""Temporary folders in memory: on a disk that others use as well, each `fsync` takes the processor milliseconds."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["folder_of_folders", "in_memory"]

MEMORY = Path("/dev/shm")  # noqa: S108 - in it is a folder of our own
ENOUGH_BYTES = 1_000_000_000


@pytest.fixture(scope="session")
def folder_of_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder in memory, or on the disk where memory keeps less than a disk or has little room."""
    if not _is_as_good_as_a_disk():
        yield tmp_path_factory.mktemp("folders")
        return
    with tempfile.TemporaryDirectory(prefix="failsoft-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(name="tmp_path")
def in_memory(folder_of_folders: Path) -> Path:
    """Return a new folder, in place of pytest's own."""
    return Path(tempfile.mkdtemp(dir=folder_of_folders))


def _is_as_good_as_a_disk() -> bool:
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ENOUGH_BYTES:
        return False
    try:
        with tempfile.NamedTemporaryFile(dir=MEMORY) as file:
            os.setxattr(file.name, "user.origin", b"somewhere")
    except OSError:
        return False
    return True

"""Folders for the tests of the file layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors import Files, Roots
from tests.tools.files.shelf import Shelf
from tests.tools.in_memory import folder_of_folders, in_memory  # noqa: F401 - fixtures


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the allowed folder; its neighbour is what must not be reached."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"secret")
    return folder


@pytest.fixture
def files(root: Path, tmp_path: Path) -> Files:
    return Files(Roots([root]), state_folder=tmp_path / "state")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path / "shelf")
    made.set_up()
    return made

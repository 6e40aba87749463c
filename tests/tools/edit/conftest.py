"""An edit toolset over a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft.tools.edit import Edit
from tests.tools.edit.desk import Desk
from tests.tools.in_memory import folder_of_folders, in_memory  # noqa: F401 - fixtures


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(root: Path, tmp_path: Path) -> Desk:
    return Desk(root, tmp_path / "state")


@pytest.fixture
def edit(desk: Desk) -> Edit:
    return desk.tool()

"""A workspace to work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft.tools.workspace import Workspace
from tests.tools.in_memory import folder_of_folders, in_memory  # noqa: F401 - fixtures
from tests.tools.workspace.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    found = Site(tmp_path / "served")
    found.project.mkdir(parents=True)
    return found


@pytest.fixture
def tool(site: Site) -> Workspace:
    return site.tool()

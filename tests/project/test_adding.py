"""A third-party package adds a toolset, an error class and a command; the other parts are in `tests/slow/packages`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.zygote import PYTHON

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package and its metadata, as pip would leave it there."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(EXAMPLES / "acme.py", folder)
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    shutil.copy(EXAMPLES / "acme.entry_points", info / "entry_points.txt")
    return folder


def failsoft(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "failsoft", *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def look(folder: Path, shelf: int, operation: str = "look", **environment: str) -> dict[str, Any]:
    ran = failsoft(folder, "call", operation, f"shelf={shelf}", "--toolset", "acme", **environment)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def test_a_toolset_and_its_error_class(installed: Path) -> None:
    assert look(installed, 2)["data"] == "shelf 2"
    assert look(installed, 9)["error"]["code"] == "ACME_SHELF_NOT_FOUND"

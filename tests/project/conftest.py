"""The tests of the project's own habits look at the checkout, not at the installed package."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def tracked(root: Path) -> dict[Path, str]:
    """Return the texts of the files under version control, or that would be, where this is no checkout (an sdist)."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
        paths = [root / name for name in listed.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path for area in ("src", "tests", "docs", "bench") for path in (root / area).rglob("*")]
        paths = [path for path in found if "__pycache__" not in path.parts]
    return {path: path.read_bytes().decode("utf-8", "replace") for path in paths if path.is_file()}

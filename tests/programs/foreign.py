"""MCP servers that others wrote, installed once outside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["foreign"]


@pytest.fixture(scope="session")
def foreign() -> Path:
    """Return the folder of the servers of others, as `scripts/fetch.sh foreign_servers` has installed them."""
    folder = Path(os.environ.get("FOREIGN_SERVERS", Path.home() / ".cache" / "failsoft-foreign-servers"))
    if not (folder / "stamp").exists():
        pytest.skip("the servers of others are not installed (scripts/fetch.sh foreign_servers)")
    return folder

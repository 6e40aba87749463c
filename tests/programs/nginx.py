"""nginx, if it is installed."""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ["nginx"]


@pytest.fixture(scope="session")
def nginx() -> str:
    """Return the path of the program; the test writes its configuration."""
    found = shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    if found is None:
        pytest.skip("nginx is not installed (Debian: nginx)")
    return found

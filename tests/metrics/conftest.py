"""Programs that judge the exposition from outside."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture
def promtool() -> str:
    """Prometheus' own checker, from Debian's package `prometheus`."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return found

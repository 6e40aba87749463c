"""Prometheus' own checker of expositions, from Debian's package `prometheus`."""

from __future__ import annotations

import shutil

import pytest

__all__ = ["promtool"]


@pytest.fixture(scope="session")
def promtool() -> str:
    """Return the path of the program."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return found

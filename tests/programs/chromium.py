"""Debian's Chromium without a window, driven by playwright, for pages that axe checks as well."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

__all__ = ["chromium"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Return a browser; without one, or without axe-core, the test is skipped."""
    pytest.importorskip("playwright", reason="the group `dev` of pyproject.toml is not installed")
    from scripts import audit_site  # noqa: PLC0415 - of few tests

    if shutil.which("chromium") is None:
        pytest.skip("Debian's chromium is not installed")
    if not audit_site.AXE.exists():
        pytest.skip("axe-core is not installed (scripts/fetch.sh site_audit)")
    with audit_site.browser() as started:
        yield started

"""Fixtures of the tests of packages."""

from __future__ import annotations

from tests.project.test_adding import installed  # noqa: F401 - a fixture

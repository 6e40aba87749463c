"""The policies with most patterns take time in proportion to a file's length."""

from __future__ import annotations

import pytest

from tests.laws.test_linear_patterns import slow_units


@pytest.mark.parametrize("name", ["rust", "typescript"])
def test_policies_are_linear(name: str) -> None:
    assert slow_units(name) == []

"""Patterns over foreign text that take seconds to be measured take time in proportion to its length, too."""

from __future__ import annotations

import pytest

from tests.doors import targets
from tests.laws.test_linear_patterns import slow_lines, slow_units


@pytest.mark.parametrize("name", ["rust", "typescript"])
def test_policies_are_linear(name: str) -> None:
    assert slow_units(name) == []


def test_reading_the_links_of_one_long_line_is_linear() -> None:
    assert slow_lines(lambda line: list(targets(line))) == []

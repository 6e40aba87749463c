"""More than a thousand hostile paths in every argument that takes a path, many calls at once."""

from __future__ import annotations

import pytest

from tests.thorough import THOROUGH
from tests.tools.workspace.test_path_guard import (  # noqa: F401 - two are fixtures
    WAYS,
    no_path_leads_out,
    said,
    trap,
)
from tests.tools.workspace.trap import Trap

STRIDE = 1 if THOROUGH else 5
"""Each way takes every fifth path, from another one on; with the thorough profile it takes all of them."""


@pytest.mark.parametrize(("operation", "way"), WAYS)
def test_not_one_byte_outside_is_read_or_written(trap: Trap, said: list[str], operation: str, way: str) -> None:  # noqa: F811 - the fixture
    no_path_leads_out(trap, said, operation, way, STRIDE)

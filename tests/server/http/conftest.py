"""Whether the lane answers as the SDK does is found out before the first test: a server does it after its start."""

from __future__ import annotations

import anyio
import pytest

from failsoft import Settings
from tests.doors import Lane, seam_module


@pytest.fixture(autouse=True, scope="session")
def _lane_is_known() -> None:
    seam_module._found[:] = [anyio.run(seam_module._difference, Lane, Settings())]

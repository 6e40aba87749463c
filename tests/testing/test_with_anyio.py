"""Tests that anyio's plugin runs, on a loop whose time jumps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from failsoft.testing import InstantClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(failsoft_clock: InstantClock) -> Any:
    return failsoft_clock.anyio_backend


@pytest.fixture
async def rested() -> AsyncIterator[float]:
    await anyio.sleep(100)
    yield anyio.current_time()
    await anyio.sleep(100)


async def test_the_test_and_its_fixtures_share_the_clock(failsoft_clock: InstantClock, rested: float) -> None:
    await anyio.sleep(3600)
    assert anyio.current_time() == rested + 3600
    assert failsoft_clock.elapsed_s == 3700

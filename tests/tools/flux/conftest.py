"""One set of workers for all tests of the toolset: what they keep in memory is no secret between tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from failsoft.tools.flux import Flux
from tests.doors import FluxSettings, Workers
from tests.tools.flux.lab import Lab


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    pytest.importorskip("cobra", reason="the extra 'flux' is not installed")
    made = Workers(FluxSettings(workers=2))
    yield made
    made.close()


@pytest.fixture(scope="session")
def lab(workers: Workers) -> Lab:
    return Lab(workers)


@pytest.fixture
def tool(lab: Lab) -> Flux:
    return lab.tool()

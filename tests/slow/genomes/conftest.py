"""Whole genomes: their tables, proteins and models, read by the flux toolset with the workers of the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors import Database
from tests.programs.flux_data import flux_data  # noqa: F401 - a fixture
from tests.tools.flux.conftest import _shipped_models_are_read_once, gappy, lab, rooted, tool, workers  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def whole(flux_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:  # noqa: F811 - the fixture
    """The database of the whole of ModelSEED."""
    made = Database(flux_data, cache_dir=tmp_path_factory.mktemp("cache"))
    yield made
    made.close()

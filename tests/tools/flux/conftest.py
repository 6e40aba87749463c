"""Toolsets with the workers of the session, and the models that COBRApy ships, read once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from failsoft.tools.flux import Flux
from tests.doors import Workers, tables_module
from tests.programs.rast import rast, rast_service  # noqa: F401 - fixtures
from tests.tools.flux.lab import Lab


@pytest.fixture(scope="session", autouse=True)
def _shipped_models_are_read_once() -> Iterator[None]:
    """Reading them takes a second, for each of the databases that tests build; they are always the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables_module, "read_models", cache(tables_module.read_models))
        yield


@pytest.fixture(scope="session")
def workers(flux_workers: Workers) -> Workers:
    return flux_workers


@pytest.fixture(scope="session")
def lab(flux_lab: Lab) -> Lab:
    return flux_lab


@pytest.fixture
def tool(lab: Lab) -> Flux:
    return lab.tool()


@pytest.fixture(scope="session")
def rooted(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Flux:
    """A toolset that reads files of a folder; models get there by `lab.read`."""
    made = Flux(root=tmp_path_factory.mktemp("rooted"))
    made.workers = lab.workers
    return made


@pytest.fixture
def gappy(lab: Lab, tool: Flux) -> str:
    """The id of a model without two steps that nothing replaces."""
    return lab.modified(tool, lab.loaded(tool), remove_reactions=["CS", "ENO"])

"""The distributions whose data the tests of whole genomes read, as `scripts/fetch.sh flux_data` fetches them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["FOLDER", "carveme_wheel", "dnngior_wheel", "pyfba_sdist"]

FOLDER = Path(os.environ.get("FLUX_DATA", Path.home() / ".cache" / "failsoft-flux-data"))


def _fetched(name: str) -> Path:
    found = sorted(FOLDER.glob(f"{name}-*"))
    if not found:
        pytest.skip(f"the data of {name} was not fetched (scripts/fetch.sh flux_data)")
    return found[-1]


@pytest.fixture(scope="session")
def dnngior_wheel() -> Path:
    """The archive with the tables of ModelSEED."""
    return _fetched("dnngior")


@pytest.fixture(scope="session")
def pyfba_sdist() -> Path:
    """The archive with the same tables as JSON, and with roles, complexes and templates."""
    return _fetched("PyFBA")


@pytest.fixture(scope="session")
def carveme_wheel() -> Path:
    """The archive with proteins of known reactions, and the universe of reactions that models are drawn from."""
    return _fetched("carveme")

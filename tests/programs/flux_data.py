"""The folder with the tables of ModelSEED and the data of carveme, as `scripts/fetch.sh flux_data` installs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["flux_data"]

_FOLDER = Path(os.environ.get("FLUX_DATA", Path.home() / ".cache" / "failsoft-flux-data"))


@pytest.fixture(scope="session")
def flux_data() -> Path:
    """The folder that holds the packages dnngior and carveme."""
    for name in ("dnngior", "carveme"):
        if not (_FOLDER / name).is_dir():
            pytest.skip(f"the data of {name} were not fetched (scripts/fetch.sh flux_data)")
    return _FOLDER

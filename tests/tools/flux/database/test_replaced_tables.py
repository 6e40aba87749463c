"""While a server runs, another one may replace the database by one of newer tables: answers follow, and none fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.doors import COMPOUNDS as COMPOUND, Database, FluxSettings
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import COMPOUNDS, small_tables

pytestmark = IN_FLUX

NEWER = COMPOUNDS.replace("cpd00027", "cpd00028")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    return small_tables(tmp_path / "tables")


@pytest.fixture
def flux(lab: Lab, tables: Path, tmp_path: Path) -> Flux:
    made = Flux(settings=FluxSettings(tables=tables), cache_dir=tmp_path / "cache")
    made.workers = lab.workers
    return made


def test_models_are_computed_after_a_newer_server_has_replaced_the_database(
    lab: Lab, flux: Flux, tables: Path, tmp_path: Path
) -> None:
    if not lab.call(flux, "get_compound_name", {"compound_id": "cpd00027"})["success"]:
        pytest.fail("the first tables have to be there")
    small_tables(tables, compounds=NEWER)
    newer = Database(tables, cache_dir=tmp_path / "cache")
    if newer.entry(COMPOUND, "cpd00028") is None:
        pytest.fail("the newer tables have to be there")
    newer.close()
    answer = lab.call(flux, "load_model", {"name": "textbook"})
    assert answer.get("error_code") is None
    assert lab.call(flux, "get_compound_name", {"compound_id": "cpd00028"})["success"]
    assert lab.call(flux, "get_compound_name", {"compound_id": "cpd00027"})["error_code"] == "COMPOUND_NOT_FOUND"


def test_similar_ids_are_those_of_the_tables_in_use(lab: Lab, flux: Flux, tables: Path, tmp_path: Path) -> None:
    before = lab.call(flux, "get_compound_name", {"compound_id": "cpd00026"})
    if "cpd00027" not in before["details"]["similar_ids"]:
        pytest.fail("the first tables have a similar id")
    small_tables(tables, compounds=NEWER)
    (file,) = (tmp_path / "cache").rglob("*.sqlite3")
    flux.database.close()
    file.unlink()
    file.write_bytes(b"no database")
    after = lab.call(flux, "get_compound_name", {"compound_id": "cpd00026"})
    if not lab.call(flux, "get_compound_name", {"compound_id": "cpd00028"})["success"]:
        pytest.fail("the database has to be built anew")
    assert "cpd00027" not in after["details"]["similar_ids"]

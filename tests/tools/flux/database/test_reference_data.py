"""The data that models are built from are found in folders, as far as they are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft import ConfigurationError
from tests.doors import UNIVERSES, FluxSettings, ReferenceData
from tests.programs.flux import IN_FLUX

pytestmark = IN_FLUX


def data_of(*folders: Path, **settings: Path) -> ReferenceData:
    return ReferenceData(FluxSettings(templates=tuple(map(str, folders)), **settings))


def carveme(folder: Path, *names: str) -> Path:
    """Write empty files as carveme names them, and return their folder."""
    generated = folder / "carveme" / "data" / "generated"
    generated.mkdir(parents=True)
    for name in ("bigg_proteins.dmnd", *names):
        (generated / name).touch()
    return generated


def test_the_first_folder_that_holds_the_data_is_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    folder = carveme(tmp_path / "full", "universe_gramneg.xml.gz")
    data = data_of(tmp_path / "empty", tmp_path / "full")
    assert data.carveme == folder
    assert data.universe("GramNegative") == folder / "universe_gramneg.xml.gz"
    assert data.universe("Archaea") is None
    assert next(iter(data.lacks("Archaea", with_rast=False))) == "carveme's universe for 'Archaea'"


@pytest.mark.parametrize("name", ["absent", "carveme-1.6.6-py3-none-any.whl"])
def test_what_is_not_a_folder_is_refused_at_start(tmp_path: Path, name: str) -> None:
    if name != "absent":
        (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(ConfigurationError):
        data_of(tmp_path / name)


def test_the_templates_of_modelseedpy_are_those_in_its_folder(tmp_path: Path) -> None:
    assert data_of().templates == (*UNIVERSES, "Core")
    (tmp_path / "Core.json").touch()
    (tmp_path / "Own.json").touch()
    data = data_of(modelseedpy_templates=tmp_path)
    assert data.templates == (*UNIVERSES, "Core", "Own")
    assert data.modelseedpy_template("Own") == tmp_path / "Own.json"
    assert data.modelseedpy_template("GramNegative") is None

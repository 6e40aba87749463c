"""The data that models are built from are found in folders, wheels and sdists, unpacked once, and never trusted."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.doors import TEMPLATES, TemplateData
from tests.programs.flux import IN_FLUX
from tests.tools.flux.small_data import small_pyfba

pytestmark = IN_FLUX

CARVEME = ("bigg_proteins.dmnd", "bigg_gprs.csv.gz", "universe_gramneg.xml.gz")


def wheel(path: Path, *extra: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in CARVEME:
            archive.writestr(f"carveme/data/generated/{name}", name)
        archive.writestr("carveme/cli/carve.py", "raise SystemExit")
        for name in extra:
            archive.writestr(name, "gotcha")
    return path


def sdist(path: Path, folder: Path) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(small_pyfba(folder) / "PyFBA", arcname="PyFBA-2.62/PyFBA")
    return path


def test_a_folder_may_hold_a_wheel_and_an_sdist(tmp_path: Path) -> None:
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    wheel(downloads / "carveme-1.6.6-py3-none-any.whl")
    sdist(downloads / "PyFBA-2.62.tar.gz", tmp_path / "small")
    data = TemplateData([downloads], cache=tmp_path / "cache")
    assert data.carveme is not None
    assert {file.name for file in data.carveme.iterdir()} == set(CARVEME)
    assert data.pyfba is not None
    assert (data.pyfba / "metabolism/biomass.py").is_file()
    assert set(data.loaded("homology")) == {name for name, item in TEMPLATES.items() if item.universe}
    assert set(data.loaded("template")) == {name for name, item in TEMPLATES.items() if item.tables}


def test_an_archive_is_unpacked_once_for_all_processes(tmp_path: Path) -> None:
    archive = wheel(tmp_path / "carveme-1.whl")
    first = TemplateData([archive], cache=tmp_path / "cache").carveme
    assert first is not None
    (first / "bigg_gprs.csv.gz").write_text("kept")
    again = TemplateData([archive], cache=tmp_path / "cache").carveme
    assert again == first
    assert (again / "bigg_gprs.csv.gz").read_text() == "kept"
    assert not [item for item in (tmp_path / "cache/flux-templates").iterdir() if item.name.startswith("unpacking-")]


def test_an_archive_that_was_replaced_is_unpacked_anew(tmp_path: Path) -> None:
    archive = wheel(tmp_path / "carveme-1.whl")
    first = TemplateData([archive], cache=tmp_path / "cache").carveme
    wheel(archive, "carveme/data/generated/universe_archaea.xml.gz")
    second = TemplateData([archive], cache=tmp_path / "cache").carveme
    assert first is not None
    assert second is not None
    assert not (first / "universe_archaea.xml.gz").exists()
    assert (second / "universe_archaea.xml.gz").exists()


def test_names_that_lead_elsewhere_are_not_unpacked(tmp_path: Path) -> None:
    archive = wheel(tmp_path / "carveme-1.whl", "carveme/data/generated/../../../../../evil", "../evil", "/evil")
    assert TemplateData([archive], cache=tmp_path / "cache").carveme is not None
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut"])
@pytest.mark.parametrize("name", ["carveme-1.whl", "carveme-1.tar.gz"])
def test_an_archive_that_is_none_is_as_good_as_absent(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    data = TemplateData([tmp_path / name, tmp_path / "absent"], cache=tmp_path / "cache")
    assert data.carveme is None
    assert data.loaded("homology") == ()


def test_data_without_a_part_that_is_needed_are_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "carveme" / "data" / "generated"
    folder.mkdir(parents=True)
    for name in CARVEME[:-1]:
        (folder / name).touch()
    assert TemplateData([tmp_path]).carveme is None
    (folder / CARVEME[-1]).touch()
    assert TemplateData([tmp_path]).carveme == folder

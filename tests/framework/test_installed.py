"""Entry points are read once, and again where another folder is searched."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.doors import installed_points


def _install(folder: Path, name: str) -> None:
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[failsoft.toolsets]\n{name} = {name}:Tool\n")


def test_they_are_those_of_importlib_in_its_order() -> None:
    assert installed_points("failsoft.toolsets") == tuple(entry_points(group="failsoft.toolsets"))
    assert installed_points("failsoft.no_such_group") == ()


def test_a_folder_that_joins_the_path_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_points("failsoft.toolsets")
    _install(tmp_path, "acme")
    monkeypatch.syspath_prepend(tmp_path)
    assert "acme" in {point.name for point in installed_points("failsoft.toolsets")}


def test_the_packages_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    before = installed_points("failsoft.toolsets")
    _install(tmp_path, "late")
    assert installed_points("failsoft.toolsets") == before

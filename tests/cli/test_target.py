"""The application of a project: found from below its folder, refused with a reason."""

from __future__ import annotations

import pytest

from failsoft import ConfigurationError
from tests.doors import find_project


def test_no_project_and_no_entry_are_none(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
    assert find_project(tmp_path) is None


def test_a_project_is_found_from_a_folder_below(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'shop'\nversion = '2.1'\n[tool.failsoft]\napp = 'shop:Shop'\n"
    )
    (tmp_path / "a" / "b").mkdir(parents=True)
    project = find_project(tmp_path / "a" / "b")
    assert project is not None
    assert (project.app, project.folder, project.name, project.version) == ("shop:Shop", tmp_path, "shop", "2.1")


def test_a_module_in_src_is_found_there(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.failsoft]\napp = 'shop'\n")
    (tmp_path / "src" / "shop").mkdir(parents=True)
    project = find_project(tmp_path)
    assert project is not None
    assert project.folder == tmp_path / "src"


NESTED = "a = " + "[" * 5_000 + "]" * 5_000
SHAPES = ["tool = 5", "[tool]\nfailsoft = 5", "project = 5\n[tool.failsoft]\napp = 'shop'", NESTED]


@pytest.mark.parametrize("text", ["[tool.failsoft]\napp = 5", "[tool.failsoft]\nap = 'shop'", "[tool", "\xff", *SHAPES])
def test_what_cannot_be_used_is_a_configuration_error(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigurationError, match=r"pyproject\.toml"):
        find_project(tmp_path)


def test_a_project_file_of_unusual_size_is_refused(tmp_path):
    with (tmp_path / "pyproject.toml").open("wb") as file:
        file.truncate(2_000_000_000)
    with pytest.raises(ConfigurationError):
        find_project(tmp_path)

"""An exported model is the model: whole, or refused, and with the direction of its objective."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


def test_a_file_that_does_not_fit_into_an_answer_is_refused_with_a_path_to_write_it_to(lab: Lab, rooted: Flux) -> None:
    params = {"model_id": lab.loaded(rooted), "format": "sbml"}
    error = lab.call(rooted, "export_model", params, max_response_bytes=100_000)
    assert error.get("error_code") == "RESULT_TOO_LARGE"
    step = error.get("next_step") or {"tool": None, "arguments": {}}
    assert (step["tool"], {*step["arguments"]}) == ("export_model", {"model_id", "format", "path"})


@pytest.mark.parametrize("form", ["json", "sbml"])
def test_a_model_that_minimizes_still_does_after_export_and_loading(lab: Lab, rooted: Flux, form: str) -> None:
    model = textbook()
    model.objective = "EX_etoh_e"
    model.objective_direction = "min"
    model_id = lab.read(rooted, model)
    text = lab.call(rooted, "export_model", {"model_id": model_id, "format": form})["content"]
    (root,) = rooted.roots
    name = {"json": "again.json", "sbml": "again.xml"}[form]
    (root / name).write_text(text)
    again = lab.call(rooted, "load_model", {"path": name})["model_id"]
    least, after = (lab.call(rooted, "run_fba", {"model_id": item})["objective_value"] for item in (model_id, again))
    assert (least, after) == (0.0, 0.0)


@pytest.fixture
def folder(rooted: Flux) -> Path:
    """The folder below which the toolset reads and writes."""
    (root,) = rooted.roots
    return Path(root)


def test_a_file_is_written_once_and_only_its_size_and_hash_are_answered(lab: Lab, rooted: Flux, folder: Path) -> None:
    params = {"model_id": lab.loaded(rooted), "format": "sbml", "path": "written.xml"}
    for _ in range(2):  # the same content again is no conflict
        answer = lab.call(rooted, "export_model", params, max_response_bytes=20_000)
        data = (folder / "written.xml").read_bytes()
        assert answer["success"]
        assert (answer["size_bytes"], answer["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert "content" not in answer
    assert lab.call(rooted, "load_model", {"path": "written.xml"})["num_reactions"] == 95


def test_a_name_with_gz_is_compressed_and_can_be_loaded(lab: Lab, rooted: Flux, folder: Path) -> None:
    params = {"model_id": lab.loaded(rooted), "format": "json", "path": "written.json.gz"}
    assert lab.call(rooted, "export_model", params)["success"]
    assert gzip.decompress((folder / "written.json.gz").read_bytes()).startswith(b"{")
    assert lab.call(rooted, "load_model", {"path": "written.json.gz"})["num_reactions"] == 95


def test_no_file_is_overwritten_and_a_free_name_is_offered(lab: Lab, rooted: Flux, folder: Path) -> None:
    (folder / "taken.xml").write_text("mine")
    params = {"model_id": lab.loaded(rooted), "format": "sbml", "path": "taken.xml"}
    error = lab.call(rooted, "export_model", params)
    assert (error["error_code"], error["effect"], error["violations"][0]["path"]) == ("INVALID_PARAM", "none", "path")
    assert (folder / "taken.xml").read_text() == "mine"
    assert error["violations"][0]["suggestion"] == "taken-2.xml"


@pytest.mark.parametrize(
    "path", ["../out.xml", "/etc/out.xml", "missing/out.xml", "folder.xml", "link.xml", "own.json"]
)
def test_nothing_is_written_outside_the_root_or_under_another_ending(
    lab: Lab, rooted: Flux, folder: Path, tmp_path: Path, path: str
) -> None:
    (folder / "folder.xml").mkdir(exist_ok=True)
    link = folder / "link.xml"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "elsewhere.xml")
    error = lab.call(rooted, "export_model", {"model_id": lab.loaded(rooted), "format": "sbml", "path": path})
    assert (error["error_code"], error["violations"][0]["path"]) == ("INVALID_PARAM", "path")
    assert not (tmp_path / "elsewhere.xml").exists()

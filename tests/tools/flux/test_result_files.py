"""Results of whole genomes go to files below the root, never through the answer."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab

pytestmark = IN_FLUX

ROWS = {"run_fva": 95, "delete_genes": 137, "delete_reactions": 95}


def columns(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return rows as a CSV file has them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: "" if row.get(name) is None else str(row[name]) for name in names} for row in rows]


@pytest.mark.parametrize("operation", ROWS)
def test_a_table_is_written_in_place_of_the_rows(lab: Lab, rooted: Flux, operation: str) -> None:
    (root,) = rooted.roots
    given = {"model_id": lab.loaded(rooted)}
    whole = lab.call(rooted, operation, given)
    rows = whole["results"]
    for ending in ("csv", "json"):
        path = f"{operation}.{ending}"
        written = lab.call(rooted, operation, {**given, "path": path}, max_response_bytes=4_000)
        data = Path(root, path).read_bytes()
        assert (written["size_bytes"], written["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert "results" not in written
        assert written["objective"] == whole["objective"]
    assert json.loads(Path(root, f"{operation}.json").read_text()) == rows
    assert list(csv.DictReader(Path(root, f"{operation}.csv").read_text().splitlines())) == columns(rows)
    assert len(rows) == ROWS[operation]


@pytest.mark.parametrize("operation", ROWS)
def test_rows_that_do_not_fit_are_refused_and_the_next_step_writes_them(lab: Lab, rooted: Flux, operation: str) -> None:
    error = lab.call(rooted, operation, {"model_id": lab.loaded(rooted)}, max_response_bytes=4_000)
    assert error["error_code"] == "RESULT_TOO_LARGE"
    step = error["next_step"]
    assert (step["tool"], {*step["arguments"]}) == (operation, {"model_id", "path"})
    written = lab.call(rooted, step["tool"], step["arguments"], max_response_bytes=4_000)
    (root,) = rooted.roots
    assert Path(root, written["path"]).stat().st_size == written["size_bytes"]


@pytest.mark.parametrize("path", ["../out.csv", "missing/out.csv", "out.xml"])
def test_nothing_is_written_elsewhere_or_in_another_format(lab: Lab, rooted: Flux, path: str) -> None:
    error = lab.call(rooted, "delete_genes", {"model_id": lab.loaded(rooted), "genes": ["b0720"], "path": path})
    assert (error["error_code"], error["effect"], error["violations"][0]["path"]) == ("INVALID_PARAM", "none", "path")


def test_a_long_name_that_is_taken_is_said_to_be_taken(lab: Lab, rooted: Flux) -> None:
    (root,) = rooted.roots
    path = "y" * 251 + ".csv"
    Path(root, path).write_text("another")
    error = lab.call(rooted, "delete_genes", {"model_id": lab.loaded(rooted), "genes": ["b0720"], "path": path})
    assert (error["error_code"], error["effect"]) == ("INVALID_PARAM", "none")
    assert error["violations"][0]["message"] == "there is a file with another content"
    assert Path(root, path).read_text() == "another"

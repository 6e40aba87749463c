"""The comparison of instruction counts with the kept ones."""

from __future__ import annotations

import json
import runpy
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.running import RUN, run

BEFORE = {"success": 1_000.0, "typed error": 2_000.0, "missing": 3_000.0}


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the functions of the file, with a file of counts of their own."""
    monkeypatch.syspath_prepend(RUN.parent)
    functions = runpy.run_path(str(RUN.with_name("baseline.py")))
    functions["keep"].__globals__["FILE"] = tmp_path / "baseline.json"
    return functions


def test_a_count_that_is_eleven_percent_higher_is_too_much_and_is_named(baseline: dict[str, Any]) -> None:
    lines, too_much = baseline["grown"](BEFORE | {"typed error": 2_220.0}, BEFORE)
    assert too_much == ["typed error"]
    assert [line for line in lines if "too much" in line] == ["typed error: 2,000 -> 2,220 (+11.0%)  <- too much"]


def test_a_count_up_to_ten_percent_higher_or_lower_or_new_passes(baseline: dict[str, Any]) -> None:
    counted = {"success": 1_100.0, "typed error": 1_000.0, "recovered": 9_000.0}
    lines, too_much = baseline["grown"](counted, BEFORE)
    assert (len(lines), too_much) == (3, [])


def test_figures_are_kept_by_environment_and_name(baseline: dict[str, Any]) -> None:
    assert baseline["kept"]("instructions") is None
    baseline["keep"]("instructions", {"success": 1, "missing": 2})
    baseline["keep"]("ratios", {"success": 1.5})
    baseline["keep"]("instructions", {"success": 3})
    assert baseline["kept"]("instructions") == {"success": 3, "missing": 2}
    written = json.loads(baseline["keep"].__globals__["FILE"].read_text(encoding="utf-8"))
    assert list(written) == [baseline["environment"]()]


def test_without_valgrind_nothing_is_compared_and_it_says_so() -> None:
    done = run("baseline", env={"PATH": ""})
    assert (done.returncode, done.stdout) == (0, "Nothing is compared: Valgrind is not installed.\n")


def test_without_kept_counts_nothing_is_compared_and_it_says_so(
    baseline: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(baseline["shutil"], "which", lambda _name: "/usr/bin/valgrind")
    assert baseline["measure"].measure(Namespace(keep=False)) == []
    assert capsys.readouterr().out == f"Nothing is compared: no counts are kept for {baseline['environment']()}.\n"

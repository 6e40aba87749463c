"""The benchmarks run and print ratios. How fast anything is, is no test's business."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doors import format_names
from tests.thorough import THOROUGH

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
RUN_WITHIN_S = 300


def _run(name: str, *flags: str, **variables: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | variables
    done = subprocess.run(
        [sys.executable, BENCH / name, *flags],
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _figures(name: str) -> dict[str, dict[str, Any]]:
    figures = json.loads(_run(f"{name}.py", "--quick", "--json").splitlines()[-1])["figures"]
    assert all(one["low"] <= one["value"] <= one["high"] for one in figures)
    return {f"{one['name']} {one['unit']}": one for one in figures}


def test_the_call_path_is_counted_in_yardsticks() -> None:
    figures = _figures("call_path")
    goals = {name: one["goal"] for name, one in figures.items() if name.endswith(" yardsticks")}
    assert goals["over the bare: success yardsticks"] == "<= 2.0"
    assert goals["over the bare: typed error yardsticks"] == "<= 8"
    assert goals["over the bare: wrong type yardsticks"] == "<= 10"
    assert all(one["value"] > 0 for one in figures.values())


def test_recovery_is_compared_with_its_peers_where_they_are_installed() -> None:
    figures = _figures("recovery_success")
    assert figures["over the bare: failsoft us"]["value"] > 0
    for peer, goal in (("nopanic", "<= 0.75"), ("redress", "<= 0.44")):
        assert figures.get(f"failsoft over {peer} times", {"goal": goal})["goal"] == goal


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="Valgrind is not installed")
@pytest.mark.skipif(not THOROUGH, reason="more than a minute of counting: HYPOTHESIS_PROFILE=thorough does it")
def test_instructions_are_counted_in_yardsticks_too() -> None:
    figures = _figures("instructions")
    assert figures["over the bare: three faults yardsticks"]["goal"] == "<= 10"
    assert all(one["value"] > 0 for one in figures.values())


def test_the_import_is_compared_with_pydantics_and_loads_nothing_that_is_used_later() -> None:
    ratio = _figures("import_time")["import failsoft of pydantic"]
    assert ratio["value"] > 0
    assert ratio["note"].startswith("loads none of mcp, prometheus_client, typer, rich,")


@pytest.mark.slow
def test_a_start_is_compared_with_the_bare_sdk_servers() -> None:
    figures = _figures("start_up")
    for transport in ("stdio", "http"):
        assert figures[f"{transport}: time of bare"]["goal"] == "<= 1.15"
        assert figures[f"{transport}: resident over bare MB"]["goal"] == "<= 8"


@pytest.mark.slow
def test_calls_over_stdio_are_compared_with_the_bare_sdk_server() -> None:
    figures = _figures("stdio")
    for kind in ("1 in flight", "8 in flight", "1 MB results"):
        assert figures[f"{kind}: throughput of bare"]["goal"] == ">= 1"


@pytest.mark.slow
def test_each_dimension_of_scale_is_set_against_a_raw_app() -> None:
    figures = _figures("scale")
    names = {name.partition(":")[0] for name in figures}
    assert names >= {"workers", "idle connections", "busy connections", "characters of the result", "tools"}
    assert all(one["value"] > 0 for one in figures.values())


def test_a_scrape_is_set_against_none() -> None:
    figures = _figures("scrape")
    assert {"longest stall, no scrape ms", "longest stall, scrapes ms", "p99 of a call, scrapes ms"} <= figures.keys()


def test_the_docs_toolset_is_searched_and_read() -> None:
    figures = _figures("docs_search")
    assert {"index: build ms", "search, two words ms", "get ms"} <= figures.keys()


def test_editing_is_set_against_the_least_that_any_program_has_to_do() -> None:
    figures = _figures("edit")
    assert figures["multi_edit of the least"]["goal"] == "<= 3"


@pytest.mark.slow
def test_a_flux_call_is_set_against_bare_cobra() -> None:
    pytest.importorskip("cobra", reason="the extra 'flux' is not installed")
    figures = _figures("flux")
    assert figures["textbook: run_fba over optimize ms"]["goal"] == "<= 5"


def test_real_edits_come_out_byte_for_byte_and_broken_ones_are_refused() -> None:
    """Run on two small packages, where somebody has fetched them."""
    cache = Path.home() / ".cache"
    if not any((cache / "failsoft-bench" / "wheels").glob("werkzeug-*/*.whl")):
        pytest.skip("the packages are not there (`fetch_all(FEW)` in bench/histories.py fetches them)")
    table = _run("edit_histories.py", "--quick", "--json", XDG_CACHE_HOME=str(cache))
    figures = {one["name"]: one["value"] for one in json.loads(table.splitlines()[-1])["figures"]}
    assert figures["answered wrongly"] == 0
    assert figures["cases"] > 40


def test_encoding_is_measured_in_every_format() -> None:
    figures = _figures("encoding")
    assert {name.partition(":")[0] for name in figures} > set(format_names())
    assert figures["tools/list ms"]["goal"] == figures["tools/list, version 2025-11-25 ms"]["goal"] == "<= 2"
    assert all(one["value"] > 0 for one in figures.values())


def test_the_audit_log_is_counted_in_trips_to_the_disk() -> None:
    figures = _figures("audit")
    added = figures["what auditing adds to a failing call trips to the disk"]
    assert added["goal"] == "<= 1.5"
    assert figures["64 entries at once times one trip each"]["goal"] == ">= 10"
    assert figures["4 processes, each us"]["value"] > 0


def test_every_server_answers_in_memory_and_over_http() -> None:
    figures = _figures("through_mcp")
    assert {"in memory, modern: ours of bare", "in memory, legacy: ours of bare"} <= figures.keys()
    assert figures["HTTP throughput, 8 clients of bare SDK"]["value"] > 0


def test_all_of_them_make_one_table() -> None:
    table = _run("run.py", "--quick", "import_time").splitlines()
    assert [line.split()[:2] for line in table if line.startswith("import failsoft")] == [["import", "failsoft"]] * 2


COUNTING = {"baseline.py"}
"""It counts instructions, once: there are no turns to leave out."""
TIMING = {path.name for path in BENCH.glob("*.py") if "__main__" in path.read_text()} - COUNTING


@pytest.mark.parametrize("name", sorted(TIMING))
def test_every_benchmark_explains_itself(name: str) -> None:
    assert ("--keep" if name == "baseline.py" else "--quick") in _run(name, "--help")


def test_the_policies_keep_their_goals_in_trouble() -> None:
    """On a simulated clock, so the figures do not depend on the machine."""
    figures = _figures("outages/run")
    missed = [name for name, one in figures.items() if one["goal"] and eval(f"not {one['value']} {one['goal']}")]  # noqa: S307 - our own numbers
    assert missed == []
    assert sum(bool(one["goal"]) for one in figures.values()) == 7

"""Runs a benchmark of `bench/` as its users do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.zygote import PYTHON

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
RUN_WITHIN_S = 300


def run(*words: str, python: str = PYTHON, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `bench/run.py` with these words."""
    command = [python, str(RUN), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False, **options)


def run_benchmark(name: str, *words: str, is_cold: bool = False, **options: Any) -> dict[str, dict[str, Any]]:
    """Return the figures of one by name and unit; `is_cold`: where a start is measured, or the process of a server."""
    done = run(name, *words, "--json", python=sys.executable if is_cold else PYTHON, **options)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    assert all(one["low"] <= one["value"] <= one["high"] for one in figures)
    return {f"{one['name']} {one['unit']}": one for one in figures}


def missed(figures: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the figures that miss their goal."""
    return {name: one for name, one in figures.items() if one["goal"] and eval(f"not {one['value']} {one['goal']}")}  # noqa: S307 - our own numbers

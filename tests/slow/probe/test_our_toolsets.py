"""Our own toolsets, probed: what they answer can be acted on, and misleads nobody."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.zygote import PYTHON

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
BOUNDS = ["--max-calls", "250", "--max-seconds", "25"]


@pytest.mark.parametrize("toolset", ["docs", "flux", "workspace"])
def test_at_least_98_percent_of_the_faults_are_repaired_and_none_misleads(toolset: str, tmp_path: Path) -> None:
    """The edit toolset has no call that works without knowing a file, so that there is nothing to repair."""
    shutil.copytree(EXAMPLES / "handbook", tmp_path / "handbook")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = [PYTHON, "-m", "failsoft", "probe", toolset, "--json", "--include-writes", "--yes", *BOUNDS]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    report = json.loads(ended.stdout)
    assert report["faults"] > 20
    assert report["recoverability"] >= 0.98, report["findings"]
    assert report["misled_calls"] == 0
    assert [one for one in report["findings"] if one["severity"] == "error"] == []

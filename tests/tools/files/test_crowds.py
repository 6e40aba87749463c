"""Several processes at the same files: no update is lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.zygote import PYTHON

PROGRAM = Path(__file__).with_name("crowd.py")


def crowd(folder: Path, kind: str, writers: int, amount: int) -> int:
    """Return how much was done."""
    command = [PYTHON, PROGRAM, folder, kind, str(writers), str(amount)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["wrong"] == []
    return int(report["done"])


def test_no_update_is_lost_among_processes(tmp_path: Path) -> None:
    assert crowd(tmp_path / "crowd", "count", 3, 20) >= 3 * 20
